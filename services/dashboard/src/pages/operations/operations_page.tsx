import { useMemo } from 'preact/hooks';
import type { StageItem, StagesAnswer } from '#services/control_api/operations.ts';
import type { DeadLetterItem } from '#services/control_api/redelivery.ts';
import { useGet, useList, useQuery } from '../../api/use_answer.ts';
import { number } from '../../format.ts';
import { addressOf } from '../../router.ts';
import {
  AskedTable,
  asRows,
  type Column,
  codeColumn,
  DataTable,
  linkColumn,
  numberColumn,
  stateColumn,
} from '../../ui/data_table.tsx';
import { FailureNote, Panel, Shown } from '../../ui/panel.tsx';
import { openDeadLettersQuery } from '../dead_letters/dead_letter_groups.ts';
import * as lag from './stages.ts';

const EVERY_MS = 5_000;
const LETTERS_EVERY_MS = 60_000;
const DAY_MS = 86_400_000;
const NONE: lag.Died = { count: 0, more: false };

interface Row {
  item: StageItem;
  /** Dead letters of the last day; null where they are not known. */
  errors: lag.Died | null;
}

export default function OperationsPage() {
  const asked = useGet<StagesAnswer>('/v1/admin/stages', {}, EVERY_MS);
  const deadLetters = useQuery('letters', (signal) => lag.diedSince(Date.now() - DAY_MS, signal), LETTERS_EVERY_MS);
  const rows = useMemo(
    () =>
      (asked.value?.items ?? []).map((item) => ({
        item,
        errors: deadLetters.value === null ? null : (deadLetters.value[item.stage] ?? NONE),
      })),
    [asked.value, deadLetters.value],
  );
  return (
    <div class="stack">
      <FailureNote failure={deadLetters.failure} again={deadLetters.again} />
      <Panel title="Stages" note="A record has the events of one request; transaction markers count as records too.">
        <Shown asked={asked} lines={6}>
          {({ not_seen }) => (
            <div class="stack">
              <DataTable
                caption="Stages with their lag"
                columns={COLUMNS}
                rows={rows}
                keyOf={({ item }) => item.stage}
                csvName="stages"
              />
              <section class="stack-small" aria-labelledby="not-seen">
                <h3 id="not-seen">Not monitored here</h3>
                <ul class="muted">
                  {not_seen.map((text) => (
                    <li key={text}>{text}</li>
                  ))}
                </ul>
              </section>
            </div>
          )}
        </Shown>
      </Panel>
      <OpenDeadLetters />
    </div>
  );
}

/** What is asked first stands first, and is all in sight on a phone. */
const COLUMNS: readonly Column<Row>[] = [
  codeColumn('stage', 'Stage', ({ item }) => item.stage),
  { id: 'what', title: 'What it does', value: ({ item }) => lag.purposeOf(item.stage), isExtra: true },
  numberColumn('lag', 'Lag', ({ item }) => item.lag),
  numberColumn('rate', 'Records/s', ({ item }) => item.rate),
  {
    ...{ id: 'age', title: 'Oldest lag', value: ({ item }) => item.waits_longer_than_ms },
    cell: ({ item }) => lag.waitText(item),
  },
  stateColumn('state', 'State', ({ item }) => lag.stageState(item)),
  numberColumn('lanes', 'In retry', ({ item }) => item.on_lanes),
  numberColumn(
    'errors',
    'Dead letters, 24 h',
    ({ errors }) => errors?.count ?? null,
    (count, { item, errors }) =>
      errors === null || errors.count === 0 ? number(count) : <a href={diedAddress(item)}>{lag.diedText(errors)}</a>,
  ),
];

function diedAddress({ stage }: StageItem): string {
  const query = { period: '24h', stage: stage.split('.')[0] ?? '', state: 'all' };
  return addressOf('/dead-letters', new URLSearchParams(query));
}

/** Every letter that is kept is read, to find those that are open. */
const OPEN_LETTERS_EVERY_MS = 300_000;
const LETTERS_MAX = 5_000;

/** The dead letters that are open, by the site whose events they hold: each site's overview has only its own. */
function OpenDeadLetters() {
  const asked = useList<DeadLetterItem>(
    '/v1/admin/dead-letters',
    { state: 'open' },
    OPEN_LETTERS_EVERY_MS,
    LETTERS_MAX,
  );
  return (
    <Panel title="Open dead letters" note="Unreadable ones have no site, and are on no overview.">
      <AskedTable
        asked={asRows(asked, ({ items }) => lag.openBySite(items))}
        caption="Open dead letters by site"
        columns={LETTER_COLUMNS}
        keyOf={({ siteId }) => siteId ?? ''}
        csvName="open-dead-letters"
        emptyText={asked.value?.more === true ? 'None of those checked' : 'None'}
      />
    </Panel>
  );
}

const LETTER_COLUMNS: readonly Column<lag.SiteDeadLetters>[] = [
  linkColumn({
    ...{ id: 'site', title: 'Site', value: ({ siteId }) => siteId ?? '' },
    shown: ({ siteId }) => siteId ?? 'Unreadable',
    href: ({ siteId }) => addressOf('/dead-letters', new URLSearchParams(openDeadLettersQuery(siteId))),
  }),
  { id: 'stages', title: 'Stages', value: ({ stages }) => stages.join(', ') },
  numberColumn('count', 'Dead letters', ({ count }) => count),
];
