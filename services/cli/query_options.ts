import { COLUMNS, type Field, type Filter } from '#pipelines/analytics/filters.ts';
import type { Selection } from '#pipelines/analytics/question.ts';
import { type Arguments, type OptionSpec, readLength, UsageError } from './command.ts';

const DAY_MS = 86_400_000;
const SINCE = '30d';

/** Of queries that cut a time into intervals. */
export const ZONE_OPTION: OptionSpec = {
  kind: 'text',
  value: 'ZONE',
  help: 'Time zone in which intervals begin, such as Europe/Berlin (UTC)',
};

/** Of queries about several events beside each other. */
export const SERIES_OPTION: OptionSpec = {
  kind: 'texts',
  value: 'EVENT',
  help: 'EVENT[,EVENT][?FIELD=VALUE&...], * for any (1 to 10 of them)',
};

/** What SERIES_OPTION names. @throws UsageError */
export function readEventNames(args: Arguments): string[] {
  const names = args.texts('event');
  if (names.length === 0) throw new UsageError('flag_missing', '--event is missing: * stands for any');
  return names;
}

/** Options of every query about a time. */
export const RANGE_OPTIONS: Record<string, OptionSpec> = {
  since: { kind: 'text', value: 'WHEN', help: 'A date, or 30d, 12h before the end (30d)' },
  until: { kind: 'text', value: 'DATE', help: 'The end, which is not part of it (the end of today, UTC)' },
  where: {
    kind: 'texts',
    value: 'CONDITION',
    help: 'FIELD=A|B, !=, >=, <, ~ (contains), ^=, $=, or FIELD (repeatable)',
  },
  filter: {
    kind: 'texts',
    value: 'JSON',
    help: 'A filter as the API takes it: groups, patterns, dates, arrays, persons (repeatable)',
  },
  fresh: { kind: 'flag', help: 'Take no kept answer' },
};

/** What the options of RANGE_OPTIONS ask for. @throws UsageError */
export function readRange(args: Arguments, nowMs: number) {
  return { ...readTimes(args, nowMs), filters: readFilters(args), fresh: args.flag('fresh') ? true : undefined };
}

/** The same with ZONE_OPTION and `--interval`, which is `usual` unless it is given. @throws UsageError */
export function readIntervals(args: Arguments, nowMs: number, usual: 'day' | 'week') {
  return { ...readRange(args, nowMs), interval: args.text('interval') ?? usual, time_zone: args.text('zone') };
}

/** The conditions of `--where` and `--filter`; undefined where there are none. @throws UsageError */
export function readFilters(args: Arguments): Filter[] | undefined {
  return optional([
    ...args.texts('where').map((text) => readFilter(text, 'where')),
    ...args.texts('filter').map((text) => readJson(text, 'filter') as Filter),
  ]);
}

/** An option as the API takes it; the service checks what JSON it is. @throws UsageError */
export function readJson(text: string, option: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new UsageError('condition_malformed', `--${option} takes JSON`);
  }
}

/** A list that is not empty. */
export function optional<Item>(items: Item[]): Item[] | undefined {
  return items.length === 0 ? undefined : items;
}

/** Whole days, so that the same words on one day are the same question, and today with them. */
function readTimes(args: Arguments, nowMs: number): { from: number; to: number } {
  const until = args.text('until');
  const to = until === undefined ? nowMs - (nowMs % DAY_MS) + DAY_MS : readDay(until, 'until', DAY_FORMS);
  const since = args.text('since') ?? SINCE;
  const length = readLength(since);
  return { from: length === null ? readDay(since, 'since', SINCE_FORMS) : to - length, to };
}

const DAY_FORMS = 'a date (2027-01-31) or a time in UTC (2027-01-31T08:00Z)';
const SINCE_FORMS = `${DAY_FORMS}, or how long before the end (30d, 12h, 30m)`;

function readDay(text: string, option: string, forms: string): number {
  const at = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d)?Z)?$/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(at)) throw new UsageError('time_malformed', `--${option} ${text} is none of: ${forms}`);
  return at;
}

/** `add_to_cart`, `purchase,order`, `*`, `purchase?country=DE&cart.size>=2`: names, then conditions. */
export function readSelection(text: string, option: string): Selection {
  const at = text.indexOf('?');
  const names = (at < 0 ? text : text.slice(0, at)).split(',').map((name) => name.trim());
  if (names.some((name) => name === '')) throw new UsageError('step_malformed', `--${option} ${text} names no event`);
  const events = names.includes('*') ? {} : { events: names };
  if (at < 0) return events;
  const filters = text
    .slice(at + 1)
    .split('&')
    .map((condition) => readFilter(condition, option));
  return { ...events, filters };
}

const NUMBERS = { '>': 'above', '>=': 'at_least', '<': 'below', '<=': 'at_most' } as const;
const TEXTS = { '~': 'containing', '!~': 'not_containing', '^=': 'starting_with', '$=': 'ending_with' } as const;

/** `country=DE|AT`, `plan!=free`, `value>=20`, `url~pricing`, `url^=https`, or a field alone, which must be set. */
function readFilter(text: string, option: string): Filter {
  const [, name = '', sign = '', value = ''] = /^([^=!<>~^$]+)(!=|>=|<=|!~|\^=|\$=|=|>|<|~)?(.*)$/s.exec(text) ?? [];
  if (name === '') throw new UsageError('condition_malformed', `--${option} has a condition without a field`);
  const field = readField(name);
  if (sign === '') return { field, is: 'set' };
  if (sign === '=' || sign === '!=') {
    return { field, is: sign === '=' ? 'equal' : 'not_equal', to: value.split('|') };
  }
  if (sign in TEXTS) return { field, is: TEXTS[sign as keyof typeof TEXTS], to: value };
  const number = Number(value);
  if (value.trim() === '' || Number.isNaN(number)) {
    throw new UsageError('condition_malformed', `--${option}: ${name}${sign} takes a number`);
  }
  return { field, is: NUMBERS[sign as keyof typeof NUMBERS], to: number };
}

/** A column by its name; anything else is a path into the properties, also where `properties.` stands before it. */
export function readField(text: string): Field {
  const column = COLUMNS.find((name) => name === text);
  return column === undefined ? { property: text.replace(/^properties\./, '').split('.') } : { column };
}
