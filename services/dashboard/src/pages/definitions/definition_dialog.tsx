import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { EventDefinition } from '#pipelines/settings/event_definitions.ts';
import { request } from '../../api/request.ts';
import { useAction } from '../../api/use_action.ts';
import { Confirm, Dialog } from '../../ui/dialog.tsx';
import { FailureNote } from '../../ui/states.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { toast } from '../../ui/toast.tsx';
import { mayAt } from '../../who.ts';
import { DefinitionFields } from './definition_fields.tsx';
import { definitionBody, draftOfDefinition, draftProblems, notSent } from './definition_form.ts';
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

const pathOf = (siteId: string, id = ''): string =>
  `/v1/admin/sites/${encodeURIComponent(siteId)}/event-definitions${id === '' ? '' : `/${encodeURIComponent(id)}`}`;

/** One event definition: what it says, and trying it out on what is pasted. */
export function DefinitionDialog(props: DefinitionDialogProps): VNode {
  const { siteId, definition, version, destinations, onChanged, onClose } = props;
  const [draft, setDraft] = useState(() => draftOfDefinition(definition));
  const [view, setView] = useState('says');
  const isChanged = JSON.stringify(draft) !== JSON.stringify(draftOfDefinition(definition));
  const action = useAction();
  const mayChange = mayAt('definitions.change', siteId);
  const save = async (event: Event): Promise<void> => {
    event.preventDefault();
    const options = { body: definitionBody(draft), ...(version !== null && definition !== null && { version }) };
    const problems = draftProblems(draft);
    const saved = await action.run(async () => {
      if (problems.length > 0) return notSent(problems);
      return definition === null
        ? request<EventDefinition>('POST', pathOf(siteId), options)
        : request<EventDefinition>('PUT', pathOf(siteId, definition.id), options);
    });
    if (saved === null) return;
    toast(`Saved ${saved.name}`);
    onChanged();
    onClose();
  };
  const form = (): VNode => (
    <form class="stack" onSubmit={(event) => void save(event)}>
      <fieldset class="stack" disabled={!mayChange}>
        <DefinitionFields
          draft={draft}
          isNew={definition === null}
          destinations={destinations}
          failure={action.failure}
          onDraft={setDraft}
        />
      </fieldset>
      {action.failure !== null && <FailureNote failure={action.failure} />}
      {mayChange && (
        <div class="actions spread">
          {definition !== null && <RemoveDefinition {...props} definition={definition} />}
          <button type="submit" class="button primary" disabled={action.isBusy}>
            Save
          </button>
        </div>
      )}
    </form>
  );
  return (
    <Dialog
      title={definition === null ? 'New event definition' : definition.name}
      kind="side"
      isChanged={isChanged}
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

function RemoveDefinition({
  siteId,
  definition,
  version,
  onChanged,
  onClose,
}: DefinitionDialogProps & { definition: EventDefinition }): VNode {
  const [asks, setAsks] = useState(false);
  const action = useAction();
  const remove = async (): Promise<void> => {
    const options = version === null ? {} : { version };
    const removed = await action.run(() => request<EventDefinition>('DELETE', pathOf(siteId, definition.id), options));
    if (removed === null) return;
    toast(`${definition.name} was removed`);
    onChanged();
    onClose();
  };
  return (
    <>
      <button type="button" class="button danger" onClick={() => setAsks(true)}>
        Remove
      </button>
      {asks && (
        <Confirm
          title={`Remove ${definition.name}?`}
          action="Remove"
          isDangerous
          isBusy={action.isBusy}
          onConfirm={() => void remove()}
          onClose={() => setAsks(false)}
        >
          <p>It fires no more. Events that it fired stay.</p>
          {action.failure !== null && <FailureNote failure={action.failure} />}
        </Confirm>
      )}
    </>
  );
}
