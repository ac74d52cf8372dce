import type { FunnelAnswer } from '#pipelines/analytics/funnels/query.ts';

/** A funnel as the query API answers it, by how many reached each step. */
export function funnelOf(reached: readonly number[]): FunnelAnswer {
  const share = (part: number, whole: number | undefined): number => (whole ? part / whole : 0);
  const steps = reached.map((count, nth) => ({
    reached: count,
    of_first: share(count, reached[0]),
    of_previous: share(count, reached[nth - 1] ?? count),
    time_ms: null,
    between_ms: null,
  }));
  return { steps, time_to_convert: [], breakdown: [], more_values: false, other: null, trend: [] };
}
