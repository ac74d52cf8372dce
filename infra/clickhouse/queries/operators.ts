import { DATE_PATTERN, dateMs } from '#pipelines/query/dates.ts';
import type { Condition } from '#pipelines/query/filter_shapes.ts';
import type { Binder } from './statement.ts';

/** What a condition compares: SQL of a text, never NULL, and of the number that it is; NULL if it is none. */
export interface Operand {
  text: string;
  number: string;
}

/** An operand that is a number where its text reads as one. */
export const ofText = (text: string): Operand => ({ text, number: `toFloat64OrNull(${text})` });

/** Pairs of operators of which the one holds where the other does not. */
const NEGATED = {
  not_equal: 'equal',
  not_containing: 'containing',
  not_matching: 'matching',
  not_set: 'set',
} as const satisfies Partial<Record<Condition['is'], Condition['is']>>;

/** The condition without its negation, and whether it was negated. */
export function withoutNot(condition: Condition): { negated: boolean; positive: Condition } {
  if (!(condition.is in NEGATED)) return { negated: false, positive: condition };
  return { negated: true, positive: { ...condition, is: NEGATED[condition.is as keyof typeof NEGATED] } as Condition };
}

/** The SQL of a condition on an operand, never NULL. */
export function holds(operand: Operand, condition: Condition, binder: Binder): string {
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

type PartCondition = Extract<Condition, { ignore_case?: boolean }>;

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
