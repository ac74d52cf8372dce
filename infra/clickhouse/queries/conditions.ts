import { OUR_NAMES } from '#pipelines/query/event_names.ts';
import type { Scope } from '#pipelines/query/scope.ts';
import type { Column, Field, Filter, Selection } from '#pipelines/query/shapes.ts';
import type { Binder } from './statement.ts';

/** Which row counts if an event is stored more than once: the first by time, then by arrival. */
export const FIRST_ROW = 'tuple(timestamp, received_at, raw_index)';

const texts = (names: Iterable<string>): string => `[${[...names].map((name) => `'${name}'`).join(', ')}]`;

/** The name of an event, as queries show it. */
const EVENT_TEXT = `transform(event, ${texts(OUR_NAMES.keys())}, ${texts(OUR_NAMES.values())}, event)`;

/** Columns that need an expression to become text. */
const TEXTS: Partial<Record<Column, string>> = {
  event: EVENT_TEXT,
  identify: "if(identify, 'true', 'false')",
  value: "ifNull(toString(value), '')",
};

/**
 * A field as text. A property that is a text is itself; a number, true, false, an object or an array is its JSON; null and a
 * missing property are the empty text.
 */
export function textOf(field: Field, binder: Binder): string {
  if ('column' in field) return TEXTS[field.column] ?? `toString(${field.column})`;
  const path = ['properties', ...field.property.map((part) => binder.bind(part, 'String'))].join(', ');
  return `multiIf(JSONType(${path}) = 'String', JSONExtractString(${path}), JSONType(${path}) = 'Null', '', JSONExtractRaw(${path}))`;
}

/** A field as a number; NULL if its text is not a number. */
export function numberOf(field: Field, binder: Binder): string {
  if ('column' in field && field.column === 'value') return 'value';
  return `toFloat64OrNull(${textOf(field, binder)})`;
}

/** The condition of a filter, never NULL. */
export function conditionOf(filter: Filter, binder: Binder): string {
  const text = textOf(filter.field, binder);
  switch (filter.is) {
    case 'set':
      return `${text} != ''`;
    case 'not_set':
      return `${text} = ''`;
    case 'equal':
      return equalsAny(filter.field, filter.to, binder);
    case 'not_equal':
      return `NOT ${equalsAny(filter.field, filter.to, binder)}`;
    case 'containing':
      return `position(${text}, ${binder.bind(filter.to, 'String')}) > 0`;
    case 'not_containing':
      return `position(${text}, ${binder.bind(filter.to, 'String')}) = 0`;
    case 'starting_with':
      return `startsWith(${text}, ${binder.bind(filter.to, 'String')})`;
    case 'ending_with':
      return `endsWith(${text}, ${binder.bind(filter.to, 'String')})`;
    case 'above':
    case 'at_least':
    case 'below':
    case 'at_most':
      return `ifNull(${numberOf(filter.field, binder)} ${COMPARISONS[filter.is]} ${binder.bind(filter.to, 'Float64')}, false)`;
  }
}

const COMPARISONS = { above: '>', at_least: '>=', below: '<', at_most: '<=' } as const;

/** Numbers are compared as numbers, so that 1 equals 1.0; texts, true and false as texts. */
function equalsAny(field: Field, values: readonly (string | number | boolean)[], binder: Binder): string {
  const numbers = values.filter((value) => typeof value === 'number');
  const texts = values.filter((value) => typeof value !== 'number').map(String);
  const parts = [
    ...(texts.length > 0 ? [`${textOf(field, binder)} IN ${binder.bind(texts, 'Array(String)')}`] : []),
    ...(numbers.length > 0
      ? [`ifNull(${numberOf(field, binder)} IN ${binder.bind(numbers, 'Array(Float64)')}, false)`]
      : []),
  ];
  return `(${parts.join(' OR ')})`;
}

/** The condition of a selection; `true` if it selects every event. */
export function selects({ events, filters = [] }: Selection, binder: Binder): string {
  const names = events === undefined ? [] : [`event IN ${binder.bind(events, 'Array(String)')}`];
  return allOf([...names, ...filters.map((filter) => conditionOf(filter, binder))]);
}

export function allOf(conditions: readonly string[]): string {
  return conditions.length === 0 ? 'true' : `(${conditions.join(' AND ')})`;
}

/** The conditions on time and the filters that hold for all events of a query. */
export function inScope(siteId: string, scope: Scope, binder: Binder): string[] {
  return [...inRange(siteId, scope, binder), ...scope.filters.map((filter) => conditionOf(filter, binder))];
}

/** The condition for events of a site in a range of time. */
export function inRange(siteId: string, { from, to }: Pick<Scope, 'from' | 'to'>, binder: Binder): string[] {
  return [
    `site_id = ${binder.bind(siteId, 'String')}`,
    `timestamp >= fromUnixTimestamp64Milli(${binder.bind(from, 'Int64')}, 'UTC')`,
    `timestamp < fromUnixTimestamp64Milli(${binder.bind(to, 'Int64')}, 'UTC')`,
  ];
}
