import type { Condition, Filter } from './filter_shapes.ts';

/** What is changed of a query, wherever in it that lies. */
interface Changes {
  events?(names: string[]): string[];
  /** @param before The end of the time that the condition's part of the query is about; null where it has none. */
  condition?(condition: Condition, before: number | null): Condition;
}

/** A query with its events' names and its conditions changed, those of its parts included: steps, series, exclusions, ... */
export function changedQuery<Query>(query: Query, changes: Changes, before: number | null = null): Query {
  if (Array.isArray(query)) return query.map((part) => changedQuery(part, changes, before)) as Query;
  if (typeof query !== 'object' || query === null) return query;
  const until = 'to' in query && typeof query.to === 'number' ? query.to : before;
  const parts = Object.entries(query).map(([name, part]) => [name, changedPart(name, part, changes, until)] as const);
  return Object.fromEntries(parts) as Query;
}

function changedPart(name: string, part: unknown, changes: Changes, before: number | null): unknown {
  if (name === 'events') return changes.events?.(part as string[]) ?? part;
  if (name === 'filters') return (part as Filter[]).map((filter) => changedFilter(filter, changes, before));
  return changedQuery(part, changes, before);
}

function changedFilter(filter: Filter, changes: Changes, before: number | null): Filter {
  if ('all' in filter) return { all: filter.all.map((one) => changedFilter(one, changes, before)) };
  if ('any' in filter) return { any: filter.any.map((one) => changedFilter(one, changes, before)) };
  return changes.condition?.(filter, before) ?? filter;
}

/** A condition with the name of its place in the query, such as `steps[0].filters[1].any[0]`. */
export interface PlacedCondition {
  place: string;
  condition: Condition;
}

/** The conditions of each list of filters in a query. */
export function filterLists(query: unknown, place = ''): { place: string; conditions: PlacedCondition[] }[] {
  if (typeof query !== 'object' || query === null) return [];
  return Object.entries(query).flatMap(([name, part]) => {
    const at = Array.isArray(query) ? `${place}[${name}]` : `${place}${place && '.'}${name}`;
    if (name !== 'filters') return filterLists(part, at);
    return [{ place: at, conditions: placedConditions(part as Filter[], at) }];
  });
}

function placedConditions(filters: readonly Filter[], place: string): PlacedCondition[] {
  return filters.flatMap((filter, index) => {
    const at = `${place}[${index}]`;
    if ('all' in filter) return placedConditions(filter.all, `${at}.all`);
    if ('any' in filter) return placedConditions(filter.any, `${at}.any`);
    return [{ place: at, condition: filter }];
  });
}
