import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { request } from '../../api/request.ts';
import { useQuery } from '../../api/use_answer.ts';
import { ConflictDialog, useSave } from '../../editing/editing.tsx';
import { dateTime, number } from '../../format.ts';
import type { PageProps } from '../../page_spec.ts';
import { questionAddress } from '../../questions/query_address.ts';
import {
  type Board,
  boardsPath,
  listBoards,
  listQuestions,
  questionsPath,
  type SavedQuestion,
} from '../../questions/saved.ts';
import { addressOf } from '../../router.ts';
import { mayAt } from '../../session.ts';
import { type Column, DataTable } from '../../ui/data_table.tsx';
import { Confirm, toast } from '../../ui/dialog.tsx';
import { FailureNote, Panel, Shown } from '../../ui/panel.tsx';

type Removed = { kind: 'board' | 'query'; path: string; item: Board | SavedQuestion };

/** The boards of a site, and every saved question. */
export default function BoardsPage({ params }: PageProps): VNode {
  const siteId = params['site'] ?? '';
  const boards = useQuery(siteId, (signal) => listBoards(siteId, signal));
  const questions = useQuery(siteId, (signal) => listQuestions(siteId, signal));
  const [removed, setRemoved] = useState<Removed | null>(null);
  const mayChange = mayAt('saved.change', siteId);
  const button = (one: Removed): VNode => (
    <button type="button" class="button small" aria-label={`Remove ${one.item.name}`} onClick={() => setRemoved(one)}>
      Remove
    </button>
  );
  return (
    <div class="stack">
      <Panel title="Boards" note="A board shows several saved queries for the same period.">
        <Shown asked={boards}>
          {(items) => (
            <DataTable
              caption="List of boards"
              columns={[
                ...boardColumns(siteId),
                ...(mayChange
                  ? [removeColumn((item: Board) => button({ kind: 'board', path: boardsPath(siteId), item }))]
                  : []),
              ]}
              rows={items}
              keyOf={({ id }) => id}
              emptyText="No boards yet. Save a query and add it to one."
            />
          )}
        </Shown>
      </Panel>
      <Panel title="Saved queries">
        <Shown asked={questions}>
          {(items) => (
            <DataTable
              caption="List of saved queries"
              columns={[
                ...questionColumns(siteId),
                ...(mayChange
                  ? [
                      removeColumn((item: SavedQuestion) =>
                        button({ kind: 'query', path: questionsPath(siteId), item }),
                      ),
                    ]
                  : []),
              ]}
              rows={items}
              keyOf={({ id }) => id}
              emptyText="No saved queries yet"
            />
          )}
        </Shown>
      </Panel>
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

function RemoveDialog({ removed: { kind, path, item }, onClose, onDone }: RemoveDialogProps): VNode {
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
      onSaved() {
        toast(`Removed “${item.name}”`);
        onDone();
      },
      onTheirs: onDone,
    });
  return (
    <Confirm
      title={`Remove the ${kind} “${item.name}”?`}
      action="Remove"
      isDangerous
      isBusy={saving.isBusy}
      onConfirm={() => void remove()}
      onClose={onClose}
    >
      {saving.failure !== null && <FailureNote failure={saving.failure} />}
      <p>
        {kind === 'board'
          ? 'Its queries stay saved.'
          : 'A query on a board cannot be removed: remove it from the board first.'}
      </p>
      <ConflictDialog saving={saving} what={`this ${kind}`} />
    </Confirm>
  );
}

const removeColumn = <Row,>(cell: (row: Row) => VNode): Column<Row> => ({
  id: 'remove',
  title: 'Action',
  align: 'end',
  cell,
});

const changed = <Row extends { changed_at: number; owner: string }>(): Column<Row>[] => [
  { id: 'owner', title: 'Owner', value: ({ owner }) => owner },
  { id: 'changed', title: 'Changed', value: ({ changed_at }) => changed_at, cell: (row) => dateTime(row.changed_at) },
];

const boardColumns = (siteId: string): Column<Board>[] => [
  {
    id: 'name',
    title: 'Board',
    value: ({ name }) => name,
    cell: ({ id, name }) => <a href={addressOf(`/sites/${encodeURIComponent(siteId)}/boards/${id}`)}>{name}</a>,
  },
  {
    ...{ id: 'questions', title: 'Queries', align: 'end' },
    value: ({ questions }) => questions.length,
    cell: ({ questions }) => number(questions.length),
  },
  ...changed<Board>(),
];

const questionColumns = (siteId: string): Column<SavedQuestion>[] => [
  {
    id: 'name',
    title: 'Query',
    value: ({ name }) => name,
    cell: (saved) => {
      const address = questionAddress(siteId, saved);
      return address === null ? saved.name : <a href={address}>{saved.name}</a>;
    },
  },
  { id: 'query', title: 'Kind', value: ({ query }) => query },
  ...changed<SavedQuestion>(),
];
