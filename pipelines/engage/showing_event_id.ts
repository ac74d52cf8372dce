import type { ItemName } from './visitor_memory.ts';

const SHOWING_CHARACTERS = 36;
const SHOWING = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}:(?:survey|promo|form):/i;

/**
 * The id of an event of a showing: the showing's own, which is of one item, and what happened. Results count events whose
 * ids begin so, so that nothing else may have one.
 */
export function showingEventId(showing: string, item: ItemName, what: string): string {
  return `${showing.toLowerCase()}:${item}:${what}`;
}

/** Whether a text begins as the id of an event of a showing does. */
export function isShowingEventId(text: string): boolean {
  return text.charAt(SHOWING_CHARACTERS) === ':' && SHOWING.test(text);
}
