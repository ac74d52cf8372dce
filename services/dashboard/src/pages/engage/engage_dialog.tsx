import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { EngageView } from '#services/control_api/engage.ts';
import { request } from '../../api/request.ts';
import { ConflictDialog } from '../../editing/conflict_dialog.tsx';
import { useEditing } from '../../editing/use_editing.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { toast } from '../../ui/toast.tsx';
import { useUnsaved } from '../../ui/unsaved.ts';
import { AdvancedDefinition } from './advanced_definition.tsx';
import { sentDefinition } from './definition_json.ts';
import { mergedDefinition } from './definition_merge.ts';
import type { DefinitionTabProps, EngageDialogProps } from './dialog_parts.ts';
import { definitionFacts, definitionText, NEW_ITEM, type NewItem, textOf } from './engage_item.ts';
import { EngageResults } from './engage_results.tsx';
import { LoadedForm } from './loaded_form.tsx';

/** One survey, promo or form: what came of it, what it says with a preview, and the same in JSON. */
export function EngageDialog(props: EngageDialogProps): VNode {
  const { spec, item, onClose } = props;
  return (
    <Dialog title={item === null ? `New ${spec.one}` : item.name} kind="wide" onClose={onClose}>
      <Views {...props} />
    </Dialog>
  );
}

function Views({ siteId, spec, path, item, onChanged, onClose }: EngageDialogProps): VNode {
  const [view, setView] = useState(item === null ? 'edit' : 'results');
  const one = item === null ? path : `${path}/${encodeURIComponent(item.id)}`;
  const finish = (): void => {
    onChanged();
    onClose();
  };
  const form = useEditing<EngageView | NewItem, { text: string }>({
    item: item ?? NEW_ITEM,
    draftOf: (of) => ({ text: 'id' in of ? definitionText(of) : textOf(spec.blank) }),
    factsOf: ({ text }) => definitionFacts(text),
    merge: (...drafts) => ({ text: textOf(mergedDefinition(...definitionsIn(drafts)).merged) }),
    replaced: (...drafts) => mergedDefinition(...definitionsIn(drafts)).replaced,
    read: () => request('GET', one),
    write({ text }, base) {
      const body = sentDefinition(definitionFacts(text));
      return 'id' in base ? request('PUT', one, { body, version: base.version }) : request('POST', one, { body });
    },
    onSaved(saved) {
      toast(`Saved ${'name' in saved ? saved.name : ''}`);
      finish();
    },
    onTheirs: onChanged,
  });
  useUnsaved(form.isChanged);
  const shared: DefinitionTabProps = { siteId, spec, path: one, item, form, onRemoved: finish, onChanged };
  const edit = {
    id: 'edit',
    label: 'Edit',
    keeps: true,
    content: () => <LoadedForm {...shared} isSeen={view === 'edit'} />,
  };
  const advanced = {
    id: 'advanced',
    label: 'Advanced',
    keeps: true,
    content: () => <AdvancedDefinition {...shared} />,
  };
  return (
    <>
      <Tabs
        label={`Of the ${spec.one}`}
        chosen={view}
        onChosen={setView}
        tabs={
          item === null
            ? [edit, advanced]
            : [
                {
                  ...{ id: 'results', label: 'Results' },
                  content: () => <EngageResults siteId={siteId} kind={spec.kind} item={item} />,
                },
                edit,
                advanced,
              ]
        }
      />
      <ConflictDialog saving={form} what={`this ${spec.one}`} />
    </>
  );
}

type Three<Of> = [loaded: Of, mine: Of, theirs: Of];
const definitionsIn = ([loaded, mine, theirs]: Three<{ text: string }>): Three<object> => [
  definitionFacts(loaded.text),
  definitionFacts(mine.text),
  definitionFacts(theirs.text),
];
