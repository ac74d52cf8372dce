import { createMutex } from '#infra/concurrency/mutex.ts';

/** Searches that may wait for the one that runs: each reads a stage's newest letters, and a caller waits some seconds. */
const WAITING_MAX = 8;

/** As many searches wait as may. */
export class SearchBusyError extends Error {
  readonly code = 'query_busy';
}

/** Looks for the event of a site. @throws SearchBusyError */
type SearchEvent<Found> = (siteId: string, eventId: string) => Promise<Found>;

/** One search at a time, as it holds what it reads in memory. Who asks for an event that is searched or waited for shares its search. */
export function createEventSearches<Found>(search: SearchEvent<Found>): SearchEvent<Found> {
  const mutex = createMutex();
  const under = new Map<string, Promise<Found>>();
  return async (siteId, eventId) => {
    // Ids of sites have no colon.
    const key = `${siteId}:${eventId}`;
    const same = under.get(key);
    if (same !== undefined) return same;
    if (under.size > WAITING_MAX) throw new SearchBusyError('as many searches for dead letters wait as may');
    const found = mutex.run(() => search(siteId, eventId)).finally(() => under.delete(key));
    under.set(key, found);
    return found;
  };
}
