import { OUR_NAMES } from '#pipelines/query/event_names.ts';
import type {
  AddressPart,
  Column,
  Condition,
  Elements,
  Field,
  Filter,
  PersonField,
} from '#pipelines/query/filter_shapes.ts';
import type { Scope } from '#pipelines/query/scope.ts';
import type { Selection } from '#pipelines/query/shapes.ts';
import { holds, type Operand, ofText, withoutNot } from './operators.ts';
import type { Binder } from './statement.ts';

/**
 * Which row counts if an event is stored more than once: the first by time, then by arrival, then by its place in the request. As
 * one number, which ClickHouse compares in a fraction of the time that it takes for a tuple.
 */
export const FIRST_ROW =
  'bitShiftLeft(toInt128(toUnixTimestamp64Milli(timestamp)), 64) + bitShiftLeft(toUnixTimestamp64Milli(received_at), 20) + raw_index';

/** The name of an event, as queries show it. */
function eventText(binder: Binder): string {
  const names = [OUR_NAMES.keys(), OUR_NAMES.values()].map((some) => binder.bind([...some], 'Array(String)'));
  return `transform(event, ${names.join(', ')}, event)`;
}

/** Columns that need an expression to become text. */
const TEXTS: Partial<Record<Column, (binder: Binder) => string>> = {
  event: eventText,
  identify: () => "if(identify, 'true', 'false')",
  value: () => "ifNull(toString(value), '')",
};

/**
 * A field as text. A property that is a text is itself; a number, true, false, an object or an array is its JSON; null and a
 * missing property are the empty text.
 */
export function textOf(field: Field, binder: Binder): string {
  if ('column' in field) return binder.name(TEXTS[field.column]?.(binder) ?? `toString(${field.column})`);
  const { json, path } = placeOf(field.property, binder);
  const text = binder.name(path.length === 0 ? textOfJson(json) : jsonText([json, ...path]));
  return field.part === undefined ? text : binder.name(PARTS[field.part](text, binder));
}

/**
 * The text of JSON that is a property's whole; none is the empty text. What has no backslash stands there as it is: to parse it
 * would take as long as reading it.
 */
const textOfJson = (json: string): string =>
  `if(startsWith(${json}, '"'), if(position(${json}, '\\\\') = 0, substring(${json}, 2, length(${json}) - 2), JSONExtractString(${json})), if(${json} = 'null', '', ${json}))`;

/** The host of an address with a scheme, between a sign-in and a port. ClickHouse's domain() has none for names without a dot. */
const HOST = '^[a-zA-Z][a-zA-Z0-9+.-]*://(?:[^/?#@]*@)?(\\\\[[^/?#\\\\]]*\\\\]|[^/?#:]*)';

const hostOf = (address: string): string => `lowerUTF8(extract(${address}, '${HOST}'))`;

/** The host of the page that an event is of, by a name that senders give its address. */
const ownHost = (name: string, binder: Binder): string => hostOf(textOf({ property: [name] }, binder));

const PARTS: Record<AddressPart, (address: string, binder: Binder) => string> = {
  page: (address) => `cutQueryStringAndFragment(${address})`,
  host: hostOf,
  other_host(address, binder) {
    const host = binder.name(hostOf(address));
    return `if(${host} IN (${ownHost('$current_url', binder)}, ${ownHost('page_location', binder)}), '', ${host})`;
  },
};

/**
 * Where a path into the properties leads: SQL of the JSON of the property that it begins with, and of the names behind it.
 * property_texts is stored by names, so that the other properties are not read.
 */
function placeOf([name = '', ...inside]: readonly string[], binder: Binder): { json: string; path: string[] } {
  return {
    json: binder.name(`property_texts[${binder.bind(name, 'String')}]`),
    path: inside.map((part) => binder.bind(part, 'String')),
  };
}

/** The text of what JSON has at a path: SQL of the JSON, then of each part. */
function jsonText(parts: readonly string[]): string {
  const path = parts.join(', ');
  return `multiIf(JSONType(${path}) = 'String', JSONExtractString(${path}), JSONType(${path}) = 'Null', '', JSONExtractRaw(${path}))`;
}

/** A field as a number; NULL if its text is not a number. */
export const numberOf = (field: Field, binder: Binder): string => operandOf(field, binder).number;

function operandOf(field: Field, binder: Binder): Operand {
  const { text, number } = ofText(textOf(field, binder));
  return { text, number: 'column' in field && field.column === 'value' ? 'value' : binder.name(number) };
}

/** The condition of a filter, never NULL. */
export function conditionOf(filter: Filter, binder: Binder): string {
  if ('all' in filter) return allOf(filter.all.map((one) => conditionOf(one, binder)));
  if ('any' in filter) return `(${filter.any.map((one) => conditionOf(one, binder)).join(' OR ')})`;
  const { field } = filter;
  if ('person' in field) return holdsOfPerson(field, filter, binder);
  if ('each' in field) return holdsOfElements(field, filter, binder);
  return holds(operandOf(field, binder), filter, binder);
}

/** One element does, or, of a negated condition, none does. What is no array has no elements. */
function holdsOfElements({ property, each }: Elements, condition: Condition, binder: Binder): string {
  const { negated, positive } = withoutNot(condition);
  const { json, path } = placeOf(property, binder);
  const text = jsonText(['element', ...each.map((part) => binder.bind(part, 'String'))]);
  const exists = `arrayExists(element -> ${holds(ofText(text), positive, binder)}, JSONExtractArrayRaw(${[json, ...path].join(', ')}))`;
  return negated ? `NOT ${exists}` : exists;
}

/**
 * By the first or last text of all that the person's events have. Somebody who has none has the empty text: those are looked for
 * whose text decides otherwise than that. They are an array that is worked out once, however often it stands in a statement.
 *
 * Of whom the events since the time that is asked about tell the last text, no earlier event is looked at; where they tell that
 * of everybody, as of a field that all events have, none is read.
 */
function holdsOfPerson({ person, seen, among }: PersonField, condition: Condition, binder: Binder): string {
  if (among === undefined) throw new Error('nobody has said whose events tell the values of persons');
  const inside = binder.inside();
  const site = binder.bind(among.siteId, 'String');
  const hasNumber = 'column' in person && person.column === 'value';
  const said = [
    `${textOf(person, inside)} AS said`,
    ...(hasNumber ? ['value AS number'] : []),
    `${FIRST_ROW} AS place`,
  ];
  const until = among.before === null ? '' : ` AND timestamp < ${binder.time(among.before)}`;
  const select = `SELECT site_id, actor, timestamp, ${said.join(', ')} FROM event_rows WHERE site_id = ${site}${until}`;
  const rows = inside.withNames(select);
  const isSo = holds({ text: 'said', number: hasNumber ? 'number' : 'toFloat64OrNull(said)' }, condition, binder);
  const isSoOfNone = holds(ofText("''"), condition, binder);
  const pick = seen === 'first' ? 'argMin' : 'argMax';
  const others = (from: string, conditions = ''): string =>
    `SELECT actor FROM ${from} WHERE ${conditions}said != '' GROUP BY actor HAVING ${pick}(${isSo}, place) != ${isSoOfNone}`;
  let persons = others(`(${rows})`);
  if (seen === 'last' && among.since > 0) {
    const since = binder.time(among.since);
    const late = `SELECT actor, if(max(said != ''), argMaxIf(${isSo}, place, said != '') != ${isSoOfNone}, 2) AS tells
  FROM told WHERE timestamp >= ${since} GROUP BY actor HAVING tells`;
    const telling = (tells: 1 | 2): string =>
      `(SELECT arrayJoin((SELECT groupArray((actor, tells)) FROM late)) AS person) WHERE person.2 = ${tells}`;
    // By the sort key's first column too, so that no earlier row is read where nobody is left.
    const untold = `(site_id, actor) GLOBAL IN (SELECT ${site}, person.1 FROM ${telling(2)})`;
    persons = `WITH told AS (${rows}), late AS (${late})
  SELECT person.1 AS actor FROM ${telling(1)} UNION ALL ${others('told', `timestamp < ${since} AND ${untold} AND `)}`;
  }
  return `actor GLOBAL IN (SELECT arrayJoin((SELECT groupArray(actor) FROM (${binder.shared(persons)})))) != ${isSoOfNone}`;
}

/** The condition of a selection; `true` if it selects every event. */
export function selects({ events, filters = [] }: Selection, binder: Binder): string {
  const names = events === undefined ? [] : [`event IN ${binder.bind(events, 'Array(String)')}`];
  return binder.name(allOf([...names, ...filters.map((filter) => conditionOf(filter, binder))]));
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
    `timestamp >= ${binder.time(from)}`,
    `timestamp < ${binder.time(to)}`,
  ];
}
