import type { Listing } from '#pipelines/analytics/event_lists.ts';
import type { Column, Condition, Field, OwnField } from '#pipelines/analytics/filters.ts';
import type { VisitValue } from '#pipelines/visits/arrival.ts';

/** What a condition is about: a column, a property, elements of an array, or a value of the person. */
export type FilteredField = Condition['field'];

/** A condition that somebody is about to write; it is asked once it is finished. */
export interface ConditionDraft {
  field: FilteredField;
  is: Condition['is'];
  to?: string | number | (string | number | boolean)[];
  ignore_case?: boolean;
}

/** A condition or a group of them. Groups come with saved questions; here they are shown and removed. */
export type FilterDraft = ConditionDraft | { all: FilterDraft[] } | { any: FilterDraft[] };

/** Events of some names that pass filters, as they are being written. */
export interface SelectionDraft {
  events?: string[] | undefined;
  filters?: FilterDraft[] | undefined;
}

const COLUMN_LABELS: Readonly<Record<Column, string>> = {
  event: 'Event',
  geo_country: 'Country of the visitor',
  geo_region: 'Region of the visitor',
  geo_city: 'City of the visitor',
  browser: 'Browser',
  browser_version: 'Browser version',
  os: 'Operating system',
  os_version: 'Operating system version',
  device_type: 'Device',
  language: 'Language',
  screen_class: 'Screen size',
  country: 'Country as sent',
  city: 'City as sent',
  state: 'State or region as sent',
  zip: 'Postcode as sent',
  action_source: 'Action source',
  mode: 'Mode',
  caller: 'Sent by',
  key_id: 'Key (16 characters of its SHA-256)',
  value: 'Value',
  currency: 'Currency',
  identify: 'Identification',
  order_id: 'Order id',
  event_id: 'Event id',
  distinct_id: 'Distinct id',
  person_id: 'Person id',
  client_user_agent: 'User agent',
  client_ip: 'IP address',
  email_sha256: 'E-mail (SHA-256)',
  phone_hmac: 'Phone (keyed hash)',
  external_id_sha256: 'External id (SHA-256)',
  ad_storage: 'Consent: ad storage',
  analytics_storage: 'Consent: analytics storage',
  ad_user_data: 'Consent: ad user data',
  ad_personalization: 'Consent: ad personalization',
  consent_defaults: 'Consent by default',
  limited_data_use: 'Limited data use',
  historical: 'Brought in of the past',
};

const VISIT_LABELS: Readonly<Record<VisitValue, string>> = {
  channel: 'Channel',
  source: 'Source',
  medium: 'Medium',
  campaign: 'Campaign',
  referrer: 'Referrer',
  landing_page: 'Landing page',
  exit_page: 'Exit page',
  geo_country: 'Country of the visit',
  geo_region: 'Region of the visit',
  geo_city: 'City of the visit',
  browser: 'Browser of the visit',
  os: 'Operating system of the visit',
  device_type: 'Device of the visit',
  language: 'Language of the visit',
  screen_class: 'Screen size of the visit',
};

/** Every value of a visit as a field, in the order of their labels. */
export const VISIT_FIELDS: readonly { visit: VisitValue }[] = (Object.keys(VISIT_LABELS) as VisitValue[]).map(
  (visit) => ({ visit }),
);

/** Every column as a field, in the order of their labels. */
export const COLUMN_FIELDS: readonly OwnField[] = (Object.keys(COLUMN_LABELS) as Column[]).map((column) => ({
  column,
}));

export function fieldLabel(field: FilteredField): string {
  if ('person' in field) return `${fieldLabel(field.person)}, the person's ${field.seen}`;
  if ('cohort' in field) return `Cohort ${field.cohort}`;
  if ('column' in field) return COLUMN_LABELS[field.column] ?? String(field.column);
  if ('visit' in field) return VISIT_LABELS[field.visit] ?? String(field.visit);
  const path = field.property.join('.');
  if ('each' in field) return [`${path}[]`, ...field.each].join('.');
  return field.part === undefined ? path : `${path}, the ${field.part.replace('_', ' ')}`;
}

export const fieldKey = (field: FilteredField): string => JSON.stringify(field);

/** The field that an option or a typed text names: a text is the path of a property, its parts apart by dots. */
export function fieldNamed(text: string): FilteredField {
  const option = text.startsWith('{"') ? parsed(text) : null;
  return isField(option) ? option : { property: text.split('.').filter((part) => part !== '') };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // A property may be named like the beginning of an option.
    return null;
  }
}

/** The same where the values of events alone may be named. */
export function plainFieldNamed(text: string): Field | null {
  if (text === '') return null;
  const field = fieldNamed(text);
  return 'each' in field ? null : field;
}

/** What a condition may say, and what it says it of. */
export const OPERATORS: readonly {
  is: Condition['is'];
  label: string;
  takes: 'texts' | 'text' | 'number' | 'date' | 'nothing';
}[] = [
  { is: 'in', label: 'has the person', takes: 'nothing' },
  { is: 'not_in', label: 'does not have the person', takes: 'nothing' },
  { is: 'equal', label: 'is', takes: 'texts' },
  { is: 'not_equal', label: 'is not', takes: 'texts' },
  { is: 'containing', label: 'contains', takes: 'text' },
  { is: 'not_containing', label: 'does not contain', takes: 'text' },
  { is: 'starting_with', label: 'begins with', takes: 'text' },
  { is: 'ending_with', label: 'ends with', takes: 'text' },
  { is: 'matching', label: 'matches the pattern', takes: 'text' },
  { is: 'not_matching', label: 'does not match the pattern', takes: 'text' },
  { is: 'set', label: 'is set', takes: 'nothing' },
  { is: 'not_set', label: 'is not set', takes: 'nothing' },
  { is: 'above', label: 'is above', takes: 'number' },
  { is: 'at_least', label: 'is at least', takes: 'number' },
  { is: 'below', label: 'is below', takes: 'number' },
  { is: 'at_most', label: 'is at most', takes: 'number' },
  { is: 'after', label: 'is after', takes: 'date' },
  { is: 'before', label: 'is before', takes: 'date' },
  { is: 'at_or_after', label: 'is at or after', takes: 'date' },
  { is: 'at_or_before', label: 'is at or before', takes: 'date' },
];

const ON_COHORTS: ReadonlySet<Condition['is']> = new Set(['in', 'not_in']);

/** Those that a condition on a field may have. */
export const operatorsOf = (field: FilteredField): (typeof OPERATORS)[number][] =>
  OPERATORS.filter(({ is }) => ON_COHORTS.has(is) === 'cohort' in field);

/** A condition on another field: whether a person is in a cohort, or compared as before where that can be. */
export function ofField(condition: ConditionDraft, field: FilteredField): ConditionDraft {
  if ('cohort' in field) return { field, is: 'cohort' in condition.field ? condition.is : 'in' };
  return 'cohort' in condition.field ? { field, is: 'equal', to: [] } : { ...condition, field };
}

/** What a condition is compared with. */
export const takenBy = (is: Condition['is']): (typeof OPERATORS)[number]['takes'] =>
  OPERATORS.find((one) => one.is === is)?.takes ?? 'text';

export function conditionText(filter: FilterDraft): string {
  if ('all' in filter) return `(${filter.all.map(conditionText).join(' and ')})`;
  if ('any' in filter) return `(${filter.any.map(conditionText).join(' or ')})`;
  const { field, is, to } = filter;
  const label = OPERATORS.find((one) => one.is === is)?.label ?? is;
  const compared = Array.isArray(to) ? to.join(' or ') : String(to ?? '');
  const what = 'person' in field ? `the person's ${field.seen} ${fieldLabel(field.person)}` : fieldLabel(field);
  return `${what} ${label} ${compared}`.trim();
}

function isFinished(filter: FilterDraft): boolean {
  if (!('field' in filter)) return true;
  const { field, is, to } = filter;
  if ('property' in field && field.property.length === 0) return false;
  const takes = takenBy(is);
  if (takes === 'nothing') return true;
  if (takes === 'texts') return Array.isArray(to) && to.length > 0;
  return takes === 'number' ? typeof to === 'number' && Number.isFinite(to) : typeof to === 'string' && to !== '';
}

/** What of a question can be asked: without conditions and names that nobody has finished. */
export function finished<Value>(value: Value): Value {
  if (Array.isArray(value)) return value.map(finished) as Value;
  if (typeof value !== 'object' || value === null) return value;
  const parts = Object.entries(value).flatMap(([name, part]): [string, unknown][] => {
    if (part === undefined) return [];
    if (name === 'filters') return [[name, (part as FilterDraft[]).filter(isFinished)]];
    if (name !== 'events') return [[name, finished(part)]];
    const names = (part as string[]).filter((one) => one !== '');
    return names.length === 0 ? [] : [[name, names]];
  });
  return Object.fromEntries(parts) as Value;
}

/** A selection out of an address. Whether its conditions can be asked the service says. */
export function selectionIn(value: unknown): SelectionDraft {
  const { events, filters } = objectIn(value);
  return { events: someOf(textsIn(events)), filters: someOf(filtersIn(filters)) };
}

export const textsIn = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((text) => typeof text === 'string') : [];

export const filtersIn = (value: unknown): FilterDraft[] =>
  objectsIn(value).flatMap((filter): FilterDraft[] => {
    if (Array.isArray(filter['all'])) return [{ all: filtersIn(filter['all']) }];
    if (Array.isArray(filter['any'])) return [{ any: filtersIn(filter['any']) }];
    return isField(filter['field']) && OPERATORS.some(({ is }) => is === filter['is'])
      ? [filter as unknown as ConditionDraft]
      : [];
  });

/** Whether something out of an address can be shown as a field. */
export function isField(value: unknown): value is FilteredField {
  const { column, property, person, each, visit, cohort } = objectIn(value);
  if (person !== undefined) return isField(person);
  const isPath = (path: unknown): boolean => Array.isArray(path) && path.every((part) => typeof part === 'string');
  return (
    typeof column === 'string' ||
    typeof visit === 'string' ||
    typeof cohort === 'string' ||
    (isPath(property) && (each === undefined || isPath(each)))
  );
}

type Json = Readonly<Record<string, unknown>>;

/** An object out of an address, which anybody may have written; an empty one where it is none. */
export const objectIn = (value: unknown): Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {};

export const objectsIn = (value: unknown): Json[] => (Array.isArray(value) ? value.map(objectIn) : []);

/** What may be chosen, with what people call it; the first one is usual. */
export type Labels<Text extends string> = Readonly<Record<Text, string>>;

export function oneOf<Text extends string>(value: unknown, labels: Labels<Text>): Text {
  const [usual, ...others] = Object.keys(labels) as [Text, ...Text[]];
  return others.find((text) => text === value) ?? usual;
}

/** The same out of an address that may choose nothing. */
export const choiceIn = <Text extends string>(value: unknown, labels: Labels<Text>): Text | undefined =>
  value === undefined ? undefined : oneOf(value, labels);

export const numberIn = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined);

export const someOf = <Item>(items: Item[]): Item[] | undefined => (items.length === 0 ? undefined : items);

/** Where events may not be read one by one these are offered; any other name can be typed. */
const USUAL_PROPERTIES = ['utm_source', 'utm_medium', 'utm_campaign', '$current_url', '$referrer', '$browser', '$os'];

/** Paths into properties, one level deep into objects, with their values. */
const leavesOf = (properties: Readonly<Record<string, unknown>>): [path: string[], value: unknown][] =>
  Object.entries(properties).flatMap(([name, value]): [string[], unknown][] =>
    typeof value !== 'object' || value === null || Array.isArray(value)
      ? [[[name], value]]
      : Object.entries(value).map(([inner, one]) => [[name, inner], one]),
  );

/** Paths into properties, the commonest first, one level deep into objects. */
export function propertyNames(properties: readonly Record<string, unknown>[]): string[][] {
  const counts = new Map<string, number>();
  for (const [path] of properties.flatMap(leavesOf)) {
    const key = JSON.stringify(path);
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  const found = [...counts].sort(([, a], [, b]) => b - a).map(([key]) => JSON.parse(key) as string[]);
  const usual = USUAL_PROPERTIES.filter((name) => !counts.has(JSON.stringify([name]))).map((name) => [name]);
  return [...found, ...usual];
}

/** Properties that are web addresses, which differ by far more than what people ask about. */
const ADDRESSES: readonly (OwnField & { property: string[] })[] = [
  { property: ['$current_url'], part: 'page' },
  { property: ['page_location'], part: 'page' },
  { property: ['url'], part: 'page' },
  { property: ['$referrer'], part: 'host' },
  { property: ['page_referrer'], part: 'host' },
  { property: ['referrer'], part: 'host' },
];

/** Columns that are read from the property of their name (pipelines/intake/take_event.ts). */
const FROM_PROPERTY: readonly Column[] = ['value', 'currency', 'order_id'];

/** The properties that are not offered as one of the columns already. */
export function otherProperties(properties: readonly string[][], columns: readonly Field[]): string[][] {
  const same = new Set(
    columns.flatMap((field) => ('column' in field && FROM_PROPERTY.includes(field.column) ? [`${field.column}`] : [])),
  );
  return properties.filter((path) => path.length > 1 || !same.has(path[0] ?? ''));
}

const EXAMPLES = 3;
const EXAMPLE_CHARACTERS = 24;

/** What tells more about fields: values that some events have, and which property a column is of. */
export function fieldNotes(events: Listing['events']): (field: Field) => string | undefined {
  const found = new Map<string, Set<string>>();
  const add = (field: Field, value: unknown): void => {
    const key = JSON.stringify(field);
    const known = found.get(key) ?? new Set();
    found.set(key, known);
    const isValue =
      typeof value === 'number' || typeof value === 'boolean' || (typeof value === 'string' && value !== '');
    if (isValue && known.size < EXAMPLES) known.add(String(value).slice(0, EXAMPLE_CHARACTERS));
  };
  for (const { properties, ...columns } of events) {
    for (const [column, value] of Object.entries(columns)) add({ column: column as Column }, value);
    for (const [property, value] of leavesOf(properties)) add({ property }, value);
  }
  return (field) => {
    const values = [...(found.get(JSON.stringify(field)) ?? [])];
    const isOfProperty = 'column' in field && FROM_PROPERTY.includes(field.column);
    const notes = [
      ...(isOfProperty ? [`the property ${field.column}`] : []),
      ...(values.length > 0 ? [`such as ${values.join(', ')}`] : []),
    ];
    return notes.length === 0 ? undefined : notes.join('; ');
  };
}

/** The properties as fields, and behind an address the part of it that people mean. */
export const propertyFields = (properties: readonly string[][]): OwnField[] =>
  properties.flatMap((property) => [
    { property },
    ...ADDRESSES.filter((address) => address.property[0] === property[0] && property.length === 1),
  ]);
