import type { Field } from '#pipelines/query/filter_shapes.ts';

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

/** The properties as fields, and behind an address the part of it that people mean. */
export function propertyFields(properties: readonly string[][]): Field[] {
  return properties.flatMap((property) => [
    { property },
    ...ADDRESSES.filter((address) => address.property[0] === property[0] && property.length === 1),
  ]);
}
