import type { WorldEvent } from './world/demo_event.ts';

export const DESTINATIONS = ['meta', 'webhook'] as const;
export type DestinationName = (typeof DESTINATIONS)[number];

const DAY_MS = 86_400_000;

/**
 * The ids of the events that a destination must get. A webhook gets everything; Meta takes no event older than 7 days, but
 * of a physical store 62. Every event of the demo has an identifier and properties that Meta wants.
 *
 * @param nowMs when the events are sent, milliseconds since 1970 UTC
 */
export function dueIds(destination: DestinationName, events: Iterable<WorldEvent>, nowMs: number): Set<string> {
  const isDue = ({ at, actionSource }: WorldEvent): boolean =>
    destination === 'webhook' || nowMs - at <= (actionSource === 'physical_store' ? 62 : 7) * DAY_MS;
  return new Set([...events].filter(isDue).map(({ eventId }) => eventId));
}
