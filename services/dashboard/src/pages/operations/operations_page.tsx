import { useMemo } from 'preact/hooks';
import type { StageItem, StagesAnswer } from '#services/control_api/operations.ts';
import type { DeadLetterItem } from '#services/control_api/redelivery.ts';
import { type ApiResult, listAll } from '../../api/request.ts';
import { useGet, useList, useQuery } from '../../api/use_answer.ts';
import { number, span } from '../../format.ts';
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
import { FailureNote, Panel, Shown, type StateLook } from '../../ui/panel.tsx';
import { openDeadLettersQuery } from '../dead_letters/dead_letter_groups.ts';

const EVERY_MS = 5_000;
const LETTERS_EVERY_MS = 60_000;
const DAY_MS = 86_400_000;
const NONE: Died = { count: 0, more: false };

interface Row {
  item: StageItem;
  /** Dead letters of the last day; null where they are not known. */
  errors: Died | null;
}

export default function OperationsPage() {
  const asked = useGet<StagesAnswer>('/v1/admin/stages', {}, EVERY_MS);
  const deadLetters = useQuery('letters', (signal) => diedSince(Date.now() - DAY_MS, signal), LETTERS_EVERY_MS);
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
  { id: 'what', title: 'What it does', value: ({ item }) => purposeOf(item.stage), isExtra: true },
  numberColumn('lag', 'Lag', ({ item }) => item.lag),
  numberColumn('rate', 'Records/s', ({ item }) => item.rate),
  {
    ...{ id: 'age', title: 'Oldest lag', value: ({ item }) => item.waits_longer_than_ms },
    cell: ({ item }) => waitText(item),
  },
  stateColumn('state', 'State', ({ item }) => stageState(item)),
  numberColumn('lanes', 'In retry', ({ item }) => item.on_lanes),
  numberColumn(
    'errors',
    'Dead letters, 24 h',
    ({ errors }) => errors?.count ?? null,
    (count, { item, errors }) =>
      errors === null || errors.count === 0 ? number(count) : <a href={diedAddress(item)}>{diedText(errors)}</a>,
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
        asked={asRows(asked, ({ items }) => openBySite(items))}
        caption="Open dead letters by site"
        columns={LETTER_COLUMNS}
        keyOf={({ siteId }) => siteId ?? ''}
        csvName="open-dead-letters"
        emptyText={asked.value?.more === true ? 'None of those checked' : 'None'}
      />
    </Panel>
  );
}

const LETTER_COLUMNS: readonly Column<SiteDeadLetters>[] = [
  linkColumn({
    ...{ id: 'site', title: 'Site', value: ({ siteId }) => siteId ?? '' },
    shown: ({ siteId }) => siteId ?? 'Unreadable',
    href: ({ siteId }) => addressOf('/dead-letters', new URLSearchParams(openDeadLettersQuery(siteId))),
  }),
  { id: 'stages', title: 'Stages', value: ({ stages }) => stages.join(', ') },
  numberColumn('count', 'Dead letters', ({ count }) => count),
];

const WHAT: Readonly<Record<string, string>> = {
  dedup: 'Drops duplicates',
  quota: 'Counts usage',
  identity: 'Resolves persons',
  warehouse: 'Writes to ClickHouse',
};

export const purposeOf = (stage: string): string =>
  WHAT[stage] ?? (stage.startsWith('delivery.') ? 'Sends to the destination' : '');

const LATE_MS = 60_000;

export function stageState({ consumers, lag, waits_longer_than_ms: waitsMs }: StageItem): StateLook {
  if (consumers === 0) return { label: 'Not running', badge: 'bad' };
  if (lag === null) return { label: 'No data yet', badge: 'plain' };
  if (waitsMs !== null && waitsMs >= LATE_MS) return { label: 'Behind', badge: 'warn' };
  return { label: 'Up to date', badge: 'good' };
}

export const waitText = ({ lag, waits_longer_than_ms: waitsMs }: StageItem): string => {
  if (waitsMs !== null) return `> ${span(waitsMs)}`;
  return lag === null || lag === 0 ? '–' : '< 10 s';
};

/** How much died in a stage; `more`: at least. */
export interface Died {
  count: number;
  more: boolean;
}

const STAGES = ['dedup', 'quota', 'identity', 'warehouse', 'delivery'] as const satisfies DeadLetterItem['stage'][];
const DIED_MAX = 1_000;

/**
 * What died since a moment, by stage, and of deliveries by destination, as `delivery.meta`. Each stage is asked for by
 * itself: pages come stage by stage, so that many letters of one would leave those of the next out.
 */
export async function diedSince(
  sinceMs: number,
  signal: AbortSignal,
): Promise<ApiResult<Readonly<Record<string, Died>>>> {
  const died: Record<string, Died> = {};
  for (const stage of STAGES) {
    const query = { since: sinceMs, stage };
    const answer = await listAll<DeadLetterItem>('/v1/admin/dead-letters', query, DIED_MAX, signal);
    if (!answer.ok) return answer;
    const { items, more } = answer.value;
    // A destination whose letters were not reached may have some all the same.
    if (stage !== 'delivery') died[stage] = { count: items.length, more };
    else for (const [name, deadLetters] of byDestination(items)) died[name] = { count: deadLetters.length, more };
  }
  return { ok: true, value: died, version: null };
}

const byDestination = (deadLetters: readonly DeadLetterItem[]): Map<string, DeadLetterItem[]> =>
  Map.groupBy(deadLetters, ({ destination }) => `delivery.${destination ?? ''}`);

export const diedText = ({ count, more }: Died): string => (more ? `${number(count)} or more` : number(count));

/** Open letters that hold events of a site; null: of those that cannot be read. */
export interface SiteDeadLetters {
  siteId: string | null;
  count: number;
  stages: string[];
}

/** How many letters each site has, the most first; one of several sites counts for each. */
export function openBySite(deadLetters: readonly DeadLetterItem[]): SiteDeadLetters[] {
  const all = deadLetters.flatMap(({ site_ids, stage }) =>
    (site_ids.length === 0 ? [null] : site_ids).map((siteId) => ({ siteId, stage })),
  );
  return [...Map.groupBy(all, ({ siteId }) => siteId)]
    .map(([siteId, ones]) => ({ siteId, count: ones.length, stages: [...new Set(ones.map(({ stage }) => stage))] }))
    .sort((a, b) => b.count - a.count);
}
