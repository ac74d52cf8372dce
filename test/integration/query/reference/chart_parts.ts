import type { FunnelAnswer, FunnelQuery } from '#pipelines/analytics/funnels/query.ts';
import type { PathsAnswer, PathsQuery } from '#pipelines/analytics/paths.ts';
import type { ActorsQuery } from '#pipelines/analytics/people/query.ts';
import type { RetentionAnswer, RetentionQuery } from '#pipelines/analytics/retention.ts';
import type { TrendsAnswer } from '#pipelines/analytics/trends/answer.ts';
import type { TrendsQuery } from '#pipelines/analytics/trends/query.ts';
import type { Random } from '#services/local/demo/world/random.ts';
import { requiredBefore } from './actors.ts';

/** A part of a chart, and the number that the chart has there. */
interface ChartPart {
  of: ActorsQuery['of'];
  count: number;
}

/** A few parts of a funnel: steps that were reached and not, of everything, of values, of the others and of intervals. */
export function funnelParts(random: Random, funnel: FunnelQuery, answer: FunnelAnswer): ChartPart[] {
  const step = random.whole(2, funnel.steps.length);
  const parts = [
    { steps: answer.steps, of: {} },
    ...answer.breakdown.slice(0, 2).map(({ value, steps }) => ({ steps, of: { value } })),
    ...(answer.other === null ? [] : [{ steps: answer.other.steps, of: { other: true } }]),
    ...answer.trend.slice(-1).map(({ from, steps }) => ({ steps, of: { interval_from: from } })),
  ];
  return parts.flatMap(({ steps, of }): ChartPart[] => {
    const reached = (at: number): number => steps[at - 1]?.reached ?? Number.NaN;
    return [
      { of: { funnel, step: 1, got: 'reached', ...of }, count: reached(1) },
      { of: { funnel, step, got: 'reached', ...of }, count: reached(step) },
      { of: { funnel, step, got: 'dropped', ...of }, count: reached(requiredBefore(funnel, step)) - reached(step) },
    ];
  });
}

interface Bar {
  persons: number;
  intervals: readonly { from: number; persons: number }[];
}

/** Of a series everything, a value and the others, of this time and the one before, whole and in an interval. */
export function trendsParts(random: Random, trends: TrendsQuery, answer: TrendsAnswer): ChartPart[] {
  const series = random.whole(1, trends.series.length);
  const chosen = answer.series[series - 1];
  if (chosen === undefined) return [];
  const bars = [
    { bar: chosen, of: {} },
    ...chosen.breakdown.slice(0, 1).map((bar) => ({ bar, of: { parts: bar.parts } })),
    ...(chosen.other === null ? [] : [{ bar: chosen.other, of: { other: true } }]),
  ];
  return bars.flatMap(({ bar, of }) => [
    ...barParts(bar, { trends, series, ...of }),
    ...(bar.before === undefined ? [] : barParts(bar.before, { trends, series, ...of, before: true })),
  ]);
}

function barParts(bar: Bar, of: Extract<ActorsQuery['of'], { trends: object }>): ChartPart[] {
  return [
    { of, count: bar.persons },
    ...bar.intervals.slice(0, 1).map(({ from, persons }) => ({ of: { ...of, interval_from: from }, count: persons })),
  ];
}

/** A cohort, and who of it came back in the first intervals. */
export function retentionParts(retention: RetentionQuery, answer: RetentionAnswer): ChartPart[] {
  return answer.cohorts
    .slice(0, 3)
    .flatMap(({ from, persons, returned }) => [
      { of: { retention, cohort: from }, count: persons },
      ...returned.slice(0, 2).map((count, period) => ({ of: { retention, cohort: from, period }, count })),
    ]);
}

/** Nodes and edges of paths, and what begins, ends and goes on at the nodes; the others among them. */
export function pathsParts(paths: PathsQuery, { places, edges }: PathsAnswer): ChartPart[] {
  const nodes = places.flatMap(({ place, values, other }) =>
    [...values, ...(other === null ? [] : [{ ...other, value: null }])].flatMap((node): ChartPart[] => {
      const of = { paths, place, way: [node.value] };
      return [
        { of, count: node.paths },
        { of: { ...of, begins: true }, count: node.begins },
        { of: { ...of, last: 'ends' }, count: node.ends },
        { of: { ...of, last: 'goes_on' }, count: node.goes_on },
      ];
    }),
  );
  const ways = edges.map(
    ({ place, from, to, paths: count }): ChartPart => ({ of: { paths, place, way: [from, to] }, count }),
  );
  return [...nodes, ...ways];
}
