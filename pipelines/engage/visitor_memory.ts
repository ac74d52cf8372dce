// What a visitor has seen and done, and the ids of events of a showing.
import type { EngageKind } from './definition_fields.ts';

/** How a survey, promo or form is called where both kind and id are needed: `survey:nps`. */
export type ItemName = `${EngageKind}:${string}`;

export const itemName = (kind: EngageKind, id: string): ItemName => `${kind}:${id}`;

/** What is known of one person and one item; times in milliseconds since 1970 UTC. */
export interface SeenItem {
  times: number;
  /** When it was shown last. */
  lastMs: number;
  /** When it was answered, clicked or submitted last; null: not yet. */
  doneMs: number | null;
}

/** How often a person did something, and when last. */
export interface DoneEvent {
  times: number;
  lastMs: number;
}

/** What is remembered of one person. */
export interface EngageMemory {
  /** Who leads all the ids that are known to be one person. */
  personId: string;
  seen: ReadonlyMap<string, SeenItem>;
  /** By name: only events that a definition of the site asks for. */
  events: ReadonlyMap<string, DoneEvent>;
}

/** Of two records of the same shows, as a browser and the server keep them, the stricter one. */
export function stricter(a: SeenItem | undefined, b: SeenItem | undefined): SeenItem | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return {
    times: Math.max(a.times, b.times),
    lastMs: Math.max(a.lastMs, b.lastMs),
    doneMs: a.doneMs === null || b.doneMs === null ? (a.doneMs ?? b.doneMs) : Math.max(a.doneMs, b.doneMs),
  };
}

/** What one person did under several ids. */
export function together(a: SeenItem | undefined, b: SeenItem): SeenItem {
  if (a === undefined) return b;
  return { ...(stricter(a, b) as SeenItem), times: a.times + b.times };
}

/**
 * The id of an event of a showing: the showing's own, which is of one item, and what happened. Results count events whose
 * ids begin so, so that nothing else may have one.
 */
export function showingEventId(showing: string, item: ItemName, what: string): string {
  return `${showing.toLowerCase()}:${item}:${what}`;
}
