import { withPeriod } from '../period.ts';
import { addressOf, currentLocation, setQuery } from '../router.ts';
import type { QuestionKind, SavedQuestion } from './saved.ts';

/** Where the query of the address has the question of a page, as the JSON that the API takes, without its time. */
const PARAMETER = 'q';
/** What the address asks; undefined where it asks nothing, or nothing that is JSON. */
export function queryFromAddress(): unknown {
  const text = currentLocation.value.query.get(PARAMETER);
  if (text === null) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

let changedBy: Element | null = null;

/** Puts a question into the address, so that the way back undoes it; what is typed in one field is one step, each choice of a list another. */
export function setQueryInAddress(question: object): void {
  const by = document.activeElement;
  const goesOn = by !== null && by === changedBy && by.matches('input:not([role=combobox])');
  changedBy = by;
  setQuery({ [PARAMETER]: JSON.stringify(question) }, goesOn ? 'replace' : 'push');
}

const SAVED = 'saved';

/** The id of the saved question that is open, however it was changed since; null where none is. */
export const savedQueryId = (): string | null => currentLocation.value.query.get(SAVED);

/** Says that a question is the saved one as it is now. */
export function openSaved(saved: SavedQuestion): void {
  setQuery({ [SAVED]: saved.id, [PARAMETER]: JSON.stringify(askedBy(saved)) });
}

/** Whether the question of the address is another one than the saved one that is open. */
export const isChangedFrom = (saved: SavedQuestion): boolean =>
  currentLocation.value.query.get(PARAMETER) !== JSON.stringify(askedBy(saved));

/** What a saved question asks, without its time: the page's period takes the place of that. */
function askedBy({ question }: SavedQuestion): object {
  const { from: _from, to: _to, fresh: _fresh, ...asked } = question;
  return asked;
}

/** The query of an address that asks a question, of a saved one with its id. */
export function queryAsking(question: object, savedId?: string): URLSearchParams {
  const saved = savedId === undefined ? {} : { [SAVED]: savedId };
  return withPeriod(new URLSearchParams({ [PARAMETER]: JSON.stringify(question), ...saved }));
}

/** Where a question is asked and changed, by what it asks; null: no page asks it by an address. */
const PAGES: Readonly<Record<QuestionKind, string | null>> = {
  funnel: 'funnels',
  trends: 'trends',
  retention: 'retention',
  paths: 'paths',
  correlation: null,
  revenue: null,
  stickiness: null,
  lifecycle: null,
  top: null,
  visits: null,
  live: null,
  timeline: null,
  survey: null,
  promo: null,
  form: null,
  actors: null,
  cohorts: null,
  members: null,
  sql: null,
};

/** The page of a saved question; null where its kind has none. The page's period takes the place of its own time. */
export function questionAddress(siteId: string, saved: SavedQuestion): string | null {
  // A newer service may have kinds that are not among these.
  const page = PAGES[saved.query] ?? null;
  if (page === null) return null;
  return addressOf(`/sites/${encodeURIComponent(siteId)}/${page}`, queryAsking(askedBy(saved), saved.id));
}
