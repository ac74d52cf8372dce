import type { Event } from '#schemas/event.ts';

/**
 * When the event happened, in milliseconds since 1970 UTC. Platforms refuse a time in their future; an event cannot have
 * happened after it reached us, whatever the sender's clock says.
 */
export const happenedAtMs = (event: Event): number => Math.min(event.timestamp, event.received_at);

/** The same in whole seconds, as most platforms take it. */
export const happenedAtS = (event: Event): number => Math.floor(happenedAtMs(event) / 1000);

/** Room for clocks that differ and for the time a batch spends on its way: one event too old refuses a whole batch. */
const AGE_MARGIN_MS = 60_000;

/** When an event becomes older than a platform takes it, milliseconds since 1970 UTC. */
export const deadlineOfAge = (event: Event, ageMaxMs: number): number => event.timestamp + ageMaxMs - AGE_MARGIN_MS;
