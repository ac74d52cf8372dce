import type { Cell } from '#pipelines/query/answer_table.ts';
import { csvLine } from '#pipelines/query/csv.ts';
import type { FunnelAnswer, FunnelStep } from '#pipelines/query/funnel_answer.ts';

/** A funnel as CSV (RFC 4180): a row for each step of everything, of each value and of each interval. */
export function funnelCsv(names: readonly string[], answer: FunnelAnswer): string {
  const rows = [
    ...csvRows('all', '', names, answer.steps),
    ...answer.breakdown.flatMap(({ value, steps }) => csvRows('value', value, names, steps)),
    ...(answer.other === null ? [] : csvRows('other', '', names, answer.other.steps)),
    ...answer.trend.flatMap(({ from, steps }) => csvRows('interval', new Date(from).toISOString(), names, steps)),
  ];
  const head = [
    'group',
    'value',
    'step',
    'name',
    'reached',
    'of_first',
    'of_previous',
    'median_ms',
    'p90_ms',
    'average_ms',
    'between_median_ms',
    'between_p90_ms',
    'between_average_ms',
  ];
  return [head, ...rows].map(csvLine).join('\r\n');
}

function csvRows(
  group: string,
  value: string,
  names: readonly string[],
  steps: readonly FunnelStep[],
): (Cell | undefined)[][] {
  return steps.map(({ reached, of_first, of_previous, time_ms, between_ms }, index) => [
    group,
    value,
    index + 1,
    names[index],
    reached,
    of_first,
    of_previous,
    time_ms?.median,
    time_ms?.p90,
    time_ms?.average,
    between_ms?.median,
    between_ms?.p90,
    between_ms?.average,
  ]);
}
