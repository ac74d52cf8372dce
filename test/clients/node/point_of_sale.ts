// A point of sale in a process of its own, which is killed at any moment: tracks sales under ids that the next process makes again.
import { setImmediate } from 'node:timers/promises';
import { Client } from '#clients/node/src/client.ts';
import { openJournal } from '#clients/node/src/journal.ts';

interface Argument {
  url: string;
  key: string;
  folder: string;
  /** The sales that this process begins with, and ends before. */
  from: number;
  to: number;
}

const PENDING_MAX = 500;

const { url, key, folder, from, to } = JSON.parse(process.argv[2] ?? '') as Argument;
const client = new Client({
  url,
  key,
  journal: openJournal(folder, { segmentBytes: 20_000 }),
  flushIntervalMs: 20,
  retryBaseMs: 20,
  retryMaxMs: 200,
  requestTimeoutMs: 2_000,
  onError: ({ code, willRetry }) => {
    if (!willRetry) console.log(`problem ${code}`);
  },
});
for (let sale = from; sale < to; sale += 1) {
  // Sales are slower than a loop: the queue would be full.
  if (client.pending >= PENDING_MAX) await client.flush({ deadlineMs: 600_000 });
  const tracked = client.trackOffline({
    event: 'purchase',
    actionSource: 'physical_store',
    uuid: `sale-${sale}`,
    properties: { value: sale, currency: 'EUR', external_id: `customer-${sale % 50}` },
  });
  console.log(tracked.ok ? `tracked ${sale}` : `problem ${tracked.code}`);
  await setImmediate();
}
const { ok, pending } = await client.shutdown({ deadlineMs: 600_000 });
console.log(ok ? 'done' : `problem ${pending} left`);
