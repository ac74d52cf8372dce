import type { EngageView } from '#services/control_api/engage.ts';
import { request } from '../../api/request.ts';
import { type Editing, RemoveButton } from '../../editing/editing.tsx';
import { mayAt } from '../../session.ts';
import { definitionFacts, definitionText, type KindSpec, readObject, valueAt } from './engage_item.ts';

interface DefinitionActionsProps extends DefinitionTabProps {
  /** @param enabled Whether it is to be shown; left out: as it is. */
  onSave(enabled?: boolean): void;
}

export function DefinitionActions(props: DefinitionActionsProps) {
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

const RemoveItem = ({ spec, item, path, ...rest }: RemoveItemProps) => (
  <RemoveButton<EngageView>
    item={item}
    name={item.name}
    what={`this ${spec.one}`}
    factsOf={(of) => definitionFacts(definitionText(of))}
    read={() => request('GET', path)}
    remove={({ version }) => request('DELETE', path, { version })}
    {...rest}
  >
    It is no longer shown. Collected answers are kept.
  </RemoveButton>
);

export interface EngageDialogProps {
  siteId: string;
  spec: KindSpec;
  /** Of the kind in the API. */
  path: string;
  /** Null: a new one. */
  item: EngageView | null;
  onChanged(): void;
  onClose(): void;
}

export interface DefinitionTabProps extends Pick<EngageDialogProps, 'siteId' | 'spec' | 'item' | 'onChanged'> {
  /** Of the item in the API, or of the kind where it is new. */
  path: string;
  /** Holds the definition as JSON, which is what all views change. */
  form: Editing<{ text: string }>;
  onRemoved(): void;
}

export interface DefinitionFormProps extends DefinitionTabProps {
  /** Whether it is the view that is looked at. */
  isSeen: boolean;
}
