import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { EventDefinition } from '#pipelines/settings/event_definitions.ts';
import { ConflictDialog } from '../../editing/conflict_dialog.tsx';
import { RemoveButton } from '../../editing/remove_button.tsx';
import { useEditing } from '../../editing/use_editing.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { FailureNote } from '../../ui/states.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { toast } from '../../ui/toast.tsx';
import { mayAt } from '../../who.ts';
import { DefinitionFields } from './definition_fields.tsx';
import { type DefinitionDraft, DRAFT_NAMES, draftOfDefinition } from './definition_form.ts';
import { readDefinition, removeDefinition, type VersionedDefinition, writeDefinition } from './definition_requests.ts';
import { DefinitionTester } from './definition_tester.tsx';

interface DefinitionDialogProps {
  siteId: string;
  /** Null: a new one. */
  definition: EventDefinition | null;
  /** Of the site it is part of, as it was read. */
  version: string | null;
  destinations: readonly string[];
  onChanged(): void;
  onClose(): void;
}

/** One event definition: what it says, and trying it out on what is pasted. */
export function DefinitionDialog(props: DefinitionDialogProps): VNode {
  const { siteId, definition, version, destinations, onChanged, onClose } = props;
  const item: VersionedDefinition = { definition, version: version ?? '', changed_at: 0, changed_by: '' };
  const editing = useEditing<VersionedDefinition, DefinitionDraft>({
    item,
    draftOf: (one) => draftOfDefinition(one.definition),
    read: () => readDefinition(siteId, definition?.id ?? ''),
    write: (draft, base) => writeDefinition(siteId, draft, base),
    onSaved({ definition: saved }) {
      toast(`Saved ${saved?.name ?? ''}`);
      onChanged();
      onClose();
    },
    onTheirs: onChanged,
  });
  const { draft } = editing;
  const [view, setView] = useState('says');
  const mayChange = mayAt('definitions.change', siteId);
  const form = (): VNode => (
    <form
      class="stack"
      onSubmit={(event) => {
        event.preventDefault();
        void editing.save();
      }}
    >
      <fieldset class="stack" disabled={!mayChange}>
        <DefinitionFields
          draft={draft}
          isNew={definition === null}
          destinations={destinations}
          failure={editing.failure}
          onDraft={editing.edit}
        />
      </fieldset>
      {editing.failure !== null && <FailureNote failure={editing.failure} />}
      {mayChange && (
        <div class="actions spread">
          {definition !== null && <RemoveDefinition {...props} item={item} definition={definition} />}
          <button type="submit" class="button primary" disabled={editing.isBusy}>
            Save
          </button>
        </div>
      )}
      <ConflictDialog saving={editing} what="this definition" names={DRAFT_NAMES} />
    </form>
  );
  return (
    <Dialog
      title={definition === null ? 'New event definition' : definition.name}
      kind="side"
      isChanged={editing.isChanged}
      onClose={onClose}
    >
      <Tabs
        label="Of the definition"
        chosen={view}
        onChosen={setView}
        tabs={[
          { id: 'says', label: 'What it says', content: form },
          { id: 'try', label: 'Try it', keeps: true, content: () => <DefinitionTester draft={draft} /> },
        ]}
      />
    </Dialog>
  );
}

interface RemoveDefinitionProps extends Pick<DefinitionDialogProps, 'siteId' | 'onChanged' | 'onClose'> {
  item: VersionedDefinition;
  definition: EventDefinition;
}

function RemoveDefinition({ siteId, item, definition, onChanged, onClose }: RemoveDefinitionProps): VNode {
  return (
    <RemoveButton
      item={item}
      name={definition.name}
      what="this definition"
      names={DRAFT_NAMES}
      factsOf={(one) => ({ ...draftOfDefinition(one.definition) })}
      read={() => readDefinition(siteId, definition.id)}
      remove={(base) => removeDefinition(siteId, definition.id, base)}
      onRemoved={() => {
        onChanged();
        onClose();
      }}
      onTheirs={onChanged}
    >
      It fires no more. Events that it fired stay.
    </RemoveButton>
  );
}
