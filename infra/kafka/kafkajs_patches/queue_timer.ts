import { createRequire } from 'node:module';

interface RequestQueue {
  pending: readonly unknown[];
  /** Until when the broker asked to be left alone, in milliseconds since 1970 UTC; -1 where it never did. */
  throttledUntil: number;
  throttleCheckTimeoutId: NodeJS.Timeout | null;
  checkPendingRequests(): void;
  scheduleCheckPendingRequests(this: RequestQueue): void;
}

const require = createRequire(import.meta.url);
const QueueOfClient = require('kafkajs/src/network/requestQueue/index.js') as { prototype: RequestQueue };

/** As the client has it: an answer sends what waits behind it, this is for where none comes. */
const CHECK_MS = 10;

/**
 * Makes the client look for requests that wait only while some do. Its queue sets the timer after every look, to the
 * end of a throttling that mostly never was, a negative time, which Node takes for 1 ms: every connection that was used
 * once wakes its process a thousand times a second for ever.
 */
export function mendQueueTimer(): void {
  QueueOfClient.prototype.scheduleCheckPendingRequests = function () {
    if (this.pending.length === 0 || this.throttleCheckTimeoutId !== null) return;
    const throttledMs = this.throttledUntil - Date.now();
    this.throttleCheckTimeoutId = setTimeout(
      () => {
        this.throttleCheckTimeoutId = null;
        this.checkPendingRequests();
      },
      throttledMs > 0 ? throttledMs : CHECK_MS,
    );
  };
}
