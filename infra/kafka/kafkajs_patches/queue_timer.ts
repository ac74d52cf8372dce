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

/** The client's own interval. An answer sends the requests that wait behind it; the timer is for when none comes. */
const CHECK_MS = 10;

/**
 * Makes the client check its queue of waiting requests only while there are some. It sets the timer after every check, to
 * the end of a throttling that mostly never was: a negative time, which Node takes for 1 ms. Every connection that was used
 * once then wakes its process a thousand times a second for ever.
 */
export function patchQueueTimer(): void {
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
