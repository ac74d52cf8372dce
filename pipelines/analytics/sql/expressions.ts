// SQL of what is computed over a row: fields, conditions and filters; then amounts as whole millionths.
import { isInCohort } from '../cohorts/sql.ts';
import { OUR_NAMES } from '../event_names.ts';
import {
  type AddressPart,
  type CohortField,
  type Column,
  DATE_PATTERN,
  dateMs,
  type Elements,
  type Field,
  type Filter,
  isOnCohort,
  type PersonField,
  type ValueCondition,
  type VisitField,
} from '../filters.ts';
import { pageOf } from '../pages/page_sql.ts';
import { hasSmallCountValues } from '../personal_fields.ts';
import type { Scope, Selection } from '../question.ts';
import { ownVisitText, VISIT_MARGIN_MS, visitValuesSql } from '../visits/visits_sql.ts';
import { digestOfText, FIRST_ROW, querySpan, type TimeSpan } from './event_rows.ts';
import { type Binder, JOINS, jsonText, placeOf, textOfProperty } from './statement.ts';

/** The name of an event, as queries show it. */
function eventText(binder: Binder): string {
  const names = [OUR_NAMES.keys(), OUR_NAMES.values()].map((some) => binder.bind([...some], 'Array(String)'));
  return `transform(event, ${names.join(', ')}, event)`;
}

/** Columns that need an expression to become text. */
const TEXTS: Partial<Record<Column, (binder: Binder) => string>> = {
  event: eventText,
  event_id: () => 'sent_id',
  identify: () => "if(identify, 'true', 'false')",
  limited_data_use: () => "if(limited_data_use, 'true', 'false')",
  historical: () => "if(historical, 'true', 'false')",
  value: () => "ifNull(toString(value), '')",
};

/**
 * A field as text. A property that is a text is itself; a number, true, false, an object or an array is its JSON; null and a
 * missing property are the empty text.
 */
export function textOf(field: Field, binder: Binder): string {
  if ('visit' in field) return textOfVisit(field, binder);
  if ('person' in field) return textOfPerson(field, binder);
  if ('cohort' in field) return `if(${holdsOfCohort(field, binder)}, 'in', 'not_in')`;
  if ('column' in field) return binder.name(TEXTS[field.column]?.(binder) ?? `toString(${field.column})`);
  const text = textOfProperty(field.property, binder);
  if (field.part === undefined) return text;
  return binder.name(field.part === 'page' ? pageOf(text, field.pages, binder) : PARTS[field.part](text, binder));
}

/** The host of an address with a scheme, between a sign-in and a port. ClickHouse's domain() has none for names without a dot. */
const HOST = '^[a-zA-Z][a-zA-Z0-9+.-]*://(?:[^/?#@]*@)?(\\\\[[^/?#\\\\]]*\\\\]|[^/?#:]*)';

const hostOf = (address: string): string => `lowerUTF8(extract(${address}, '${HOST}'))`;

const PARTS: Record<Exclude<AddressPart, 'page'>, (address: string, binder: Binder) => string> = {
  host: hostOf,
  other_host(address, binder) {
    const host = binder.name(hostOf(address));
    return `if(${host} IN (${ownHost('$current_url', binder)}, ${ownHost('page_location', binder)}), '', ${host})`;
  },
};

/** The host of the page that an event is of, by a name that senders give its address. */
const ownHost = (name: string, binder: Binder): string => hostOf(textOf({ property: [name] }, binder));

/** Of the visit that an event is of; empty where it is of none. */
function textOfVisit({ visit, pages, among }: VisitField, binder: Binder): string {
  if (among === undefined) throw new Error('nobody has said which events visits are made of');
  const { siteId, since, before } = among;
  const span = querySpan({ from: since - VISIT_MARGIN_MS, to: before + VISIT_MARGIN_MS }, binder);
  const name = binder.joined(
    'GLOBAL ASOF LEFT JOIN',
    visitValuesSql(siteId, span, { visit, pages }, binder.inside()),
    ['visit_of', 'visit_start', 'visit_value'],
    (visits) => `event_rows.visit_key = ${visits}.visit_of AND event_rows.timestamp >= ${visits}.visit_start`,
  );
  return `toString(${name}.visit_value)`;
}

/** What an event itself has of a field: of a visit's value what it says of that. */
const ownTextOf = (field: PersonField['person'], binder: Binder): string =>
  'visit' in field ? binder.name(ownVisitText(field, binder)) : textOf(field, binder);

/** The first or last text of all that the events of an event's person have; empty where none has any. */
function textOfPerson({ person, seen, among }: PersonField, binder: Binder): string {
  if (among === undefined) throw new Error('nobody has said whose events tell the values of persons');
  const inside = binder.inside();
  const until = among.before === null ? '' : ` AND timestamp < ${binder.time(among.before)}`;
  const said = `SELECT actor AS person_of, ${ownTextOf(person, inside)} AS said, ${FIRST_ROW} AS place FROM event_rows
  WHERE site_id = ${binder.bind(among.siteId, 'String')}${until} AND said != ''`;
  const values = `SELECT person_of, ${seen === 'first' ? 'argMin' : 'argMax'}(said, place) AS person_value FROM (${inside.withNames(said)}) GROUP BY person_of`;
  const name = binder.joined(
    'GLOBAL ANY LEFT JOIN',
    values,
    ['person_of', 'person_value'],
    (persons) => `event_rows.actor = ${persons}.person_of`,
  );
  return `${name}.person_value`;
}

/** An operand that is a number where its text reads as one. */
const ofText = (text: string): Operand => ({ text, number: `toFloat64OrNull(${text})` });

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
  if (isOnCohort(filter)) {
    return `${filter.is === 'in' ? '' : 'NOT '}${holdsOfCohort(filter.field, binder)}`;
  }
  const { field } = filter;
  if ('person' in field) return holdsOfPerson(field, filter, binder);
  if ('each' in field) return holdsOfElements(field, filter, binder);
  return holds(operandOf(field, binder), filter, binder);
}

/** Whether the person of an event is in a cohort. */
function holdsOfCohort({ rule }: CohortField, binder: Binder): string {
  if (rule === undefined) throw new Error('nobody has said who is in the cohort');
  return isInCohort(rule, binder, { selects, conditionOf });
}

/** One element does, or, of a negated condition, none does. What is no array has no elements. */
function holdsOfElements({ property, each }: Elements, condition: ValueCondition, binder: Binder): string {
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
function holdsOfPerson({ person, seen, among }: PersonField, condition: ValueCondition, binder: Binder): string {
  if (among === undefined) throw new Error('nobody has said whose events tell the values of persons');
  const inside = binder.inside();
  const site = binder.bind(among.siteId, 'String');
  const hasNumber = 'column' in person && person.column === 'value';
  const said = inside.name(ownTextOf(person, inside));
  const until = among.before === null ? '' : ` AND timestamp < ${binder.time(among.before)}`;
  const ofSite = `event_rows WHERE site_id = ${site}${until}`;
  const isSoOfNone = holds(ofText("''"), condition, binder);
  const isSo = (text: string): string =>
    holds({ text, number: hasNumber ? 'value' : `toFloat64OrNull(${text})` }, condition, binder);
  const pick = seen === 'first' ? 'argMin' : 'argMax';
  const found = (rows: string, text: string, place: string): string =>
    `SELECT actor FROM ${rows} AND ${text} != '' GROUP BY actor HAVING ${pick}(${isSo(text)}, ${place}) != ${isSoOfNone}`;
  const fromAll = (): string => `SELECT groupArray(actor) FROM (${inside.withNames(found(ofSite, said, FIRST_ROW))})`;
  const fromLateFirst = (): string => {
    const value = hasNumber ? ', value' : '';
    const rows = `(${binder.shared(inside.withNames(`SELECT site_id, actor, timestamp, ${said} AS said${value}, ${FIRST_ROW} AS place FROM ${ofSite}`))})`;
    const since = binder.time(among.since);
    const late = binder.scalar(`SELECT groupArrayIf(actor, tells = 1), groupArrayIf(actor, tells = 2) FROM (
  SELECT actor, if(max(said != ''), argMaxIf(${isSo('said')}, place, said != '') != ${isSoOfNone}, 2) AS tells FROM ${rows} WHERE timestamp >= ${since} GROUP BY actor)`);
    // By the sort key's first column too, so that no earlier row is read where nobody is left.
    const untold = `(site_id, actor) GLOBAL IN (SELECT ${site}, arrayJoin(${late}.2))`;
    const early = found(`${rows} WHERE timestamp < ${since} AND ${untold}`, 'said', 'place');
    return `SELECT arrayConcat(${late}.1, groupArray(actor)) FROM (${early})`;
  };
  const persons = seen === 'last' && among.since > 0 ? fromLateFirst() : fromAll();
  return `actor GLOBAL IN (SELECT arrayJoin(${binder.scalar(persons)})) != ${isSoOfNone}`;
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

/** What a condition compares: SQL of a text, never NULL, and of the number that it is; NULL if it is none. */
interface Operand {
  text: string;
  number: string;
}

/** Pairs of operators of which the one holds where the other does not. */
const NEGATED = {
  not_equal: 'equal',
  not_containing: 'containing',
  not_matching: 'matching',
  not_set: 'set',
} as const satisfies Partial<Record<ValueCondition['is'], ValueCondition['is']>>;

/** The condition without its negation, and whether it was negated. */
function withoutNot(condition: ValueCondition): { negated: boolean; positive: ValueCondition } {
  if (!(condition.is in NEGATED)) return { negated: false, positive: condition };
  return {
    negated: true,
    positive: { ...condition, is: NEGATED[condition.is as keyof typeof NEGATED] } as ValueCondition,
  };
}

/** The SQL of a condition on an operand, never NULL. */
function holds(operand: Operand, condition: ValueCondition, binder: Binder): string {
  switch (condition.is) {
    case 'not_equal':
    case 'not_containing':
    case 'not_matching':
    case 'not_set':
      return `NOT ${holds(operand, withoutNot(condition).positive, binder)}`;
    case 'equal':
      return equalsAny(operand, condition.to, binder);
    case 'containing':
    case 'starting_with':
    case 'ending_with':
      return hasPart(operand.text, condition, binder);
    case 'matching':
      return matches(operand.text, condition.to, binder);
    case 'above':
    case 'at_least':
    case 'below':
    case 'at_most':
      return `ifNull(${operand.number} ${COMPARISONS[condition.is]} ${binder.bind(condition.to, 'Float64')}, false)`;
    case 'before':
    case 'at_or_before':
    case 'after':
    case 'at_or_after':
      return `ifNull(${dateOf(operand.text, binder)} ${COMPARISONS[condition.is]} ${dateAt(condition.to, binder)}, false)`;
    case 'set':
      return `(${operand.text} != '')`;
  }
}

const COMPARISONS = {
  ...{ above: '>', at_least: '>=', below: '<', at_most: '<=' },
  ...{ after: '>', at_or_after: '>=', before: '<', at_or_before: '<=' },
} as const;

/** Numbers are compared as numbers, so that 1 equals 1.0; texts, true and false as texts. */
function equalsAny({ text, number }: Operand, values: readonly (string | number | boolean)[], binder: Binder): string {
  const numbers = values.filter((value) => typeof value === 'number');
  const texts = values.filter((value) => typeof value !== 'number').map(String);
  const parts = [
    ...(texts.length > 0 ? [`${text} IN ${binder.bind(texts, 'Array(String)')}`] : []),
    ...(numbers.length > 0 ? [`ifNull(${number} IN ${binder.bind(numbers, 'Array(Float64)')}, false)`] : []),
  ];
  return `(${parts.join(' OR ')})`;
}

type PartCondition = Extract<ValueCondition, { ignore_case?: boolean }>;

/** In capitals ß is SS, and the sigma inside of a word is that at its end; in small letters neither would be found. */
function hasPart(text: string, { is, to, ignore_case: ignoreCase }: PartCondition, binder: Binder): string {
  const part = binder.bind(to, 'String');
  const [whole, wanted] = ignoreCase === true ? [`upperUTF8(${text})`, `upperUTF8(${part})`] : [text, part];
  if (is === 'starting_with') return `startsWith(${whole}, ${wanted})`;
  if (is === 'ending_with') return `endsWith(${whole}, ${wanted})`;
  return `(position(${whole}, ${wanted}) > 0)`;
}

/**
 * ClickHouse searches for what looks like a plain text without RE2, a lone `)` for one, and compiles nothing where no row is
 * read. An empty group before the pattern has RE2 judge it, once, while the statement is analysed.
 */
function matches(text: string, pattern: string, binder: Binder): string {
  const bound = binder.bind(pattern, 'String');
  return `(match(${text}, ${bound}) AND match('', concat('(?:)', ${bound})) >= 0)`;
}

/** ClickHouse's own reader takes much for a date that is none, such as 25:00. */
function dateOf(text: string, binder: Binder): string {
  return `if(match(${text}, ${binder.bind(DATE_PATTERN, 'String')}), parseDateTime64BestEffortOrNull(${text}, 3, 'UTC'), NULL)`;
}

const dateAt = (text: string, binder: Binder): string =>
  `fromUnixTimestamp64Milli(${binder.bind(dateMs(text), 'Int64')}, 'UTC')`;

/**
 * `digest` and `text` of all different texts that a field has in a time.
 *
 * @param few Of a field that can have values of few persons, those that fewer have among the events that pass are left out.
 */
export function textsSql(
  siteId: string,
  { from, to }: TimeSpan,
  field: Field,
  binder: Binder,
  few: { minPersons: number; filters: readonly Filter[] } = { minPersons: 1, filters: [] },
): string {
  const isCut = few.minPersons > 1 && hasSmallCountValues(field);
  const passes = allOf(few.filters.map((filter) => conditionOf(filter, binder)));
  const counted = isCut ? `, actor, ${passes} AS passing` : '';
  const found = binder.withNames(`SELECT ${textOf(field, binder)} AS found${counted} FROM event_rows${JOINS}
  WHERE site_id = ${binder.bind(siteId, 'String')} AND timestamp >= ${from} AND timestamp < ${to}`);
  return `SELECT ${digestOfText('found')} AS digest, any(found) AS text
FROM (${found}) GROUP BY digest${isCut ? ` HAVING uniqExactIf(actor, passing) >= ${few.minPersons} OR digest = 0` : ''}`;
}

/**
 * The place of a digest among some, counted from 1; 0 where it is none of them. These are written once, as ClickHouse analyses a
 * SELECT anew wherever it is named.
 *
 * @param some A SELECT of digests in an order.
 * @param most How many they are at the most.
 */
export const slotOf = (digest: string, some: string, most: number): string =>
  `transform(${digest}, arrayResize((SELECT groupArray(*) FROM (${some})), ${most + 1}), arrayPushBack(range(1, ${most + 1}), 0), 0)`;

/** Amounts below this, and sums of many, fit into 256 bits as millionths. */
export const AMOUNT_MAX = 1e65;

/**
 * An amount in whole millionths; 0 if it is not a number, or has more than 65 digits. In one SELECT it is written for one amount
 * only, as it names its parts.
 */
export function unitsOf(amount: string): string {
  const given = `(if(ifNull(abs(${amount}) < ${AMOUNT_MAX}, false), ifNull(${amount}, 0), 0) AS exact_given)`;
  return `(${wholeOf(`(trunc(${given}) AS exact_whole)`)} * ${AMOUNT_UNITS} + toInt64(round((exact_given - exact_whole) * ${AMOUNT_UNITS})))`;
}

/** From here on every number is whole, and ClickHouse's own conversion to 256 bits is wrong: 1e21 becomes 10 more. */
const SHIFTED_FROM = 2 ** 53;
const MANTISSA_BITS = 52;
/** The exponent of a number that equals its mantissa read as a whole number. */
const EXPONENT = 1023 + MANTISSA_BITS;

/** A whole number in 64-bit floating point, which it names, as an integer of 256 bits. */
function wholeOf(named: string): string {
  const bits = '(reinterpretAsUInt64(abs(exact_whole)) AS exact_bits)';
  const mantissa = `toInt256(bitOr(bitAnd(${bits}, ${2 ** MANTISSA_BITS - 1}), ${2 ** MANTISSA_BITS}))`;
  const places = `greatest(toInt32(bitShiftRight(exact_bits, ${MANTISSA_BITS})), ${EXPONENT}) - ${EXPONENT}`;
  const great = `bitShiftLeft(${mantissa}, ${places}) * if(exact_whole < 0, -1, 1)`;
  const isSmall = `(abs(${named}) < ${SHIFTED_FROM} AS exact_small)`;
  return `if(${isSmall}, toInt256(toInt64(if(exact_small, exact_whole, 0))), ${great})`;
}

/** Amounts are added as whole millionths, so that the sum does not depend on the order. */
export const AMOUNT_UNITS = 1_000_000;
