import { type Problem, problem, unless } from '#pipelines/settings/problem.ts';
import type { ActorsQuery, PartQuery } from './actor_shapes.ts';
import { funnelProblems, retentionProblems } from './check.ts';
import { pathsPlan, pathsProblems } from './paths.ts';
import { trendsPlan } from './trends.ts';
import { trendsProblems } from './trends_check.ts';

const UINT64_MAX = 2n ** 64n - 1n;

/** What of a list of actors no shape can say. */
export function actorsProblems({ of, after }: ActorsQuery): Problem[] {
  const isPlace = after === undefined || after.split('.').every((part) => BigInt(part) <= UINT64_MAX);
  return [...partProblems(of), ...unless(isPlace, 'field_malformed', 'after', 'is of no page')];
}

function partProblems(of: ActorsQuery['of']): Problem[] {
  if ('funnel' in of) return stepProblems(of);
  if ('paths' in of) return wayProblems(of);
  return 'trends' in of ? barProblems(of) : within('of.retention', retentionProblems(of.retention));
}

function stepProblems({ funnel, step, got, value, other, interval_from: from }: PartQuery<'funnel'>): Problem[] {
  const { steps, breakdown, trend } = funnel;
  return [
    ...within('of.funnel', funnelProblems(funnel)),
    ...unless(step <= steps.length, 'field_malformed', 'of.step', 'is not a step'),
    ...unless(got === 'reached' || step > 1, 'field_malformed', 'of.step', 'has no step before it'),
    ...unless(from === undefined || trend !== undefined, 'field_malformed', 'of.interval_from', 'needs a trend'),
    ...groupProblems('value', value, other, breakdown),
  ];
}

function barProblems({ trends, series, parts, other, before }: PartQuery<'trends'>): Problem[] {
  const fields = trendsPlan(trends).breakdown?.fields.length ?? 0;
  const isWhole = parts === undefined || fields === 0 || parts.length === fields;
  return [
    ...within('of.trends', trendsProblems(trends)),
    ...unless(series <= trends.series.length, 'field_malformed', 'of.series', 'is not a series'),
    ...unless(before !== true || trends.compare !== undefined, 'field_malformed', 'of.before', 'needs compare'),
    ...unless(isWhole, 'field_malformed', 'of.parts', `needs a text of each field, ${fields} of them`),
    ...groupProblems('parts', parts, other, trends.breakdown),
  ];
}

function wayProblems({ paths, place, way }: PartQuery<'paths'>): Problem[] {
  const { before, after } = pathsPlan(paths);
  const last = place + way.length - 1;
  return [
    ...within('of.paths', pathsProblems(paths)),
    ...unless(place >= -before && place <= after, 'field_malformed', 'of.place', 'is no place of these paths'),
    ...unless(last <= after, 'field_malformed', 'of.way', 'is longer than these paths'),
    ...unless(!way.includes(''), 'field_malformed', 'of.way', 'has an empty text, which is no place'),
  ];
}

function groupProblems(
  name: 'value' | 'parts',
  value: unknown,
  other: boolean | undefined,
  breakdown: object | undefined,
): Problem[] {
  const needed = (field: string, isGiven: boolean): Problem[] =>
    unless(!isGiven || breakdown !== undefined, 'field_malformed', `of.${field}`, 'needs a breakdown');
  return [
    ...needed(name, value !== undefined),
    ...needed('other', other === true),
    ...unless(value === undefined || other !== true, 'field_malformed', 'of.other', `is not taken beside ${name}`),
  ];
}

function within(place: string, problems: readonly Problem[]): Problem[] {
  return problems.map(({ code, field, message }) => problem(code, `${place}.${field}`, message));
}
