// Cohorts: groups of persons by conditions or by a list, what may be said of one, and its rule as a question needs it.

import { type Static, Type } from 'typebox';
import { type Calendar, DAY_MS, wallMs } from '#pipelines/settings/calendar.ts';
import { type Problem, problem, unless } from '#pipelines/settings/problems.ts';
import type { CohortSetting } from '#schemas/setting.ts';
import { withEveryName } from '../event_names.ts';
import { type Condition, closed, conditionShape, JOINED_VALUES_MAX } from '../filters.ts';
import { namesPersons } from '../personal_fields.ts';
import { joinedValues, withPersonsOf } from '../query_rewrites.ts';
import { filterProblems, type Selection, selectionShape, TIME_MAX } from '../question.ts';

/** Conditions of one cohort. */
const CONDITIONS_MAX = 10;
/** Of all cohorts that a question names, and of those that these name, where a list is one: each is looked at for every person. */
const COHORT_CONDITIONS_MAX = 30;
/** A cohort of cohorts of cohorts. */
const DEPTH_MAX = 3;
export const TIMES_MAX = 1_000_000;
export const DAYS_MAX = 800;

const day = (description: string) =>
  Type.Optional(
    Type.String({ description, pattern: '^(?:19|20)[0-9]{2}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])$' }),
  );

/** How often events happened, within which days of the site's time zone. */
const didShape = closed({
  did: selectionShape,
  is: Type.Optional(Type.Enum(['at_least', 'at_most', 'exactly'], { default: 'at_least' })),
  times: Type.Optional(
    Type.Integer({
      description: 'How often; 0: never, with at_most or exactly',
      minimum: 0,
      maximum: TIMES_MAX,
      default: 1,
    }),
  ),
  last_days: Type.Optional(
    Type.Integer({
      description: 'Within so many days up to today, by the time zone of the site',
      minimum: 1,
      maximum: DAYS_MAX,
    }),
  ),
  since: day('The first day, as 2027-01-31, by the time zone of the site'),
  until: day('The last day'),
});
type Did = Static<typeof didShape>;

/** Events that happened so often, a value of the person, or another cohort. */
const cohortConditionShape = Type.Union([didShape, conditionShape]);
export type CohortCondition = Did | Condition;

/** What a cohort is by its conditions. */
export const conditionsFields = {
  match: Type.Optional(
    Type.Enum(['all', 'any'], { description: 'Whether all conditions have to hold', default: 'all' }),
  ),
  conditions: Type.Optional(
    Type.Array(cohortConditionShape, {
      description:
        'Of a cohort by conditions: events that happened so often, values of the person ({ person, seen }), or other cohorts',
      minItems: 1,
      maxItems: CONDITIONS_MAX,
    }),
  ),
};

/** What somebody says of a cohort. */
export interface CohortDefinition {
  id: string;
  name: string;
  match?: 'all' | 'any';
  /** Left out: it is a list. */
  conditions?: CohortCondition[];
}

/** A cohort as it is stored: what was said of it, and which list it is where it is one. */
export interface StoredCohort {
  definition: CohortDefinition;
  list: string | null;
}

/** The cohort of an id; undefined: the site has none. */
export type FindCohort = (id: string) => StoredCohort | undefined;

export const definitionOf = ({ definition }: Pick<CohortSetting, 'definition'>): CohortDefinition =>
  JSON.parse(definition) as CohortDefinition;

/** The cohorts of a site by their ids, of its settings. */
export function cohortsById(settings: readonly CohortSetting[]): FindCohort {
  const items = new Map(settings.map((item) => [item.id, item]));
  const found = new Map<string, StoredCohort>();
  return (id) => {
    const item = items.get(id);
    if (item === undefined) return undefined;
    const cohort = found.get(id) ?? { definition: definitionOf(item), list: item.list };
    found.set(id, cohort);
    return cohort;
  };
}

/** A cohort as statements are made of it. */
export type CohortRule = { siteId: string } & (
  | { list: string }
  | { match: 'all' | 'any'; parts: readonly (DidRule | Condition)[] }
);
/** @param from,to Milliseconds since 1970 UTC; the second is not part of it. */
export interface DidRule {
  did: Selection;
  is: NonNullable<Did['is']>;
  times: number;
  from: number;
  to: number;
}

/** The ids of the cohorts that a value names, each once, not those which these name. */
export function cohortsNamed(part: unknown): string[] {
  if (typeof part !== 'object' || part === null) return [];
  if ('cohort' in part && typeof part.cohort === 'string') return [part.cohort];
  return [...new Set(Object.values(part).flatMap(cohortsNamed))];
}

/** All cohorts that a value names, with those which these name; `unknown` has the first id that there is none of. */
export function allCohorts(
  part: unknown,
  find: FindCohort,
): { cohorts: Map<string, StoredCohort>; unknown: string | null } {
  const cohorts = new Map<string, StoredCohort>();
  const left = cohortsNamed(part);
  for (let id = left.pop(); id !== undefined; id = left.pop()) {
    const cohort = find(id);
    if (cohort === undefined) return { cohorts, unknown: id };
    if (!cohorts.has(id)) left.push(...cohortsNamed(cohort.definition.conditions));
    cohorts.set(id, cohort);
  }
  return { cohorts, unknown: null };
}

/** Whether a question singles people out: by itself, by conditions of its cohorts, or as these are lists of named people. */
export function singlesOut(question: unknown, cohorts: ReadonlyMap<string, StoredCohort>): boolean {
  const all = [...cohorts.values()];
  return namesPersons([question, all]) || all.some(({ list }) => list !== null);
}

/** How many conditions parts of a question are looked at by: those of cohorts, saved or not, where a list is one. */
const conditionsIn = (parts: readonly { conditions?: readonly unknown[] }[]): number =>
  parts.reduce((sum, { conditions }) => sum + (conditions?.length ?? 1), 0);

/** Conditions of cohorts that are not saved, which a question says. */
const unsavedIn = (query: unknown): { conditions: readonly unknown[] }[] =>
  typeof query !== 'object' || query === null
    ? []
    : 'conditions' in query
      ? [query as { conditions: readonly unknown[] }]
      : Object.values(query).flatMap(unsavedIn);

/** What of the cohorts that a question names, or says, is more than may be asked. */
export function cohortProblems(query: unknown, cohorts: Iterable<StoredCohort>): Problem[] {
  const definitions = [...cohorts].map(({ definition }) => definition);
  const conditions = conditionsIn([...unsavedIn(query), ...definitions]);
  return [
    ...unless(
      conditions <= COHORT_CONDITIONS_MAX,
      'too_many',
      '',
      `at most ${COHORT_CONDITIONS_MAX} conditions of cohorts are taken`,
    ),
    ...unless(
      definitions.length === 0 || joinedValues([query, definitions]).length <= JOINED_VALUES_MAX,
      'too_many',
      '',
      `at most ${JOINED_VALUES_MAX} different values of visits and persons are taken, those of its cohorts among them`,
    ),
  ];
}

/**
 * Cohorts in groups, in their order, each of which can be counted by one question.
 *
 * @param most Cohorts of a group.
 */
export function countableGroups<Item extends CohortDefinition>(items: readonly Item[], most: number): Item[][] {
  const byId = new Map(items.map((item) => [item.id, { definition: item, list: null }]));
  const groups: Item[][] = [];
  for (const item of items) {
    const group = groups.at(-1);
    const together = { of: [...(group ?? []), item].map(({ id: cohort }) => ({ cohort })) };
    const { cohorts } = allCohorts(together, (id) => byId.get(id));
    if (group !== undefined && group.length < most && cohortProblems(together, cohorts.values()).length === 0) {
      group.push(item);
    } else groups.push([item]);
  }
  return groups;
}

/** What of the conditions of a cohort no schema can say. */
export function conditionsProblems(conditions: readonly CohortCondition[]): Problem[] {
  const filters = conditions.flatMap((one) => ('did' in one ? (one.did.filters ?? []) : [one]));
  return [
    ...conditions.flatMap((one, at) => conditionProblems(one, `conditions[${at}]`)),
    ...filterProblems({ filters }),
  ];
}

/** What of a cohort no schema can say, beside others of its site. */
export function definitionProblems({ id, conditions = [] }: CohortDefinition, find: FindCohort): Problem[] {
  const { cohorts, unknown } = allCohorts(conditions, (name) => (name === id ? undefined : find(name)));
  const own = conditionsProblems(conditions);
  if (unknown === id) return [...own, problem('cohort_circular', 'conditions', 'are of the cohort itself')];
  if (unknown !== null)
    return [...own, problem('not_there', 'conditions', 'name a cohort that the site does not have')];
  return [...own, ...cohortProblems({ conditions }, cohorts.values())];
}

/** What of the other cohorts that name one is more than may be asked, as that is to be. */
export function outerProblems(cohort: StoredCohort, ids: readonly string[], find: FindCohort): Problem[] {
  const { id } = cohort.definition;
  const outer = ids.filter((other) => {
    const { cohorts } = allCohorts({ cohort: other }, find);
    return other !== id && cohorts.has(id) && cohortProblems({}, cohorts.values()).length > 0;
  });
  return outer
    .slice(0, 1)
    .map((other) =>
      problem('too_many', 'conditions', `would be too many for the cohort ${other}, which names this one`),
    );
}

/** How many cohorts lie in one another from one on; of a list 1. */
export function depthOf(id: string, find: FindCohort): number {
  const inner = cohortsNamed(find(id)?.definition.conditions);
  return 1 + Math.max(0, ...inner.map((one) => depthOf(one, find)));
}

export const depthProblems = (deepest: number): Problem[] =>
  unless(
    deepest <= DEPTH_MAX,
    'cohort_too_deep',
    'conditions',
    `more than ${DEPTH_MAX} cohorts would be in one another`,
  );

function conditionProblems(one: CohortCondition, place: string): Problem[] {
  if (!('did' in one)) {
    const isOfPerson = 'person' in one.field || 'cohort' in one.field;
    return unless(isOfPerson, 'field_malformed', `${place}.field`, 'is no value of a person and no cohort');
  }
  const { is = 'at_least', times = 1, last_days, since, until } = one;
  const isDay = (text: string): boolean => new Date(Date.parse(text)).toISOString().startsWith(text);
  return [
    ...unless(is !== 'at_least' || times > 0, 'field_malformed', `${place}.times`, 'is so of everybody'),
    ...unless(
      last_days === undefined || (since === undefined && until === undefined),
      'field_malformed',
      `${place}.last_days`,
      'is not taken beside since and until',
    ),
    ...(
      [
        ['since', since],
        ['until', until],
      ] as const
    ).flatMap(([name, text]) =>
      unless(text === undefined || isDay(text), 'field_malformed', `${place}.${name}`, 'is no day'),
    ),
    ...unless(
      since === undefined || until === undefined || since <= until,
      'field_malformed',
      `${place}.until`,
      'is before since',
    ),
  ];
}

/** What rules are made by. */
interface RuleParts {
  siteId: string;
  calendar: Calendar;
  nowMs: number;
  find: FindCohort;
}

/** A question whose cohorts, all of which there are, have their rules. They are as they are now, whatever time is asked about. */
export function withCohorts<Query>(query: Query, parts: RuleParts): Query {
  if (Array.isArray(query)) return query.map((one) => withCohorts(one, parts)) as Query;
  if (typeof query !== 'object' || query === null) return query;
  const cohort = cohortIn(query, parts.find);
  if (cohort !== null) return { ...query, rule: ruleOf(cohort, parts) };
  return Object.fromEntries(Object.entries(query).map(([name, part]) => [name, withCohorts(part, parts)])) as Query;
}

/** The cohort that a part of a question names, or whose conditions it says. */
function cohortIn(
  part: object,
  find: FindCohort,
): (Pick<StoredCohort, 'list'> & { definition: Pick<CohortDefinition, 'match' | 'conditions'> }) | null {
  if ('conditions' in part) return { definition: part as CohortDefinition, list: null };
  if (!('cohort' in part) || typeof part.cohort !== 'string') return null;
  const found = find(part.cohort);
  if (found === undefined) throw new Error('a cohort is not there');
  return found;
}

function ruleOf({ definition, list }: NonNullable<ReturnType<typeof cohortIn>>, parts: RuleParts): CohortRule {
  const { siteId } = parts;
  if (list !== null) return { siteId, list };
  const { match = 'all', conditions = [] } = definition;
  return { siteId, match, parts: conditions.map((one) => partOf(one, parts)) };
}

function partOf(one: CohortCondition, parts: RuleParts): DidRule | Condition {
  const { siteId } = parts;
  if (!('did' in one)) {
    const [named = one] = withEveryName({ filters: [one] }).filters;
    return withCohorts(withPersonsOf(named, siteId, 0), parts);
  }
  const { did, is = 'at_least', times = 1 } = one;
  const span = spanOf(one, parts);
  return { ...withCohorts(withPersonsOf(withEveryName({ did, ...span }), siteId, span.from), parts), is, times };
}

/** Whole days by the clocks of the site. */
function spanOf(
  { last_days, since, until }: Did,
  { calendar: { timeZone }, nowMs }: RuleParts,
): { from: number; to: number } {
  const startOf = (wall: number): number => dayStartMs(wall, timeZone);
  if (last_days !== undefined) {
    const today = Math.floor(wallMs(nowMs, timeZone) / DAY_MS) * DAY_MS;
    return { from: startOf(today - (last_days - 1) * DAY_MS), to: startOf(today + DAY_MS) };
  }
  return {
    from: since === undefined ? 0 : startOf(Date.parse(since)),
    to: until === undefined ? TIME_MAX : startOf(Date.parse(until) + DAY_MS),
  };
}

/** When a day begins in a zone, which is given as if the clocks showed UTC: midnight, or where clocks leave that out what they show then. */
function dayStartMs(wall: number, timeZone: string): number {
  const offsets = [wall - DAY_MS, wall + DAY_MS].map((near) => wallMs(near, timeZone) - near);
  const starts = offsets.map((offset) => wall - offset).filter((start) => wallMs(start, timeZone) >= wall);
  return Math.max(0, Math.min(...starts));
}

const EVER = { from: 0, to: TIME_MAX };

/** The time whose events a question's cohorts read; null where it has none. */
export function cohortsRead(part: unknown, isOfRule = false): { from: number; to: number } | null {
  if (typeof part !== 'object' || part === null) return null;
  const { did, from, to } = part as Partial<DidRule>;
  const own =
    isOfRule && ('list' in part || 'person' in part)
      ? EVER
      : did !== undefined && from !== undefined && to !== undefined
        ? { from, to }
        : null;
  const inner = Object.entries(part).map(([name, one]) => cohortsRead(one, isOfRule || name === 'rule'));
  return [own, ...inner].reduce(spanOfBoth, null);
}

/** The least time that has both. */
export function spanOfBoth<Span extends { from: number; to: number }>(
  one: Span | null,
  other: Span | null,
): Span | null {
  if (one === null || other === null) return one ?? other;
  return { ...one, from: Math.min(one.from, other.from), to: Math.max(one.to, other.to) };
}
