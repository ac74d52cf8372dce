import type { Event } from '#schemas/event.ts';

/**
 * When the event happened, in milliseconds since 1970 UTC. Platforms refuse a time in their future; an event cannot have
 * happened after it reached us, whatever the sender's clock says.
 */
export const happenedAtMs = (event: Event): number => Math.min(event.timestamp, event.received_at);

/** The same in whole seconds, as most platforms take it. */
export const happenedAtS = (event: Event): number => Math.floor(happenedAtMs(event) / 1000);
