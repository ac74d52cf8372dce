import type { Field, Filter, Selection } from '#pipelines/query/shapes.ts';
import type { Deed, Ledger } from './reference_ledger.ts';

const COLUMNS: Record<string, (deed: Deed) => string> = {
  event: ({ name }) => name,
  action_source: ({ source }) => source,
  country: ({ country }) => country,
  value: ({ value }) => (value === null ? '' : String(value)),
};
const PROPERTIES: Record<string, (deed: Deed) => string> = {
  'utm.campaign': ({ campaign }) => campaign ?? '',
  plan: ({ plan }) => plan,
  size: ({ size }) => String(size),
  paid: ({ plan }) => String(plan === 'paid'),
  missing: () => '',
};

/** A field of an event as text; empty where it has none. */
export function textOf(field: Field, deed: Deed): string {
  const read = 'column' in field ? COLUMNS[field.column] : PROPERTIES[field.property.join('.')];
  if (read === undefined) throw new Error('the reference does not know this field');
  return read(deed);
}

function passes(filter: Filter, deed: Deed): boolean {
  const text = textOf(filter.field, deed);
  const number = text === '' ? Number.NaN : Number(text);
  switch (filter.is) {
    case 'set':
      return text !== '';
    case 'not_set':
      return text === '';
    case 'equal':
      return filter.to.some((value) => (typeof value === 'number' ? value === number : String(value) === text));
    case 'not_equal':
      return !filter.to.some((value) => (typeof value === 'number' ? value === number : String(value) === text));
    case 'containing':
      return text.includes(filter.to);
    case 'not_containing':
      return !text.includes(filter.to);
    case 'starting_with':
      return text.startsWith(filter.to);
    case 'ending_with':
      return text.endsWith(filter.to);
    case 'above':
      return number > filter.to;
    case 'at_least':
      return number >= filter.to;
    case 'below':
      return number < filter.to;
    case 'at_most':
      return number <= filter.to;
    default:
      throw new Error('unknown filter');
  }
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
