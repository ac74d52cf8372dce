import { createRequire } from 'node:module';

interface Message {
  offset: string;
  key: Buffer | null;
  isControlRecord: boolean;
  batchContext: { producerId: string; inTransaction: boolean };
}

interface Partition {
  abortedTransactions: { producerId: string; firstOffset: string }[] | null;
  messages: Message[];
}

interface Fetch {
  responses: { partitions: Partition[] }[];
}

interface ResponseModule {
  decode(raw: Buffer): Promise<Fetch>;
}

const require = createRequire(import.meta.url);
/** The versions of the fetch response that list aborted transactions; the client takes the newest the broker has. */
const RESPONSES: readonly ResponseModule[] = [
  require('kafkajs/src/protocol/requests/fetch/v4/response.js'),
  require('kafkajs/src/protocol/requests/fetch/v5/response.js'),
  require('kafkajs/src/protocol/requests/fetch/v6/response.js'),
  require('kafkajs/src/protocol/requests/fetch/v7/response.js'),
  require('kafkajs/src/protocol/requests/fetch/v8/response.js'),
  require('kafkajs/src/protocol/requests/fetch/v9/response.js'),
  require('kafkajs/src/protocol/requests/fetch/v10/response.js'),
  require('kafkajs/src/protocol/requests/fetch/v11/response.js'),
];
const ABORT = Buffer.from([0, 0, 0, 0]);

let patched = false;

/**
 * Makes the client leave out every record of an aborted transaction. The broker lists aborted transactions by their
 * ends; the client takes the list for one by their beginnings and looks at one entry for each record, so that it hands
 * out aborted records wherever two aborted transactions overlap on a partition, as they do when a process dies in the
 * middle of several. Here they are marked as control records, which the client leaves out and whose offsets it counts.
 */
export function patchAbortedRecords(): void {
  if (patched) return;
  patched = true;
  for (const response of RESPONSES) {
    const decode = response.decode.bind(response);
    response.decode = async (raw) => {
      const fetch = await decode(raw);
      for (const { partitions } of fetch.responses) for (const partition of partitions) hideAborted(partition);
      return fetch;
    };
  }
}

/** Of each producer: the first offsets of its aborted transactions, and whether one is being passed. */
export function hideAborted(partition: Partition): void {
  const { abortedTransactions, messages } = partition;
  if (abortedTransactions === null || abortedTransactions.length === 0) return;
  const pending = [...abortedTransactions].sort((a, b) => (BigInt(a.firstOffset) < BigInt(b.firstOffset) ? -1 : 1));
  const aborted = new Set<string>();
  for (const message of messages) {
    while (pending[0] !== undefined && BigInt(pending[0].firstOffset) <= BigInt(message.offset)) {
      aborted.add(pending[0].producerId);
      pending.shift();
    }
    const { producerId, inTransaction } = message.batchContext;
    if (message.isControlRecord) {
      if (message.key?.equals(ABORT)) aborted.delete(producerId);
    } else if (inTransaction && aborted.has(producerId)) message.isControlRecord = true;
  }
  partition.abortedTransactions = [];
}
