import { type Problem, problem } from '#pipelines/settings/problem.ts';
import { cutProblems } from './check.ts';
import { readFormula } from './formula.ts';
import type { Interval, TrendsQuery } from './shapes.ts';
import { isOfField, trendsPlan } from './trends.ts';

/** Figures that an answer with its empty intervals may have. */
const POINTS_MAX = 100_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** The length of an interval, or the least it may have. */
const LENGTHS_MS: Record<Interval, number> = { hour: HOUR_MS, day: DAY_MS, week: 7 * DAY_MS, month: 28 * DAY_MS };

/** What of trends no shape can say. */
export function trendsProblems(query: TrendsQuery): Problem[] {
  return [
    ...cutProblems(query),
    ...query.series.flatMap(measureProblems),
    ...formulaProblems(query),
    ...breakdownProblems(query.breakdown),
    ...sizeProblems(query),
  ];
}

function measureProblems({ measure, sum }: TrendsQuery['series'][number], index: number): Problem[] {
  if (measure === undefined) return [];
  const field = `series[${index}].measure`;
  if (sum !== undefined) return [problem('field_malformed', field, 'is not taken beside sum')];
  if (!isOfField(measure.of)) {
    return measure.field === undefined ? [] : [problem('field_malformed', `${field}.field`, 'is not for this measure')];
  }
  return measure.field === undefined ? [problem('field_missing', `${field}.field`, 'is missing')] : [];
}

function formulaProblems({ formulas = [], series }: TrendsQuery): Problem[] {
  return formulas.flatMap((text, index) => {
    const read = readFormula(text, series.length);
    return read.ok ? [] : [problem('formula_malformed', `formulas[${index}]`, read.message)];
  });
}

function breakdownProblems(breakdown: TrendsQuery['breakdown']): Problem[] {
  if (breakdown === undefined || (breakdown.field === undefined) !== (breakdown.fields === undefined)) return [];
  return breakdown.field === undefined
    ? [problem('field_missing', 'breakdown.field', 'is missing')]
    : [problem('field_malformed', 'breakdown.fields', 'is not taken beside field')];
}

/** An answer that holds every interval is known in its size before it is asked. */
function sizeProblems(query: TrendsQuery): Problem[] {
  const { filled, compares, breakdown } = trendsPlan(query);
  if (!filled) return [];
  const intervals = Math.ceil(Math.max(0, query.to - query.from) / LENGTHS_MS[query.interval]) + 1;
  const groups = breakdown === null ? 1 : breakdown.limit + 2;
  const series = query.series.length + (query.formulas ?? []).length;
  const points = intervals * groups * series * (compares ? 2 : 1);
  if (points <= POINTS_MAX) return [];
  const message = `an answer has at most ${POINTS_MAX} figures, and this would have ${points}: ask for fewer intervals, values or series`;
  return [problem('too_many', 'interval', message)];
}
