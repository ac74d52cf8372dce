import { signal } from '@preact/signals';

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

/** The parameters of a query that say of which time a page is. */
export function periodIn(query: URLSearchParams): URLSearchParams {
  return new URLSearchParams(PARAMETERS.flatMap((name) => (query.has(name) ? [[name, query.get(name) ?? '']] : [])));
}

/** Some parameters, with the period that was chosen last. */
export const withPeriod = (query: URLSearchParams): URLSearchParams =>
  new URLSearchParams([...keptPeriod.value, ...query]);

/** Keeps a period, as parameters, for the pages to come in this tab. */
export function keepPeriod(given: URLSearchParams): void {
  keptPeriod.value = given;
  try {
    sessionStorage.setItem(KEY, given.toString());
  } catch {
    // It holds until the page is loaded anew.
  }
}
