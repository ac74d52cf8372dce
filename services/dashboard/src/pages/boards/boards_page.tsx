import { useState } from 'preact/hooks';
import { request } from '../../api/request.ts';
import { useList } from '../../api/use_answer.ts';
import { ConflictDialog, useSave } from '../../editing/editing.tsx';
import type { PageProps } from '../../page_list.ts';
import { questionAddress } from '../../questions/query_address.ts';
import { type Board, boardsPath, questionsPath, type SavedQuestion } from '../../questions/saved.ts';
import { mayAt } from '../../session.ts';
import { AskedTable, actionColumn, type Column, linkColumn, numberColumn, timeColumn } from '../../ui/data_table.tsx';
import { Confirm, toast } from '../../ui/dialog.tsx';
import { siteAddress } from '../../ui/identifiers.tsx';
import { FailureNote, Panel } from '../../ui/panel.tsx';
import { ShareDialog } from './share_dialog.tsx';

type Shared = { kind: 'board' | 'question'; item: Board | SavedQuestion };
type Removed = { kind: 'board' | 'query'; path: string; item: Board | SavedQuestion };

export default function BoardsPage({ params }: PageProps) {
  const siteId = params['site'] ?? '';
  const boards = useList<Board>(boardsPath(siteId));
  const questions = useList<SavedQuestion>(questionsPath(siteId));
  const [removed, setRemoved] = useState<Removed | null>(null);
  const [shared, setShared] = useState<Shared | null>(null);
  const mayChange = mayAt('saved.change', siteId);
  const removal = <Item extends Board | SavedQuestion>(kind: Removed['kind'], path: string) =>
    mayChange &&
    actionColumn<Item>({
      kind: 'small',
      label: 'Remove',
      nameOf: ({ name }) => `Remove ${name}`,
      act: (item) => setRemoved({ kind, path, item }),
    });
  const sharing = <Item extends Board | SavedQuestion>(kind: Shared['kind']) =>
    mayChange && {
      ...actionColumn<Item>({
        kind: 'small',
        label: 'Share',
        nameOf: ({ name }) => `Share ${name}`,
        act: (item) => setShared({ kind, item }),
      }),
      ...{ id: 'share', title: 'Share' },
    };
  return (
    <div class="stack">
      <Panel title="Boards" note="A board shows several saved queries for the same period.">
        <AskedTable
          asked={boards}
          caption="List of boards"
          columns={[...boardColumns(siteId), sharing<Board>('board'), removal<Board>('board', boardsPath(siteId))]}
          keyOf={({ id }) => id}
          emptyText="No boards yet. Save a query and add it to one."
        />
      </Panel>
      <Panel title="Saved queries">
        <AskedTable
          asked={questions}
          caption="List of saved queries"
          columns={[
            ...questionColumns(siteId),
            sharing<SavedQuestion>('question'),
            removal<SavedQuestion>('query', questionsPath(siteId)),
          ]}
          keyOf={({ id }) => id}
          emptyText="No saved queries yet"
        />
      </Panel>
      {shared !== null && <ShareDialog siteId={siteId} {...shared} onClose={() => setShared(null)} />}
      {removed !== null && (
        <RemoveDialog
          removed={removed}
          onClose={() => setRemoved(null)}
          onDone={() => {
            setRemoved(null);
            boards.again();
            questions.again();
          }}
        />
      )}
    </div>
  );
}

interface RemoveDialogProps {
  removed: Removed;
  onClose(): void;
  onDone(): void;
}

function RemoveDialog({ removed: { kind, path, item }, onClose, onDone }: RemoveDialogProps) {
  const saving = useSave();
  const one = `${path}/${encodeURIComponent(item.id)}`;
  const remove = (): Promise<void> =>
    saving.save<Removed['item']>({
      loaded: item,
      factsOf: ({ name, ...rest }) =>
        'question' in rest ? { name, question: rest.question } : { name, questions: rest.questions },
      kept: () => null,
      read: () => request('GET', one),
      write: ({ version }) => request('DELETE', one, { version }),
      onSaved: () => toast(`Removed “${item.name}”`),
      onDone,
    });
  return (
    <Confirm
      title={`Remove the ${kind} “${item.name}”?`}
      action="Remove"
      isBusy={saving.isBusy}
      onConfirm={remove}
      onClose={onClose}
    >
      <FailureNote failure={saving.failure} />
      <p>
        {kind === 'board'
          ? 'Its queries stay saved.'
          : 'A query on a board cannot be removed: remove it from the board first.'}
      </p>
      <ConflictDialog saving={saving} what={`this ${kind}`} />
    </Confirm>
  );
}

const changed = <Row extends { changed_at: number; owner: string }>(): Column<Row>[] => [
  { id: 'owner', title: 'Owner', value: ({ owner }) => owner },
  timeColumn('changed', 'Changed', ({ changed_at }) => changed_at),
];

const boardColumns = (siteId: string): Column<Board>[] => [
  linkColumn({
    ...{ id: 'name', title: 'Board', value: ({ name }) => name },
    href: ({ id }) => siteAddress(siteId, `boards/${id}`),
  }),
  numberColumn('questions', 'Queries', ({ questions }) => questions.length),
  ...changed<Board>(),
];

const questionColumns = (siteId: string): Column<SavedQuestion>[] => [
  linkColumn({
    ...{ id: 'name', title: 'Query', value: ({ name }) => name },
    href: (saved) => questionAddress(siteId, saved),
  }),
  { id: 'query', title: 'Kind', value: ({ query }) => query },
  ...changed<SavedQuestion>(),
];
