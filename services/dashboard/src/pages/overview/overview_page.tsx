import { useMemo, useState } from 'preact/hooks';
import type { TopAnswer } from '#pipelines/analytics/top.ts';
import type { VisitValue } from '#pipelines/visits/arrival.ts';
import type { SiteItem } from '#services/control_api/sites.ts';
import { ask, sentenceOf } from '../../api/request.ts';
import { type Asked, useQuery } from '../../api/use_answer.ts';
import { BarActions } from '../../charts/chart_table.tsx';
import { Sparkline, TimeSeries } from '../../charts/time_series.tsx';
import {
  capital,
  change,
  changeInPoints,
  compact,
  money,
  number,
  percent,
  rangeText,
  sortableStart,
  span,
  timeZone,
  zonedTitle,
} from '../../format.ts';
import type { PageProps } from '../../page_list.ts';
import type { Period } from '../../period.ts';
import { queryAsking } from '../../questions/query_address.ts';
import { addressOf, currentLocation, setQuery } from '../../router.ts';
import { sites } from '../../site_list.ts';
import { Bars, Empty, FailureNote, Loading, Panel, Shown, Tabs } from '../../ui/panel.tsx';
import { usePeriod } from '../../ui/period_picker.tsx';
import { AlertsPanel } from './alerts_panel.tsx';
import * as overview from './overview_questions.ts';

const NOW_EVERY_MS = 10_000;

export default function OverviewPage({ params }: PageProps) {
  const siteId = params['site'] ?? '';
  const period = usePeriod(overview.EVERY_MS);
  const site = sites.value?.find(({ site_id }) => site_id === siteId);
  return (
    <div class="stack">
      <VisitorsNow siteId={siteId} />
      <AlertsPanel siteId={siteId} site={site} />
      <Counts siteId={siteId} site={site} period={period} />
      <Rankings siteId={siteId} site={site} period={period} />
    </div>
  );
}

function VisitorsNow({ siteId }: { siteId: string }) {
  const asked = useQuery(
    siteId,
    (signal) => ask(siteId, 'trends', overview.nowQuestion(Date.now()), signal),
    NOW_EVERY_MS,
  );
  // What was counted minutes ago is not who is there now.
  const count = asked.failure === null ? (asked.value?.series[0]?.persons ?? null) : null;
  return (
    <p class="row visitors-now">
      <span class={`pulse ${count !== null && count > 0 ? 'pulse-on' : ''}`} aria-hidden="true" />
      <span class="strong">{number(count)}</span> {count === 1 ? 'visitor' : 'visitors'} in the last 5 minutes
      {asked.failure !== null && <span class="muted small"> Unavailable: {sentenceOf(asked.failure)}</span>}
    </p>
  );
}

interface PartProps {
  siteId: string;
  site: SiteItem | undefined;
  period: Period;
}

function Counts({ siteId, site, period }: PartProps) {
  const chosen = currentLocation.value.query.get('figure');
  const conversions = overview.conversionsOf(site);
  const key = `${siteId} ${period.from} ${period.lastDay} ${conversions.join()}`;
  const counts = useQuery(
    key,
    (signal) => ask(siteId, 'trends', overview.countsQuestion(period, conversions), signal),
    overview.EVERY_MS,
  );
  const revenue = useQuery(
    key,
    (signal) => ask(siteId, 'revenue', overview.revenueQuestion(period), signal),
    overview.EVERY_MS,
  );
  const visits = useQuery<overview.VisitsCompared>(
    key,
    async (signal) => {
      // By channel, as the list of these asks: the service answers both at once.
      const [now, before] = await Promise.all([
        ask(siteId, 'visits', overview.visitsQuestion(period, 'channel', conversions), signal),
        ask(siteId, 'visits', overview.visitsBeforeQuestion(period, conversions), signal),
      ]);
      if (!now.ok) return now;
      return before.ok ? { ...now, value: { now: now.value, before: before.value } } : before;
    },
    overview.EVERY_MS,
  );
  const counted = useMemo(() => (counts.value === null ? null : overview.countFigures(counts.value)), [counts.value]);
  const visited = useMemo(
    () => (visits.value === null ? null : overview.visitFigures(visits.value, counts.value)),
    [visits.value, counts.value],
  );
  const earned = useMemo(
    () => (revenue.value === null ? null : overview.revenueFigures(revenue.value, site?.currency ?? null)),
    [revenue.value, site?.currency],
  );
  const [people, ...happened] = counted ?? WAITING;
  const figures = [
    ...(people === undefined ? [] : [people]),
    ...(visited ?? NO_VISITS),
    ...happened,
    ...(earned ?? [NO_REVENUE]),
  ];
  const failed = [counts, revenue, visits].filter(
    ({ failure }, at, all) => all.findIndex((one) => one.failure?.code === failure?.code) === at,
  );
  const shown = figures.find(({ name }) => name === chosen) ?? figures[0] ?? NO_REVENUE;
  const starts = useMemo(() => counts.value?.series[0]?.intervals.map(({ from }) => from) ?? [], [counts.value]);
  return (
    <div class={`stack ${counts.isOld || revenue.isOld || visits.isOld ? 'old' : ''}`}>
      {failed.map(({ failure, again }) => (
        <FailureNote key={failure?.code ?? ''} failure={failure} again={again} />
      ))}
      <ul class="figures" aria-busy={counts.asks}>
        {figures.map((figure) => (
          <li key={figure.name}>
            <button
              type="button"
              class="figure"
              aria-pressed={figure === shown}
              onClick={() => setQuery({ figure: figure.name === figures[0]?.name ? null : figure.name })}
            >
              <FigureText figure={figure} />
            </button>
            {figure.note !== undefined && (
              <span class="figure-note small muted" title={figure.note}>
                {figure.note}
              </span>
            )}
            {figure.name === overview.CONVERSIONS && <ConversionsNote siteId={siteId} conversions={conversions} />}
          </li>
        ))}
      </ul>
      <Panel title={`${shown.name} by ${period.interval}`}>
        <div class="chart-room">
          {counted !== null && <FigureChart figure={shown} starts={starts} interval={period.interval} />}
          {counts.waits && <Loading lines={8} />}
          {counted === null && counts.failure !== null && <Empty title="Unavailable" />}
        </div>
      </Panel>
    </div>
  );
}

const WAITING: readonly overview.Figure[] = ['Visitors', 'Events', overview.CONVERSIONS].map(overview.noFigure);
const NO_VISITS: readonly overview.Figure[] = ['Visits', 'Bounce rate', 'Visit duration'].map(overview.noFigure);
const NO_REVENUE = overview.noFigure('Revenue');

/** Which events count as conversions, leading to how many there are of each. */
function ConversionsNote({ siteId, conversions }: { siteId: string; conversions: string[] }) {
  const address = addressOf(
    `/sites/${encodeURIComponent(siteId)}/trends`,
    queryAsking(overview.conversionTrends(conversions)),
  );
  const names = conversions.join(', ');
  return (
    <a class="figure-note small" href={address} title={`Trends of ${names}`} aria-label={`Trends of ${names}`}>
      of {names}
    </a>
  );
}

function FigureChart({
  figure,
  starts,
  interval,
}: {
  figure: overview.Figure;
  starts: readonly number[];
  interval: Period['interval'];
}) {
  const series = useMemo(
    () => [
      { name: figure.name, values: figure.values },
      { name: 'Previous period', values: figure.valuesBefore, isBefore: true },
    ],
    [figure],
  );
  const write = useMemo(() => writer(figure, number), [figure.currency, figure.unit]);
  return (
    <TimeSeries
      title={`${figure.name} by ${interval}`}
      starts={starts}
      interval={interval}
      timeZone={timeZone()}
      series={series}
      format={write}
      {...(figure.unit !== undefined && { axis: write })}
      table={() => ({
        columns: [
          zonedTitle(capital(interval)),
          ...series.map(({ name }) => name + (figure.unit === 'seconds' ? ' (seconds)' : '')),
        ],
        rows: starts.map((start, at) => [
          sortableStart(start, interval, timeZone()),
          ...series.map(({ values }) => values[at] ?? null),
        ]),
      })}
    />
  );
}

/** How the numbers of a figure are written; counts as is said. */
function writer(
  { currency, unit }: overview.Figure,
  ofCounts: (value: number) => string,
): (value: number | null) => string {
  if (unit === 'share') return percent;
  const written = (value: number): string => {
    if (unit === 'seconds') return value === 0 ? '0 s' : span(value * 1_000);
    return currency === null ? ofCounts(value) : money(value, currency);
  };
  return (value) => (value === null ? '–' : written(value));
}

const OPPOSITE = { up: 'down', down: 'up', same: 'same' } as const;

function FigureText({ figure }: { figure: overview.Figure }) {
  const { name, total, before, values, unit, isBad = false } = figure;
  const write = writer(figure, compact);
  const text = write(total).replaceAll('\u00a0', ' ');
  const changeOf = unit === 'share' ? changeInPoints : change;
  const changed = total === null || before === null ? null : changeOf(total, before);
  const look = changed && (isBad ? OPPOSITE[changed.direction] : changed.direction);
  return (
    <>
      <span class="figure-name">{name}</span>
      {/* Where it is too long, it breaks behind the currency and not within the number. */}
      <span class="figure-total" style={{ '--signs': Math.max(...text.split(' ').map(({ length }) => length)) }}>
        {text}
      </span>
      {changed === null ? (
        <span class="muted small">{before === 0 && total !== null && total > 0 ? 'none before' : ' '}</span>
      ) : (
        <span class={`small change-${look}`} title={`${write(before)} in the previous period`}>
          {changed.text}
        </span>
      )}
      <Sparkline values={values} />
    </>
  );
}

const SHOWN_MAX = 10;

const SOURCES: readonly { id: VisitValue; label: string }[] = [
  { id: 'channel', label: 'Channels' },
  { id: 'source', label: 'Sources' },
  { id: 'campaign', label: 'Campaigns' },
];

function Rankings(props: PartProps) {
  const [source, setSource] = useState<string>('channel');
  const pages = [
    useViews(props, { property: '$current_url', part: 'page' }),
    useViews(props, { property: 'page_location', part: 'page', unlessSet: ['$current_url'] }),
    useViews(props, { property: 'url', part: 'page', unlessSet: ['$current_url', 'page_location'] }),
  ];
  return (
    <div class="columns">
      <Panel title="Top pages">
        <Ranking
          what="Page"
          asked={pages}
          nameOf={overview.pageName}
          period={props.period}
          empty="No page views in this period"
        />
      </Panel>
      <Panel title="Top sources">
        <Tabs
          label="Sources"
          chosen={source}
          onChosen={setSource}
          tabs={SOURCES.map(({ id, label }) => ({
            id,
            label,
            content: () => <Visits key={id} {...props} visit={id} what={label.slice(0, -1)} />,
          }))}
        />
      </Panel>
    </div>
  );
}

/** Visits by how they came, asked when somebody looks, and of campaigns the way to what the people whom they brought bought. */
function Visits({ siteId, site, period, visit, what }: PartProps & { visit: VisitValue; what: string }) {
  const conversions = overview.conversionsOf(site);
  const asked = useQuery(
    `${siteId} ${period.from} ${period.lastDay} ${visit} ${conversions.join()}`,
    (signal) => ask(siteId, 'visits', overview.visitsQuestion(period, visit, conversions), signal),
    overview.EVERY_MS,
  );
  const rows = useMemo(() => (asked.value === null ? [] : overview.visitsBy(asked.value, visit)), [asked.value, visit]);
  return (
    <Shown asked={asked} lines={SHOWN_MAX}>
      {() =>
        rows.length === 0 ? (
          <Empty title={visit === 'campaign' ? 'No visits with a campaign' : 'No visits in this period'} />
        ) : (
          <div class="stack">
            <RankedBars what={what} counted="Visits" rows={rows} period={period} />
            {visit === 'campaign' && (
              <p>
                <a
                  class="button small"
                  href={revenueAddress(
                    siteId,
                    rows.map(({ name }) => name),
                  )}
                >
                  Compare revenue
                </a>
              </p>
            )}
          </div>
        )
      }
    </Shown>
  );
}

function useViews({ siteId, period }: PartProps, by: overview.ViewsBy): Asked<TopAnswer> {
  const key = `${siteId} ${period.from} ${period.lastDay} ${by.property}`;
  return useQuery(key, (signal) => ask(siteId, 'top', overview.viewsQuestion(period, by), signal), overview.EVERY_MS);
}

const revenueAddress = (siteId: string, campaigns: readonly string[]): string =>
  addressOf(`/sites/${encodeURIComponent(siteId)}/trends`, queryAsking(overview.campaignRevenue(campaigns)));

interface RankingProps {
  what: string;
  asked: readonly Asked<TopAnswer>[];
  nameOf(value: string): string | null;
  empty: string;
  period: Period;
}

function Ranking({ what, asked, nameOf, empty, period }: RankingProps) {
  const answers = asked.flatMap(({ value }) => value ?? []);
  const rows = useMemo(() => overview.ranked(answers, nameOf).slice(0, SHOWN_MAX), [nameOf, ...answers]);
  // Half of the views would make another ranking: whichever answer is not there says why.
  const first = asked.find(({ value, failure }) => value === null || failure !== null) ?? asked[0];
  if (first === undefined) return <Empty title={empty} />;
  return (
    <Shown asked={first} lines={SHOWN_MAX}>
      {() =>
        rows.length === 0 ? (
          <Empty title={empty} />
        ) : (
          <RankedBars what={what} counted="Page views" rows={rows} period={period} />
        )
      }
    </Shown>
  );
}

interface RankedBarsProps {
  what: string;
  counted: string;
  rows: readonly overview.Ranked[];
  period: Period;
}

function RankedBars({ what, counted, rows, period }: RankedBarsProps) {
  const most = rows[0]?.count ?? 1;
  const hasBounces = rows.some(({ bounced }) => bounced !== undefined);
  const nameOf = (name: string) => (
    <span class="cut" title={name}>
      {name}
    </span>
  );
  return (
    <>
      <p class="bars-head muted small">
        <span>{what}</span>
        <span>{counted}</span>
        {hasBounces && <span class="bar-more">Bounce rate</span>}
      </p>
      <Bars
        bars={rows.map(({ name, count, bounced }) => ({
          ...{ key: name, name: nameOf(name), share: count / most, count },
          ...(bounced !== undefined && { more: { text: percent(bounced), says: 'bounced' } }),
        }))}
      />
      <BarActions
        title={`${counted} by ${what.toLowerCase()}`}
        when={rangeText(period, timeZone())}
        what={what}
        counted={counted}
        bars={rows}
        {...(hasBounces && { more: { title: 'Bounce rate', of: rows.map(({ bounced = null }) => bounced) } })}
      />
    </>
  );
}
