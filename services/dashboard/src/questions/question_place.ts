import { withPeriod } from '../kept_period.ts';
import { place, setQuery } from '../router.ts';

/** Where the query of the address has the question of a page, as the JSON that the API takes, without its time. */
const PARAMETER = 'q';
/** What the address asks; undefined where it asks nothing, or nothing that is JSON. */
export function askedInPlace(): unknown {
  const text = place.value.query.get(PARAMETER);
  if (text === null) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Puts a question into the address. */
export function putInPlace(question: object): void {
  setQuery({ [PARAMETER]: JSON.stringify(question) });
}

/** The query of an address that asks a question. */
export function queryAsking(question: object): URLSearchParams {
  return withPeriod(new URLSearchParams({ [PARAMETER]: JSON.stringify(question) }));
}
