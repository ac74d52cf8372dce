import type { Condition, Field, Filter } from '#pipelines/analytics/filters.ts';
import type { Selection } from '#pipelines/analytics/question.ts';
import { dayOf } from './calendar.ts';
import { type Deed, inOrder, type Ledger } from './reference_ledger.ts';
import { deviceOf } from './worlds.ts';

const COLUMNS: Record<string, (deed: Deed) => string> = {
  event: ({ name }) => name,
  action_source: ({ source }) => source,
  country: ({ country }) => country,
  geo_country: ({ country }) => country,
  device_type: deviceOf,
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
};
const ELEMENTS: Record<string, (deed: Deed) => string[]> = {
  'tags.': ({ tags }) => tags.map(String),
  'items.sku': ({ items }) => items.map(({ sku }) => sku),
  'items.cost.net': ({ items }) => items.map(({ cost }) => String(cost.net)),
  'plan.': () => [],
};

/** A field of an event as text; empty where it has none. */
export function textOf(field: Field, deed: Deed): string {
  const read = 'column' in field ? COLUMNS[field.column] : PROPERTIES[field.property.join('.')];
  if (read === undefined) throw new Error('the reference does not know this field');
  return read(deed);
}

function passes(filter: Filter, deed: Deed): boolean {
  if ('all' in filter) return filter.all.every((one) => passes(one, deed));
  if ('any' in filter) return filter.any.some((one) => passes(one, deed));
  if (filter.is.startsWith('not_')) {
    return !passes(withoutNot(filter), deed);
  }
  return textsOf(filter.field, deed).some((text) => compares(filter, text));
}

const withoutNot = (condition: Condition): Condition =>
  ({ ...condition, is: condition.is.slice('not_'.length) }) as Condition;

/** The texts of which one has to do. */
function textsOf(field: Condition['field'], deed: Deed): string[] {
  if ('person' in field) {
    const before = field.among?.before ?? Number.POSITIVE_INFINITY;
    const texts = inOrder(deed.life.filter(({ at }) => at < before)).map((one) => textOf(field.person, one));
    const known = texts.filter((text) => text !== '');
    return [(field.seen === 'first' ? known[0] : known.at(-1)) ?? ''];
  }
  if (!('each' in field)) return [textOf(field, deed)];
  const read = ELEMENTS[`${field.property.join('.')}.${field.each.join('.')}`];
  if (read === undefined) throw new Error('the reference does not know these elements');
  return read(deed);
}

function compares(condition: Condition, text: string): boolean {
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

/** A question in which each condition on a person says until when the person's events tell its values: the question's end. */
export function untilItsEnd<Query extends { to: number }>(query: Query): Query {
  return JSON.parse(JSON.stringify(query), (key, value) =>
    key === 'field' && 'person' in value ? { ...value, among: { siteId: 'shop', before: query.to } } : value,
  ) as Query;
}
