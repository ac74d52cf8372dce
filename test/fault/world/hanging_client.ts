import { createRequire } from 'node:module';

interface RequestQueue {
  push(this: RequestQueue, request: { entry: { apiName: string } }): void;
}

/** What hands over records, commits offsets and ends transactions. */
const HUNG: ReadonlySet<string> = new Set(['Produce', 'OffsetCommit', 'TxnOffsetCommit', 'EndTxn']);

const require = createRequire(import.meta.url);
const { prototype } = require('kafkajs/src/network/requestQueue/index.js') as { prototype: RequestQueue };
const { push } = prototype;
let hangs = false;

/**
 * Loaded before a process's own modules: from SIGUSR2 on, requests of its Kafka client that write anything are neither
 * sent nor timed out, while it goes on to fetch and to beat. What a fault of the client in one place does for one request.
 */
process.on('SIGUSR2', () => {
  hangs = true;
});
prototype.push = function (request) {
  if (!hangs || !HUNG.has(request.entry.apiName)) push.call(this, request);
};
