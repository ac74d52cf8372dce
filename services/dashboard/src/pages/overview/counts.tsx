import type { VNode } from 'preact';
import { useMemo } from 'preact/hooks';
import type { SiteItem } from '#services/control_api/sites.ts';
import { ask } from '../../api/questions.ts';
import { useAnswer } from '../../api/use_answer.ts';
import { Sparkline } from '../../charts/sparkline.tsx';
import { TimeSeries } from '../../charts/time_series.tsx';
import { change, compact, money, number } from '../../format.ts';
import { type Period, timeZone } from '../../period.ts';
import { queryAsking } from '../../questions/question_place.ts';
import { addressOf, place, setQuery } from '../../router.ts';
import { Panel } from '../../ui/panel.tsx';
import { Empty, FailureNote, Loading } from '../../ui/states.tsx';
import {
  CONVERSIONS,
  conversionsOf,
  conversionTrends,
  countFigures,
  countsQuestion,
  type Figure,
  noFigure,
  revenueFigures,
  revenueQuestion,
} from './overview_questions.ts';

interface CountsProps {
  siteId: string;
  site: SiteItem | undefined;
  period: Period;
  everyMs: number;
}

/** The figures of the period, and the course of the one that is chosen. */
export function Counts({ siteId, site, period, everyMs }: CountsProps): VNode {
  const chosen = place.value.query.get('figure');
  const conversions = conversionsOf(site);
  const key = `${siteId} ${period.from} ${period.lastDay} ${conversions.join()}`;
  const counts = useAnswer(
    key,
    (signal) => ask(siteId, 'trends', countsQuestion(period, conversions), signal),
    everyMs,
  );
  const revenue = useAnswer(key, (signal) => ask(siteId, 'trends', revenueQuestion(period), signal), everyMs);
  const counted = useMemo(() => (counts.value === null ? null : countFigures(counts.value)), [counts.value]);
  const earned = useMemo(() => (revenue.value === null ? null : revenueFigures(revenue.value)), [revenue.value]);
  const figures = [...(counted ?? WAITING), ...(earned ?? [NO_REVENUE])];
  const shown = figures.find(({ name }) => name === chosen) ?? figures[0] ?? NO_REVENUE;
  const starts = useMemo(() => counts.value?.series[0]?.intervals.map(({ from }) => from) ?? [], [counts.value]);
  return (
    <div class={`stack ${counts.isOld || revenue.isOld ? 'old' : ''}`}>
      {counts.failure !== null && <FailureNote failure={counts.failure} again={counts.again} />}
      {revenue.failure !== null && revenue.failure.code !== counts.failure?.code && (
        <FailureNote failure={revenue.failure} again={revenue.again} />
      )}
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
            {figure.name === CONVERSIONS && <ConversionsNote siteId={siteId} conversions={conversions} />}
          </li>
        ))}
      </ul>
      <Panel title={`${shown.name} by ${period.interval}`}>
        <div class="chart-room">
          {counted !== null && <Course figure={shown} starts={starts} interval={period.interval} />}
          {counts.waits && <Loading lines={8} />}
          {counted === null && counts.failure !== null && <Empty title="Not known now" />}
        </div>
      </Panel>
    </div>
  );
}

const WAITING: readonly Figure[] = ['Visitors', 'Events', CONVERSIONS].map(noFigure);
const NO_REVENUE = noFigure('Revenue');

/** Which events count as conversions, leading to how many there are of each. */
function ConversionsNote({ siteId, conversions }: { siteId: string; conversions: string[] }): VNode {
  const address = addressOf(`/sites/${encodeURIComponent(siteId)}/trends`, queryAsking(conversionTrends(conversions)));
  const names = conversions.join(', ');
  return (
    <a class="figure-note small" href={address} title={`Trends of ${names}`} aria-label={`Trends of ${names}`}>
      of {names}
    </a>
  );
}

interface CourseProps {
  figure: Figure;
  starts: readonly number[];
  interval: string;
}

function Course({ figure, starts, interval }: CourseProps): VNode {
  const series = useMemo(
    () => [
      { name: figure.name, values: figure.values },
      { name: 'Period before', values: figure.valuesBefore, isBefore: true },
    ],
    [figure],
  );
  const write = useMemo(() => {
    const { currency } = figure;
    return currency === null ? number : (value: number | null) => (value === null ? '–' : money(value, currency));
  }, [figure.currency]);
  return (
    <TimeSeries
      title={`${figure.name} by ${interval}`}
      starts={starts}
      interval={interval}
      timeZone={timeZone()}
      series={series}
      format={write}
    />
  );
}

function FigureText({ figure: { name, total, before, values, currency } }: { figure: Figure }): VNode {
  const write = (value: number): string => (currency === null ? compact(value) : money(value, currency));
  const changed = total === null || before === null ? null : change(total, before);
  return (
    <>
      <span class="figure-name">{name}</span>
      <span class="figure-total">{total === null ? '–' : write(total)}</span>
      {changed === null ? (
        <span class="muted small">{before === 0 && total !== null && total > 0 ? 'none before' : ' '}</span>
      ) : (
        <span class={`small change-${changed.direction}`} title={`${write(before ?? 0)} in the period before`}>
          {changed.text}
        </span>
      )}
      <Sparkline values={values} />
    </>
  );
}
