import type { Listing } from '#pipelines/analytics/event_lists.ts';
import type { Column, Field } from '#pipelines/analytics/filters.ts';

/** Where events may not be read one by one these are offered; any other name can be typed. */
const USUAL_PROPERTIES = ['utm_source', 'utm_medium', 'utm_campaign', '$current_url', '$referrer', '$browser', '$os'];

/** Paths into properties, the commonest first, one level deep into objects. */
export function propertyNames(properties: readonly Record<string, unknown>[]): string[][] {
  const counts = new Map<string, number>();
  const count = (path: string[]): void => {
    const key = JSON.stringify(path);
    counts.set(key, (counts.get(key) ?? 0) + 1);
  };
  for (const one of properties) {
    for (const [name, value] of Object.entries(one)) {
      if (typeof value !== 'object' || value === null || Array.isArray(value)) count([name]);
      else for (const inner of Object.keys(value)) count([name, inner]);
    }
  }
  const found = [...counts].sort(([, a], [, b]) => b - a).map(([key]) => JSON.parse(key) as string[]);
  const usual = USUAL_PROPERTIES.filter((name) => !counts.has(JSON.stringify([name]))).map((name) => [name]);
  return [...found, ...usual];
}

/** Properties that are web addresses, which differ by far more than what people ask about. */
const ADDRESSES: readonly (Field & { property: string[] })[] = [
  { property: ['$current_url'], part: 'page' },
  { property: ['page_location'], part: 'page' },
  { property: ['$referrer'], part: 'host' },
  { property: ['page_referrer'], part: 'host' },
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
    for (const [name, value] of Object.entries(properties)) {
      if (typeof value !== 'object' || value === null || Array.isArray(value)) add({ property: [name] }, value);
      else for (const [inner, one] of Object.entries(value)) add({ property: [name, inner] }, one);
    }
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
export function propertyFields(properties: readonly string[][]): Field[] {
  return properties.flatMap((property) => [
    { property },
    ...ADDRESSES.filter((address) => address.property[0] === property[0] && property.length === 1),
  ]);
}
