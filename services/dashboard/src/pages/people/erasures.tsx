import { noticeSentence } from '#pipelines/erasure/notices.ts';
import type { ErasureItem } from '#services/control_api/persons.ts';
import { sitePath } from '../../api/request.ts';
import { useGet, useList } from '../../api/use_answer.ts';
import { dateTime, number } from '../../format.ts';
import { currentLocation, setQuery } from '../../router.ts';
import { AskedTable, type Column, DataTable, openColumn, stateColumn } from '../../ui/data_table.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Facts, FailureNote, Loading, Panel, StateBadge, type StateLook } from '../../ui/panel.tsx';

const RUNNING_EVERY_MS = 2_000;
const LISTED_MAX = 1_000;

const isOpen = ({ done_at, destinations }: ErasureItem): boolean =>
  done_at === null || destinations.some(({ state }) => state === 'pending');

const STATES: Record<ErasureItem['phase'], StateLook> = {
  suppressing: { label: 'Dropping events', badge: 'warn' },
  draining: { label: 'Waiting for stages', badge: 'warn' },
  deleting: { label: 'Deleting', badge: 'warn' },
  done: { label: 'Done', badge: 'good' },
};

const stateOf = ({ phase, detail }: ErasureItem): StateLook =>
  detail === 'secret_key_unknown' || detail === 'mutation_fails' ? { label: 'Failing', badge: 'bad' } : STATES[phase];

/** The erasures of a site, and the receipt of the one that is opened. */
export function Erasures({ siteId }: { siteId: string }) {
  const asked = useList<ErasureItem>(
    sitePath(siteId, 'erasures'),
    {},
    (known) => (known?.items.some(isOpen) === true ? RUNNING_EVERY_MS : null),
    LISTED_MAX,
  );
  const chosen = currentLocation.value.query.get('erasure');
  return (
    <Panel title="Erasures" note="Persons that were erased, and how far that is. Receipts are kept for 400 days.">
      <AskedTable
        asked={asked}
        caption="Erased persons"
        columns={COLUMNS}
        keyOf={({ erasure_id }) => erasure_id}
        sortedBy={{ column: 'asked', isDescending: true }}
        csvName="erasures"
        emptyText="No one was erased"
      />
      {chosen !== null && (
        <Dialog title="Erasure" kind="side" onClose={() => setQuery({ erasure: null }, 'push')}>
          <Receipt siteId={siteId} erasureId={chosen} />
        </Dialog>
      )}
    </Panel>
  );
}

const COLUMNS: readonly Column<ErasureItem>[] = [
  openColumn({
    ...{ id: 'asked', title: 'Requested', value: ({ asked_at }) => asked_at },
    shown: ({ asked_at }) => dateTime(asked_at),
    open: ({ erasure_id }) => setQuery({ erasure: erasure_id }, 'push'),
  }),
  stateColumn('state', 'State', stateOf),
  { id: 'by', title: 'Requested by', value: ({ asked_by }) => asked_by },
  { id: 'done', title: 'Done', value: ({ done_at }) => (done_at === null ? '–' : dateTime(done_at)) },
  { id: 'id', title: 'Erasure', value: ({ erasure_id }) => erasure_id },
];

/** How far an erasure is, and what was erased where; followed until it is over. */
export function Receipt({ siteId, erasureId }: { siteId: string; erasureId: string }) {
  const { value, failure } = useGet<ErasureItem>(sitePath(siteId, 'erasures', erasureId), {}, (known) =>
    known !== null && isOpen(known) ? RUNNING_EVERY_MS : null,
  );
  if (value === null) return failure === null ? <Loading /> : <FailureNote failure={failure} />;
  const { detail, asked_by, asked_at, done_at, suppressed_until, erased, left, destinations } = value;
  const until = (ms: number | null): string => (ms === null ? 'Expires by itself' : `Expires by ${dateTime(ms)}`);
  const rows = [
    ...erased.map(({ place, count }) => ({ place, what: `${number(count)} erased` })),
    ...destinations.map((one) => ({ place: one.name, what: noticeSentence(one) })),
    ...left.map(({ place, until: ms }) => ({ place, what: until(ms) })),
  ];
  return (
    <div class="stack">
      <p class="row" role="status">
        <StateBadge of={stateOf(value)} />
        {detail !== '' && <code>{detail}</code>}
      </p>
      <Facts
        facts={[
          ['Erasure', erasureId],
          ['Requested', `${dateTime(asked_at)} by ${asked_by}`],
          done_at !== null && ['Done', dateTime(done_at)],
          suppressed_until !== null && ['Events are dropped until', dateTime(suppressed_until)],
        ]}
      />
      <DataTable caption="Receipt" columns={RECEIPT_COLUMNS} rows={rows} keyOf={({ place }) => place} />
      <FailureNote failure={failure} />
    </div>
  );
}

const RECEIPT_COLUMNS: readonly Column<{ place: string; what: string }>[] = [
  { id: 'place', title: 'Where', value: ({ place }) => place },
  { id: 'what', title: 'What', value: ({ what }) => what },
];
