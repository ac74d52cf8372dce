import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { EngageView } from '#services/control_api/engage_shapes.ts';
import { request } from '../../api/request.ts';
import { useAction } from '../../api/use_action.ts';
import { Confirm, Dialog } from '../../ui/dialog.tsx';
import { TextField } from '../../ui/form_fields.tsx';
import { FailureNote } from '../../ui/states.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { toast } from '../../ui/toast.tsx';
import { useUnsaved } from '../../ui/unsaved.ts';
import { mayAt } from '../../who.ts';
import { definitionText, type KindSpec, readObject } from './engage_item.ts';
import { EngageResults } from './engage_results.tsx';

interface EngageDialogProps {
  siteId: string;
  spec: KindSpec;
  /** Of the kind in the API. */
  path: string;
  /** Null: a new one. */
  item: EngageView | null;
  onChanged(): void;
  onClose(): void;
}

/** One survey, promo or form: what came of it, and what it says. */
export function EngageDialog(props: EngageDialogProps): VNode {
  const { siteId, spec, item, onClose } = props;
  const [view, setView] = useState('results');
  if (item === null) {
    return (
      <Dialog title={`New ${spec.one}`} kind="side" onClose={onClose}>
        <Definition {...props} />
      </Dialog>
    );
  }
  return (
    <Dialog title={item.name} kind="side" onClose={onClose}>
      <Tabs
        label={`Of the ${spec.one}`}
        chosen={view}
        onChosen={setView}
        tabs={[
          {
            id: 'results',
            label: 'Results',
            content: () => <EngageResults siteId={siteId} kind={spec.kind} item={item} />,
          },
          { id: 'definition', label: 'Definition', keeps: true, content: () => <Definition {...props} /> },
        ]}
      />
    </Dialog>
  );
}

function Definition({ siteId, spec, path, item, onChanged, onClose }: EngageDialogProps): VNode {
  const before = item === null ? JSON.stringify(spec.blank, null, 2) : definitionText(item);
  const [text, setText] = useState(before);
  const [asks, setAsks] = useState(false);
  const action = useAction();
  useUnsaved(text !== before);
  const read = readObject(text);
  const mayChange = mayAt('engage.change', siteId);
  const one = item === null ? path : `${path}/${encodeURIComponent(item.id)}`;
  const finish = (said: string): void => {
    toast(said);
    onChanged();
    onClose();
  };
  const save = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (!read.ok) return;
    const version = item === null ? {} : { version: item.version };
    const saved = await action.run(() =>
      request<EngageView>(item === null ? 'POST' : 'PUT', one, { body: read.value, ...version }),
    );
    if (saved !== null) finish(`Saved ${saved.name}`);
  };
  const remove = async (): Promise<void> => {
    const options = item === null ? {} : { version: item.version };
    const removed = await action.run(() => request<EngageView>('DELETE', one, options));
    if (removed !== null) finish(`${removed.name} was removed`);
  };
  return (
    <form class="stack code-form" onSubmit={(event) => void save(event)}>
      <TextField
        label={`The ${spec.one}, in JSON`}
        lines={22}
        hint="docs/engage.md says what each field does. What is left out has its usual value."
        problem={read.ok ? '' : read.message}
        value={text}
        onValue={setText}
      />
      {action.failure !== null && <FailureNote failure={action.failure} />}
      {mayChange && (
        <div class="actions spread">
          {item !== null && (
            <button type="button" class="button danger" onClick={() => setAsks(true)}>
              Remove
            </button>
          )}
          <button
            type="submit"
            class="button primary"
            disabled={!read.ok || action.isBusy || (item !== null && text === before)}
          >
            Save
          </button>
        </div>
      )}
      {asks && item !== null && (
        <Confirm
          title={`Remove ${item.name}?`}
          action="Remove"
          isDangerous
          isBusy={action.isBusy}
          onConfirm={() => void remove()}
          onClose={() => setAsks(false)}
        >
          <p>Nobody is shown it any more. What visitors answered stays.</p>
        </Confirm>
      )}
    </form>
  );
}
