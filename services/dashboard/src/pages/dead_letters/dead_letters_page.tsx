import { useMemo } from 'preact/hooks';
import type { DeadLetterItem } from '#services/control_api/redelivery.ts';
import { useList } from '../../api/use_answer.ts';
import { Sparkline } from '../../charts/time_series.tsx';
import { dateTime, number } from '../../format.ts';
import { readPeriod } from '../../period.ts';
import { currentLocation, setQuery } from '../../router.ts';
import { mayAt } from '../../session.ts';
import { sites } from '../../site_list.ts';
import { Button } from '../../ui/button.tsx';
import { agoColumn, type Column, codeColumn, DataTable, numberColumn, openColumn } from '../../ui/data_table.tsx';
import { SelectField } from '../../ui/form_fields.tsx';
import { Empty, Panel, Shown } from '../../ui/panel.tsx';
import {
  DeadLetterDialog,
  DeadLetterEvent,
  DeadLetterState,
  mayChangeDeadLetter,
  ResendAll,
  ResolveDeadLetters,
} from './dead_letter_dialog.tsx';
import {
  countsByDay,
  DEAD_LETTER_FILTERS,
  type DeadLetterGroup,
  deadLetterGroups,
  isOpen,
  resendable,
  stateOf,
} from './dead_letter_groups.ts';

const LETTERS_MAX = 5_000;

export default function DeadLettersPage() {
  const { query } = currentLocation.value;
  const period = readPeriod(query, Date.now());
  const [site, destination] = [query.get('site'), query.get('destination')];
  const asked = useList<DeadLetterItem>(
    '/v1/admin/dead-letters',
    { since: period.from, site_id: site, destination },
    null,
    LETTERS_MAX,
  );
  const inPeriod = useMemo(
    () => (asked.value?.items ?? []).filter(({ died_at }) => died_at < period.to),
    [asked.value, period.to],
  );
  const filter = DEAD_LETTER_FILTERS.find(({ value }) => value === query.get('state')) ?? DEAD_LETTER_FILTERS[0];
  const deadLetters = useMemo(() => inPeriod.filter(filter.takes), [inPeriod, filter]);
  const groups = useMemo(() => deadLetterGroups(deadLetters), [deadLetters]);
  const opened = query.get('letter');
  return (
    <div class="stack">
      <Panel title="By reason" note="Grouped by stage and reason. Dead letters are kept for 30 to 37 days.">
        <Shown asked={asked}>
          {({ more }) => (
            <div class="stack">
              <div class="form-row">
                <FilterField chosen={filter.value} deadLetters={inPeriod} />
                <SiteField chosen={site} />
              </div>
              {destination !== null && (
                <p class="row">
                  Only deliveries to <code>{destination}</code>
                  <Button kind="small" label="All stages" onClick={() => setQuery({ destination: null }, 'push')} />
                </p>
              )}
              <Groups groups={groups} from={period.from} to={period.to} isCut={more} isEmpty={inPeriod.length === 0} />
            </div>
          )}
        </Shown>
      </Panel>
      {/* What is done about all of them must not be done about those of the question before. */}
      {groups.length > 0 && !asked.isOld && <DeadLetters deadLetters={deadLetters} onDone={asked.again} />}
      {opened !== null && (
        <DeadLetterDialog
          key={opened}
          id={opened}
          onChanged={asked.again}
          onClose={() => setQuery({ letter: null }, 'push')}
        />
      )}
    </div>
  );
}

const FilterField = ({ chosen, deadLetters }: { chosen: string; deadLetters: readonly DeadLetterItem[] }) => (
  <SelectField
    label="Status"
    value={chosen}
    onValue={(value) => setQuery({ state: value === 'open' ? null : value, stage: null, reason: null }, 'push')}
    options={DEAD_LETTER_FILTERS.map(({ value, label, takes }) => ({
      value,
      label: `${label} (${number(deadLetters.filter(takes).length)})`,
    }))}
  />
);

/** Narrows the letters to those of a site; what cannot be read is of none. */
function SiteField({ chosen }: { chosen: string | null }) {
  const seen = (sites.value ?? []).map(({ site_id }) => site_id).filter((id) => mayAt('dead_letters.read', id));
  const known = chosen === null || seen.includes(chosen) ? seen : [chosen, ...seen];
  return (
    <SelectField
      label="Site"
      value={chosen ?? ''}
      onValue={(value) => setQuery({ site: value === '' ? null : value }, 'push')}
      options={[{ value: '', label: 'All sites' }, ...known.map((value) => ({ value, label: value }))]}
    />
  );
}

function DeadLetters({ deadLetters, onDone }: { deadLetters: readonly DeadLetterItem[]; onDone(): void }) {
  const { query } = currentLocation.value;
  const [stage, reason] = [query.get('stage'), query.get('reason')];
  const shown = useMemo(
    () =>
      deadLetters.filter(
        (one) => (stage === null || one.stage === stage) && (reason === null || one.reason === reason),
      ),
    [deadLetters, stage, reason],
  );
  const open = shown.filter((deadLetter) => isOpen(deadLetter) && mayChangeDeadLetter(deadLetter));
  return (
    <Panel
      title={
        stage === null && reason === null ? 'All dead letters' : `${stage ?? 'All stages'}: ${reason ?? 'all reasons'}`
      }
      actions={
        <>
          {(stage !== null || reason !== null) && (
            <Button kind="small" label="Show all" onClick={() => setQuery({ stage: null, reason: null }, 'push')} />
          )}
          <ResendAll deadLetters={resendable(open)} onDone={onDone} />
          <ResolveDeadLetters
            ids={open.map(({ id }) => id)}
            label={`Resolve all (${number(open.length)})`}
            onDone={onDone}
          />
        </>
      }
    >
      <DataTable
        caption="Dead letters"
        columns={COLUMNS}
        rows={shown}
        keyOf={({ id }) => id}
        sortedBy={{ column: 'died', isDescending: true }}
        csvName="dead-letters"
      />
    </Panel>
  );
}

interface GroupsProps {
  groups: readonly DeadLetterGroup[];
  from: number;
  to: number;
  isCut: boolean;
  /** Whether there are none at all, whatever was done about them. */
  isEmpty: boolean;
}

function Groups({ groups, from, to, isCut, isEmpty }: GroupsProps) {
  if (isEmpty) return <Empty title="No dead letters in this period">Every accepted event was processed.</Empty>;
  if (groups.length === 0) return <Empty title="No matching dead letters" />;
  return (
    <>
      {isCut && <p class="muted small">Only the first {number(LETTERS_MAX)} are shown; choose a shorter period.</p>}
      <DataTable
        caption="Dead letters by stage and reason"
        columns={groupColumns(from, to)}
        rows={groups}
        keyOf={(group) => `${group.stage} ${group.reason}`}
        csvName="dead-letter-reasons"
      />
    </>
  );
}

const groupColumns = (from: number, to: number): readonly Column<DeadLetterGroup>[] => [
  { id: 'stage', title: 'Stage', value: ({ stage }) => stage },
  openColumn({
    ...{ id: 'reason', title: 'Reason', look: 'mono', value: ({ reason }) => reason },
    open: ({ stage, reason }) => setQuery({ stage, reason }, 'push'),
  }),
  numberColumn('count', 'Count', ({ count }) => count),
  numberColumn('events', 'Events', ({ events }) => events),
  {
    id: 'days',
    title: 'By day',
    cell: (group) => (
      <span class="in-row">
        <Sparkline values={countsByDay(group, from, to)} />
      </span>
    ),
  },
  agoColumn('last', 'Newest', ({ lastMs }) => lastMs),
];

const COLUMNS: readonly Column<DeadLetterItem>[] = [
  openColumn({
    ...{ id: 'died', title: 'Failed', value: ({ died_at }) => died_at, shown: ({ died_at }) => dateTime(died_at) },
    open: ({ id }) => setQuery({ letter: id }, 'push'),
  }),
  { id: 'stage', title: 'Stage', value: ({ stage }) => stage },
  { id: 'destination', title: 'Destination', value: ({ destination }) => destination ?? '' },
  { id: 'site', title: 'Site', value: ({ site_ids }) => site_ids.join(', ') },
  {
    ...{ id: 'event', title: 'Event', value: ({ event }) => event?.event ?? '' },
    cell: (deadLetter) => <DeadLetterEvent deadLetter={deadLetter} />,
  },
  codeColumn('reason', 'Reason', ({ reason }) => reason),
  numberColumn('events', 'Events', ({ events }) => events),
  { id: 'state', title: 'State', value: stateOf, cell: (deadLetter) => <DeadLetterState deadLetter={deadLetter} /> },
  { id: 'note', title: 'Note', value: ({ resolved }) => resolved?.note ?? '' },
  codeColumn('id', 'Id', ({ id }) => id),
];
