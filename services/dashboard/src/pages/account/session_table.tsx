import type { VNode } from 'preact';
import type { SessionList } from '#services/control_api/users.ts';
import { ago, dateTime } from '../../format.ts';
import { Badge } from '../../ui/badge.tsx';
import { type Column, DataTable } from '../../ui/data_table.tsx';

type SessionItem = SessionList['items'][number];

interface SessionTableProps {
  sessions: readonly SessionItem[];
  /** Ends one of them; left out where single ones cannot be ended. */
  onEnd?: (session: SessionItem) => void;
  isBusy?: boolean;
}

/** Sessions that go on, with where each began. */
export function SessionTable({ sessions, onEnd, isBusy = false }: SessionTableProps): VNode {
  const ending: Column<SessionItem>[] =
    onEnd === undefined
      ? []
      : [
          {
            id: 'end',
            title: 'Action',
            align: 'end',
            cell: (session) =>
              !session.current && (
                <button
                  type="button"
                  class="button small quiet"
                  disabled={isBusy}
                  aria-label={`End the session of ${session.browser}, begun ${dateTime(session.created_at)}`}
                  onClick={() => onEnd(session)}
                >
                  End
                </button>
              ),
          },
        ];
  return (
    <DataTable
      caption="Sessions that go on"
      columns={[...COLUMNS, ...ending]}
      rows={sessions}
      keyOf={({ id }) => id}
      emptyText="No session goes on"
    />
  );
}

const COLUMNS: readonly Column<SessionItem>[] = [
  {
    id: 'browser',
    title: 'Browser',
    value: ({ browser }) => browser,
    cell: ({ browser, current }) => (
      <>
        {browser} {current && <Badge kind="good">This one</Badge>}
      </>
    ),
  },
  { id: 'network', title: 'From', value: ({ network }) => network },
  {
    id: 'seen',
    title: 'Last used',
    value: ({ seen_at }) => seen_at,
    cell: ({ seen_at }) => ago(seen_at, Date.now()),
  },
  {
    id: 'began',
    title: 'Began',
    value: ({ created_at }) => created_at,
    cell: ({ created_at }) => dateTime(created_at),
  },
];
