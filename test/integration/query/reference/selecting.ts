import {
  type Field,
  type Filter,
  isOnCohort,
  type PersonField,
  type ValueCondition,
  type VisitField,
} from '#pipelines/analytics/filters.ts';
import { queriedSince, withPersonsOf } from '#pipelines/analytics/query_rewrites.ts';
import type { Selection } from '#pipelines/analytics/question.ts';
import { NOW_MS } from '#test/unit/control/harness.ts';
import { dayOf } from './calendar.ts';
import { COHORTS, isListed } from './cohorts.ts';
import { type Deed, inOrder, type Ledger } from './reference_ledger.ts';
import { ownVisitText, type Visit, visitsByHand, visitText } from './visit_cuts.ts';

const DAY_MS = 86_400_000;

const COLUMNS: Record<string, (deed: Deed) => string> = {
  event: ({ name }) => name,
  action_source: ({ source }) => source,
  country: ({ country }) => country,
  geo_country: ({ entry }) => entry.geo_country,
  geo_region: ({ entry }) => entry.geo_region,
  geo_city: ({ entry }) => entry.geo_city,
  browser: ({ entry }) => entry.browser,
  device_type: ({ entry }) => entry.device_type,
  value: ({ value }) => (value === null ? '' : String(value)),
};
const PROPERTIES: Record<string, (deed: Deed) => string> = {
  'utm.campaign': ({ campaign }) => campaign ?? '',
  plan: ({ plan }) => plan,
  size: ({ size }) => String(size),
  margin: ({ margin }) => (margin === null ? '' : String(margin)),
  paid: ({ plan }) => String(plan === 'paid'),
  street: ({ street }) => street,
  since: ({ since }) => since,
  missing: () => '',
  $current_url: ({ page, index }) => (index % 3 === 2 ? '' : page),
};
const ELEMENTS: Record<string, (deed: Deed) => string[]> = {
  'tags.': ({ tags }) => tags.map(String),
  'items.sku': ({ items }) => items.map(({ sku }) => sku),
  'items.cost.net': ({ items }) => items.map(({ cost }) => String(cost.net)),
  'plan.': () => [],
};

/** A field of an event as text; empty where it has none. */
export function textOf(field: Field, deed: Deed): string {
  if ('visit' in field) return textOfVisit(field, deed);
  if ('person' in field) return textOfPerson(field, deed);
  if ('cohort' in field) return isInCohort(field.cohort, deed) ? 'in' : 'not_in';
  const read = 'column' in field ? COLUMNS[field.column] : PROPERTIES[field.property.join('.')];
  if (read === undefined) throw new Error('the reference does not know this field');
  return read(deed);
}

/** Visits of a person's events, by what they are made of: browsers are of one person. */
const known = new WeakMap<readonly Deed[], Map<string, Map<Deed, Visit>>>();

function textOfVisit({ visit, among }: VisitField, deed: Deed): string {
  if (deed.visit === null || among === undefined) return '';
  const ofLife = known.get(deed.life) ?? new Map<string, Map<Deed, Visit>>();
  known.set(deed.life, ofLife);
  const key = `${among.since} ${among.before}`;
  const visits =
    ofLife.get(key) ??
    new Map(
      visitsByHand(deed.life, { from: among.since, to: among.before }).flatMap((one) =>
        one.deeds.map((each) => [each, one] as const),
      ),
    );
  ofLife.set(key, visits);
  const found = visits.get(deed);
  return found === undefined ? '' : visitText(visit, found);
}

/** The first or last text of all events of the person before the question's end. */
function textOfPerson({ person, seen, among }: PersonField, deed: Deed): string {
  const before = among?.before ?? Number.POSITIVE_INFINITY;
  const texts = inOrder(deed.life.filter(({ at }) => at < before)).map((one) =>
    'visit' in person ? ownVisitText(person.visit, one) : textOf(person, one),
  );
  const found = texts.filter((text) => text !== '');
  return (seen === 'first' ? found[0] : found.at(-1)) ?? '';
}

/** Who is in which cohort, by their events: each is asked about for each of these. */
const answered = new WeakMap<readonly Deed[], Map<string, boolean>>();

/** By all that the person did, whatever time is asked about. */
export function isInCohort(id: string, one: Pick<Deed, 'person' | 'life'>): boolean {
  const known = answered.get(one.life) ?? new Map<string, boolean>();
  answered.set(one.life, known);
  const isIn = known.get(id) ?? judged(id, one);
  known.set(id, isIn);
  return isIn;
}

function judged(id: string, { person, life }: Pick<Deed, 'person' | 'life'>): boolean {
  const { conditions, match = 'all' } = COHORTS.find((one) => one.id === id) ?? {};
  if (conditions === undefined) return isListed(person);
  const [any] = life;
  const isSo = conditions.map((one) => {
    if (!('did' in one)) return any !== undefined && passes(one, any);
    const { did, is = 'at_least', times = 1, last_days: days } = one;
    const { since = '1970-01-01', until = '2099-12-31' } = days === undefined ? one : lastDays(days);
    const { length } = life
      .filter(({ at }) => day(at) >= since && day(at) <= until)
      .filter((deed) => isSelected(did, deed));
    return is === 'exactly' ? length === times : is === 'at_most' ? length <= times : length >= times;
  });
  return match === 'all' ? !isSo.includes(false) : isSo.includes(true);
}

const day = (at: number): string => new Date(at).toISOString().slice(0, 10);
const lastDays = (days: number) => ({ since: day(NOW_MS - (days - 1) * DAY_MS), until: day(NOW_MS) });

function passes(filter: Filter, deed: Deed): boolean {
  if ('all' in filter) return filter.all.every((one) => passes(one, deed));
  if ('any' in filter) return filter.any.some((one) => passes(one, deed));
  if (isOnCohort(filter)) return textOf(filter.field, deed) === filter.is;
  if (filter.is.startsWith('not_')) {
    return !passes(withoutNot(filter), deed);
  }
  return textsOf(filter.field, deed).some((text) => compares(filter, text));
}

const withoutNot = (condition: ValueCondition): ValueCondition =>
  ({ ...condition, is: condition.is.slice('not_'.length) }) as ValueCondition;

/** The texts of which one has to do. */
function textsOf(field: ValueCondition['field'], deed: Deed): string[] {
  if (!('each' in field)) return [textOf(field, deed)];
  const read = ELEMENTS[`${field.property.join('.')}.${field.each.join('.')}`];
  if (read === undefined) throw new Error('the reference does not know these elements');
  return read(deed);
}

function compares(condition: ValueCondition, text: string): boolean {
  const number = text === '' ? Number.NaN : Number(text);
  switch (condition.is) {
    case 'set':
      return text !== '';
    case 'equal':
      return condition.to.some((value) => (typeof value === 'number' ? value === number : String(value) === text));
    case 'containing':
      return cased(condition, text).includes(cased(condition, condition.to));
    case 'starting_with':
      return cased(condition, text).startsWith(cased(condition, condition.to));
    case 'ending_with':
      return cased(condition, text).endsWith(cased(condition, condition.to));
    case 'matching':
      return new RegExp(condition.to, 'su').test(text);
    case 'above':
      return number > condition.to;
    case 'at_least':
      return number >= condition.to;
    case 'below':
      return number < condition.to;
    case 'at_most':
      return number <= condition.to;
    case 'before':
      return dayOf(text) < dayOf(condition.to);
    case 'at_or_before':
      return dayOf(text) <= dayOf(condition.to);
    case 'after':
      return dayOf(text) > dayOf(condition.to);
    case 'at_or_after':
      return dayOf(text) >= dayOf(condition.to);
    case 'not_set':
    case 'not_equal':
    case 'not_containing':
    case 'not_matching':
      return !compares(withoutNot(condition), text);
  }
}

function cased({ ignore_case }: { ignore_case?: boolean }, text: string): string {
  return ignore_case === true ? text.toUpperCase() : text;
}

export function passesAll(filters: readonly Filter[] | undefined, deed: Deed): boolean {
  return (filters ?? []).every((filter) => passes(filter, deed));
}

/** Whether an event is one of a selection. */
export function isSelected({ events, filters }: Selection, deed: Deed): boolean {
  return (events === undefined || events.includes(deed.name)) && passesAll(filters, deed);
}

interface Scope {
  from: number;
  to: number;
  filters?: Filter[];
}

/** The events of a query's time that pass its filters. */
export function scoped(ledger: Ledger, { from, to, filters }: Scope): Deed[] {
  return ledger.filter((deed) => deed.at >= from && deed.at < to && passesAll(filters, deed));
}

/** A question in which each value of a person or visit says of which events it is: those until the question's end. */
export function untilItsEnd<Query extends { to: number }>(query: Query): Query {
  return withPersonsOf(query, 'shop', queriedSince(query));
}
