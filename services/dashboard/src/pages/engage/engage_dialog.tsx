import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { EngageView } from '#services/control_api/engage_shapes.ts';
import { request } from '../../api/request.ts';
import { ConflictDialog } from '../../editing/conflict_dialog.tsx';
import { RemoveButton } from '../../editing/remove_button.tsx';
import { useEditing } from '../../editing/use_editing.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { TextField } from '../../ui/form_fields.tsx';
import { FailureNote } from '../../ui/states.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { toast } from '../../ui/toast.tsx';
import { useUnsaved } from '../../ui/unsaved.ts';
import { mayAt } from '../../who.ts';
import {
  definitionFacts,
  definitionText,
  type KindSpec,
  mergedText,
  NEW_ITEM,
  type NewItem,
  readObject,
} from './engage_item.ts';
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
  const mayChange = mayAt('engage.change', siteId);
  const one = item === null ? path : `${path}/${encodeURIComponent(item.id)}`;
  const finish = (): void => {
    onChanged();
    onClose();
  };
  const form = useEditing<EngageView | NewItem, { text: string }>({
    item: item ?? NEW_ITEM,
    draftOf: (of) => ({ text: 'id' in of ? definitionText(of) : JSON.stringify(spec.blank, null, 2) }),
    factsOf: ({ text }) => definitionFacts(text),
    merge: (loaded, mine, theirs) => ({ text: mergedText(loaded.text, mine.text, theirs.text) }),
    read: () => request('GET', one),
    write: ({ text }, base) =>
      'id' in base
        ? request('PUT', one, { body: definitionFacts(text), version: base.version })
        : request('POST', one, { body: definitionFacts(text) }),
    onSaved(saved) {
      toast(`Saved ${'name' in saved ? saved.name : ''}`);
      finish();
    },
    onTheirs: onChanged,
  });
  const { text } = form.draft;
  useUnsaved(form.isChanged);
  const typed = readObject(text);
  return (
    <form
      class="stack code-form"
      onSubmit={(event) => {
        event.preventDefault();
        if (typed.ok) void form.save();
      }}
    >
      <TextField
        label={`The ${spec.one}, in JSON`}
        lines={22}
        hint="docs/engage.md says what each field does. What is left out has its usual value."
        problem={typed.ok ? '' : typed.message}
        value={text}
        onValue={(value) => form.edit({ text: value })}
      />
      {form.failure !== null && <FailureNote failure={form.failure} />}
      {mayChange && (
        <div class="actions spread">
          {item !== null && <RemoveItem spec={spec} item={item} path={one} onRemoved={finish} onTheirs={onChanged} />}
          <button
            type="submit"
            class="button primary"
            disabled={!typed.ok || form.isBusy || (item !== null && !form.isChanged)}
          >
            Save
          </button>
        </div>
      )}
      <ConflictDialog saving={form} what={`this ${spec.one}`} />
    </form>
  );
}

interface RemoveItemProps {
  spec: KindSpec;
  item: EngageView;
  path: string;
  onRemoved(): void;
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
