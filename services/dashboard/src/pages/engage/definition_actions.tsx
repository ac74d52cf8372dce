import type { VNode } from 'preact';
import type { EngageView } from '#services/control_api/engage.ts';
import { request } from '../../api/request.ts';
import { RemoveButton } from '../../editing/remove_button.tsx';
import { mayAt } from '../../who.ts';
import { valueAt } from './definition_json.ts';
import type { DefinitionTabProps } from './dialog_parts.ts';
import { definitionFacts, definitionText, readObject } from './engage_item.ts';

interface DefinitionActionsProps extends DefinitionTabProps {
  /** @param enabled Whether it is to be shown; left out: as it is. */
  onSave(enabled?: boolean): void;
}

/** The buttons below a definition: to remove it, to start or pause it, and to save it. */
export function DefinitionActions(props: DefinitionActionsProps): VNode | null {
  const { siteId, spec, item, path, form, onRemoved, onChanged, onSave } = props;
  if (!mayAt('engage.change', siteId)) return null;
  const read = readObject(form.draft.text);
  const isOn = read.ok && valueAt(read.value, ['enabled']) !== false;
  const isOff = !read.ok || form.isBusy;
  const action = isOn ? 'Pause' : 'Start';
  const isSaved = item !== null && !form.isChanged;
  return (
    <div class="actions spread">
      {item !== null && <RemoveItem {...{ spec, item, path, onRemoved }} onTheirs={onChanged} />}
      {(item !== null || !isOn) && (
        <button type="button" class="button" disabled={isOff} onClick={() => onSave(!isOn)}>
          {isSaved ? action : `Save and ${action.toLowerCase()}`}
        </button>
      )}
      <button type="submit" class="button primary" disabled={isOff || isSaved}>
        Save
      </button>
    </div>
  );
}

interface RemoveItemProps extends Pick<DefinitionTabProps, 'spec' | 'path' | 'onRemoved'> {
  item: EngageView;
  onTheirs(): void;
}

function RemoveItem({ spec, item, path, ...rest }: RemoveItemProps): VNode {
  return (
    <RemoveButton<EngageView>
      item={item}
      name={item.name}
      what={`this ${spec.one}`}
      factsOf={(of) => definitionFacts(definitionText(of))}
      read={() => request('GET', path)}
      remove={({ version }) => request('DELETE', path, { version })}
      {...rest}
    >
      Nobody is shown it any more. What visitors answered stays.
    </RemoveButton>
  );
}
