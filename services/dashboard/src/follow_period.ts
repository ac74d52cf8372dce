import { effect } from '@preact/signals';
import { keepPeriod, periodIn, withPeriod } from './kept_period.ts';
import { findPage } from './page_list.ts';
import { completeQueries, place } from './router.ts';

/**
 * Keeps the period while somebody goes from page to page, also by pages that have none: an address of a page that has one, and
 * does not say which, is completed. The way back leads to what was looked at, whatever that was.
 */
export function followPeriod(): void {
  effect(() => {
    const { path, query } = place.value;
    const given = periodIn(query);
    if (given.size === 0 && findPage(path)?.page.hasPeriod !== true) return;
    keepPeriod(given);
  });
  completeQueries((path, query) => {
    const isOpen = findPage(path)?.page.hasPeriod === true && periodIn(query).size === 0;
    return isOpen ? withPeriod(query) : query;
  });
}
