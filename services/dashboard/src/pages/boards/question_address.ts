import { queryAsking } from '../../questions/question_place.ts';
import type { SavedQuestion } from '../../questions/saved.ts';
import { addressOf } from '../../router.ts';

/** Where a question is asked and changed, by what it asks. */
const PAGES: Readonly<Record<string, string>> = {
  funnel: 'funnels',
  trends: 'trends',
  retention: 'retention',
  paths: 'paths',
};

/** The page of a saved question; null where its kind has none. The page's period takes the place of its own time. */
export function questionAddress(siteId: string, { id, query, question }: SavedQuestion): string | null {
  const page = PAGES[query];
  if (page === undefined) return null;
  const { from: _from, to: _to, fresh: _fresh, ...asked } = question;
  return addressOf(`/sites/${encodeURIComponent(siteId)}/${page}`, queryAsking(asked, id));
}
