import { type Problem, problem } from '#pipelines/settings/problem.ts';
import { type FunnelQuery, RANGE_MS_MAX, type RetentionQuery } from './shapes.ts';
import { isTimeZone } from './time_zone.ts';

interface Range {
  from: number;
  to: number;
}

/** What of a query's times no shape can say. */
export function rangeProblems({ from, to }: Range): Problem[] {
  if (to <= from) return [problem('field_malformed', 'to', 'must be later than from')];
  return to - from > RANGE_MS_MAX ? [problem('field_malformed', 'to', 'is more than 800 days after from')] : [];
}

function zoneProblems(timeZone: string | undefined, field = 'time_zone'): Problem[] {
  if (timeZone === undefined || isTimeZone(timeZone)) return [];
  return [problem('field_malformed', field, 'is not a known time zone')];
}

/** What of a time cut into intervals no shape can say. */
export function cutProblems(query: Range & { time_zone?: string }): Problem[] {
  return [...rangeProblems(query), ...zoneProblems(query.time_zone)];
}

const DAY_MS = 86_400_000;
/** Recurring retention has a figure for every two of its intervals. */
const RECURRING_INTERVALS_MAX = 400;

/** What of retention no shape can say. */
export function retentionProblems(query: RetentionQuery): Problem[] {
  const days = (query.to - query.from) / DAY_MS;
  const isLong = query.mode === 'recurring' && query.interval === 'day' && days > RECURRING_INTERVALS_MAX;
  const message = `recurring retention has at most ${RECURRING_INTERVALS_MAX} intervals`;
  return [...cutProblems(query), ...(isLong ? [problem('too_many', 'interval', message)] : [])];
}

/** What of a funnel no shape can say. */
export function funnelProblems(query: FunnelQuery): Problem[] {
  return [
    ...rangeProblems(query),
    ...zoneProblems(query.trend?.time_zone, 'trend.time_zone'),
    ...optionalProblems(query),
    ...exclusionProblems(query),
    ...attributionProblems(query),
    ...lookbackProblems(query),
  ];
}

function optionalProblems({ steps, order }: FunnelQuery): Problem[] {
  return steps.flatMap(({ optional }, index) => {
    const field = `steps[${index}].optional`;
    if (optional !== true) return [];
    if (order === 'any') return [problem('field_malformed', field, 'is not for steps without an order')];
    const isBetween = index > 0 && index < steps.length - 1;
    return isBetween ? [] : [problem('field_malformed', field, 'is not for the first or the last step')];
  });
}

function attributionProblems({ breakdown, steps }: FunnelQuery): Problem[] {
  if (breakdown === undefined) return [];
  const { at, step } = breakdown;
  const field = 'breakdown.step';
  if (at !== 'step') return step === undefined ? [] : [problem('field_malformed', field, 'is for at step only')];
  if (step === undefined) return [problem('field_missing', field, 'is missing: at says step')];
  return step <= steps.length ? [] : [problem('field_malformed', field, 'is not a step')];
}

function exclusionProblems({ exclusions = [], steps, order }: FunnelQuery): Problem[] {
  return exclusions.flatMap((exclusion, index) => {
    const { after_step, before_step } = exclusion;
    const field = `exclusions[${index}]`;
    if (order === 'any' && (after_step ?? before_step) !== undefined) {
      return [problem('field_malformed', field, 'has steps, which have no order here')];
    }
    const [after, before] = [after_step ?? 1, before_step ?? steps.length];
    if (before > steps.length) return [problem('field_malformed', `${field}.before_step`, 'is not a step')];
    return after < before ? [] : [problem('field_malformed', `${field}.before_step`, 'must be after after_step')];
  });
}

function lookbackProblems({ breakdown, count_by, from }: FunnelQuery): Problem[] {
  const lookbackMs = breakdown?.lookback_ms;
  const field = 'breakdown.lookback_ms';
  if (breakdown === undefined || lookbackMs === undefined) return [];
  if (breakdown.at === 'first_step' || breakdown.at === 'step')
    return [problem('field_malformed', field, 'is for touches only')];
  if (count_by === 'session') return [problem('field_malformed', field, 'is not for sessions')];
  return lookbackMs > from ? [problem('field_malformed', field, 'reaches before 1970')] : [];
}
