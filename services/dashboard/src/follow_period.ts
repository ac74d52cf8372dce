import { effect } from '@preact/signals';
import { keepPeriod, keptPeriod, periodIn, withPeriod } from './kept_period.ts';
import { findPage } from './page_list.ts';
import { completeQueries, place } from './router.ts';

/** What the browser's history has of a place to which a link led with a period of its own. */
const OWN_PERIOD = 'own_period';

/**
 * Keeps the period while somebody goes from page to page, also by pages that have none: an address of a page that has one, and
 * does not say which, is completed. The way back leads to what was looked at, whatever that was. A link from another page with
 * a period of its own says what is looked at there, and leaves the one that was chosen.
 */
export function followPeriod(): void {
  let isOwn = false;
  effect(() => {
    const { path, query } = place.value;
    if (isOwn) history.replaceState(OWN_PERIOD, '');
    isOwn = false;
    if (findPage(path)?.page.hasPeriod === true && !isOfOwnPeriod()) keepPeriod(periodIn(query));
  });
  completeQueries((path, query) => {
    if (findPage(path)?.page.hasPeriod !== true) return query;
    const given = periodIn(query);
    if (given.size === 0) return withPeriod(query);
    const here = place.peek();
    isOwn =
      path === here.path ? isOfOwnPeriod() && isSame(given, periodIn(here.query)) : !isSame(given, keptPeriod.peek());
    return query;
  });
}

const isOfOwnPeriod = (): boolean => history.state === OWN_PERIOD;
const isSame = (a: URLSearchParams, b: URLSearchParams): boolean => a.toString() === b.toString();
