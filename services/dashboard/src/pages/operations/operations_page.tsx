import { useMemo, useState } from 'preact/hooks';
import { RATES_MAX, type Rate, RateFileError, readRates } from '#pipelines/analytics/revenue/rates.ts';
import type { StageItem, StagesAnswer } from '#services/control_api/operations.ts';
import type { RatesItem } from '#services/control_api/queries.ts';
import type { DeadLetterItem } from '#services/control_api/redelivery.ts';
import { type ApiResult, listAll, request } from '../../api/request.ts';
import { useGet, useList, useQuery } from '../../api/use_answer.ts';
import { capital, number, span } from '../../format.ts';
import { addressOf } from '../../router.ts';
import { mayEverywhere } from '../../session.ts';
import { ConfirmButton } from '../../ui/confirm_action.tsx';
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
import { toast } from '../../ui/dialog.tsx';
import { ActionForm, LabelledField, problemOf, TextField, useDraft } from '../../ui/form_fields.tsx';
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
      {mayEverywhere('queries.manage') && <ExchangeRates />}
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

const RATES_PATH = '/v1/admin/rates';
/** Those of the European Central Bank since 1999 are 2 MB. */
const FILE_BYTES_MAX = 16_000_000;

const RATE_COLUMNS: readonly Column<RatesItem['currencies'][number]>[] = [
  codeColumn('currency', 'Currency', ({ currency }) => currency),
  { id: 'first', title: 'First day', value: ({ first }) => first },
  { id: 'last', title: 'Last day', value: ({ last }) => last },
  numberColumn('days', 'Days', ({ days }) => days),
];

/** Rates by day, by which every site's revenue is told in its own currency. */
function ExchangeRates() {
  const asked = useGet<RatesItem>(RATES_PATH);
  return (
    <Panel title="Exchange rates" note="Revenue of a site that has a currency is converted by the rate of the day.">
      <Shown asked={asked}>
        {({ base, currencies }) => (
          <div class="stack">
            {base === null ? (
              <p>No rates are loaded: amounts stay in the currency that they were sent in.</p>
            ) : (
              <DataTable
                caption={`Rates against ${base}`}
                columns={RATE_COLUMNS}
                rows={currencies}
                keyOf={({ currency }) => currency}
                csvName="rates"
              />
            )}
            <LoadRates key={base ?? ''} base={base} onLoaded={asked.again} />
            {base !== null && (
              <p>
                <ConfirmButton
                  title="Remove all rates?"
                  action="Remove all rates"
                  run={() => request<RatesItem>('DELETE', RATES_PATH)}
                  said="All rates were removed"
                  onDone={asked.again}
                >
                  Revenue is then shown in the currencies that it was sent in, for past days too.
                </ConfirmButton>
              </p>
            )}
          </div>
        )}
      </Shown>
    </Panel>
  );
}

function LoadRates({ base, onLoaded }: { base: string | null; onLoaded(): void }) {
  const { draft, field } = useDraft({ base: base ?? 'EUR' });
  const [file, setFile] = useState<{ rates: readonly Rate[]; problem: string }>({ rates: [], problem: '' });
  const { rates } = file;
  const choose = async (input: HTMLInputElement): Promise<void> => {
    const chosen = input.files?.[0];
    if (chosen === undefined) return;
    const isTooLarge = chosen.size > FILE_BYTES_MAX;
    setFile(isTooLarge ? { rates: [], problem: 'The file has more than 16 MB.' } : ratesIn(await chosen.text()));
    // The same file can be chosen again once it is mended.
    input.value = '';
  };
  const load = async (): Promise<ApiResult<RatesItem>> => {
    const against = draft.base.trim().toUpperCase();
    for (let at = 0; at < rates.length; at += RATES_MAX) {
      const body = { base: against, rates: rates.slice(at, at + RATES_MAX) };
      const loaded = await request<RatesItem>('PUT', RATES_PATH, { body });
      if (!loaded.ok) return loaded;
    }
    return request<RatesItem>('GET', RATES_PATH);
  };
  return (
    <ActionForm
      action={rates.length === 0 ? 'Load rates' : `Load ${countOf(rates.length)}`}
      isReady={rates.length > 0}
      run={load}
      onDone={() => {
        toast(`Loaded ${countOf(rates.length)}`);
        setFile({ rates: [], problem: '' });
        onLoaded();
      }}
    >
      {(failure) => (
        <div class="form-row">
          <TextField
            label="Against"
            required
            hint="The currency of which a rate says how much of another it is."
            {...field(failure)('base')}
          />
          <LabelledField
            label="From a file"
            hint="CSV: day,currency,rate, or Date,USD,JPY,… as the European Central Bank has them. Later rates of a day replace earlier."
            problem={file.problem || problemOf(failure, 'rates')}
          >
            {(described) => (
              <input
                {...described}
                type="file"
                accept=".csv,text/csv"
                onChange={({ currentTarget }) => void choose(currentTarget)}
              />
            )}
          </LabelledField>
        </div>
      )}
    </ActionForm>
  );
}

const countOf = (rates: number): string => `${number(rates)} ${rates === 1 ? 'rate' : 'rates'}`;

/** The rates of a file, or what is wrong with it. */
function ratesIn(csv: string): { rates: readonly Rate[]; problem: string } {
  try {
    const rates = readRates(csv);
    return { rates, problem: rates.length === 0 ? 'The file has no rates.' : '' };
  } catch (error) {
    if (error instanceof RateFileError) return { rates: [], problem: `${capital(error.message)}.` };
    throw error;
  }
}
