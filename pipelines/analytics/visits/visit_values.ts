// What is told of a visit, and by which text of its events.
import { ARRIVAL_PARTS, type ArrivalPart, type Channel } from '#pipelines/visits/arrival.ts';

/** What of its first event that says something a visit is known by. */
export const ENTRY_COLUMNS = [
  ...(['geo_country', 'geo_region', 'geo_city'] as const),
  ...(['browser', 'os', 'device_type', 'language', 'screen_class'] as const),
] as const;

export const VISIT_VALUES = [...ARRIVAL_PARTS, 'landing_page', 'exit_page', ...ENTRY_COLUMNS] as const;
export type VisitValue = (typeof VISIT_VALUES)[number];

/** Of an event what its visit tells something by: one text for each kind. */
export type VisitKind = 'arrival' | 'page' | 'entry';

export const isOfArrival = (value: VisitValue): value is ArrivalPart =>
  (ARRIVAL_PARTS as readonly string[]).includes(value);

export function kindOf(value: VisitValue): VisitKind {
  if (isOfArrival(value)) return 'arrival';
  return value === 'landing_page' || value === 'exit_page' ? 'page' : 'entry';
}

const OF_MANY: ReadonlySet<VisitValue> = new Set([
  'channel',
  'geo_country',
  'browser',
  'os',
  'device_type',
  'screen_class',
]);

/** Whether some values may be of few persons, as a page with somebody's id in its address is. */
export const hasSmallCounts = (value: VisitValue): boolean => !OF_MANY.has(value);

const DIRECT: Channel = 'Direct';

/** SQL of a part of an arrival's text, behind the sign of what told it. As one function of it, so that it is worked out once for all equal ones. */
export const partOfArrival = (value: ArrivalPart, arrival: string): string =>
  `extract(${arrival}, '^(?:[^\\n]*\\n){${ARRIVAL_PARTS.indexOf(value) + 1}}([^\\n]*)')`;

/** SQL of a value in the text of its kind. A visit of which nothing is told came directly. */
export function valueIn(value: VisitValue, text: string): string {
  if (value === 'channel') return `if(empty(${text}), '${DIRECT}', ${partOfArrival(value, text)})`;
  if (isOfArrival(value)) return partOfArrival(value, text);
  if (value === 'landing_page' || value === 'exit_page') return text;
  return `splitByChar('\\n', ${text})[${ENTRY_COLUMNS.indexOf(value) + 1}]`;
}
