import type { Filter } from '#pipelines/analytics/filters.ts';
import type { LiveQuery } from '#pipelines/analytics/query_schemas.ts';

/** What of the events is looked at, as the address has it; an empty text is no condition. */
export interface LiveFilters {
  event: string;
  distinctId: string;
  /** Path of a property, its parts with dots between. */
  property: string;
  value: string;
}

/** The filters that an address asks for. */
export function readFilters(query: URLSearchParams): LiveFilters {
  const text = (name: string): string => query.get(name)?.trim() ?? '';
  return { event: text('event'), distinctId: text('distinct_id'), property: text('property'), value: text('value') };
}

/** The same filters for the address; null takes a parameter away. */
export function filterParameters({ event, distinctId, property, value }: LiveFilters): Record<string, string | null> {
  return { event, distinct_id: distinctId, property, value };
}

/** What is asked of the newest events, or of those before a time. */
export function liveQuestion(
  filters: LiveFilters,
  receivedAfter: number,
  limit: number,
  receivedBefore?: number,
): LiveQuery {
  const conditions = conditionsOf(filters);
  return {
    received_after: receivedAfter,
    limit,
    ...(receivedBefore !== undefined && { received_before: receivedBefore }),
    ...(filters.event !== '' && { events: [filters.event] }),
    ...(conditions.length > 0 && { filters: conditions }),
  };
}

function conditionsOf({ distinctId, property, value }: LiveFilters): Filter[] {
  const conditions: Filter[] = [];
  if (distinctId !== '') conditions.push({ field: { column: 'distinct_id' }, is: 'equal', to: [distinctId] });
  const path = property.split('.').filter((part) => part !== '');
  if (path.length > 0) {
    const field = { property: path };
    conditions.push(value === '' ? { field, is: 'set' } : { field, is: 'equal', to: readings(value) });
  }
  return conditions;
}

/** Somebody who types 5 may mean the number or the text, and with true the truth value or the text. */
function readings(value: string): (string | number | boolean)[] {
  if (value === 'true' || value === 'false') return [value, value === 'true'];
  const number = Number(value);
  return Number.isFinite(number) && String(number) === value ? [value, number] : [value];
}
