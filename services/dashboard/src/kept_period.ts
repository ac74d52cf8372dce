import { effect, signal } from '@preact/signals';
import { findPage } from './page_list.ts';
import { completeQueries, place } from './router.ts';

/** Parameters that say of which time a page is; they go along from page to page. */
const PARAMETERS = ['period', 'from', 'to'] as const;
const KEY = 'svc_period';

/** The period that was chosen last in this tab, as parameters of an address; empty where it is the usual one. */
export const keptPeriod = signal(stored());

function stored(): URLSearchParams {
  try {
    return periodIn(new URLSearchParams(sessionStorage.getItem(KEY) ?? ''));
  } catch {
    // A browser that keeps nothing begins with the usual period.
    return new URLSearchParams();
  }
}

function periodIn(query: URLSearchParams): URLSearchParams {
  return new URLSearchParams(PARAMETERS.flatMap((name) => (query.has(name) ? [[name, query.get(name) ?? '']] : [])));
}

/** Some parameters, with the period that was chosen last. */
export const withPeriod = (query: URLSearchParams): URLSearchParams =>
  new URLSearchParams([...keptPeriod.value, ...query]);

/**
 * Keeps the period while somebody goes from page to page, also by pages that have none: an address of a page that has one, and
 * does not say which, is completed. The way back leads to what was looked at, whatever that was.
 */
export function followPeriod(): void {
  effect(() => {
    const { path, query } = place.value;
    const given = periodIn(query);
    if (given.size === 0 && findPage(path)?.page.hasPeriod !== true) return;
    keptPeriod.value = given;
    try {
      sessionStorage.setItem(KEY, given.toString());
    } catch {
      // It holds until the page is loaded anew.
    }
  });
  completeQueries((path, query) => {
    const isOpen = findPage(path)?.page.hasPeriod === true && periodIn(query).size === 0;
    return isOpen ? withPeriod(query) : query;
  });
}
