import type { SendRefusal, SendResult } from '#infra/kafka/sender.ts';
import { type IntakeContext, type Rejection, takeBatch } from '#pipelines/intake/take_batch.ts';
import type { Event } from '#schemas/event.ts';
import { createBatchWriter } from '#schemas/event_batch.ts';
import { visitorPartition } from '#schemas/partition.ts';
import type { CallerSigns } from './caller.ts';
import type { EdgeErrorCode } from './errors.ts';
import { EVENTS_MAX, type IngestCaller, type IngestOptions } from './ingest.ts';

/** What became of events: what Kafka holds of them, or why it cannot be said that it holds all. */
export type Acceptance =
  | { ok: true; accepted: number; rejected: readonly Rejection[] }
  | { ok: false; code: Extract<EdgeErrorCode, 'overloaded' | 'not_acknowledged'> };

/** Where a request comes from. */
export interface Peer extends CallerSigns {
  clientIp: string;
}

/** A record beyond this is cut, whatever the number of its events. */
const RECORD_BYTES_MAX = 512 * 1024;

/**
 * Takes any number of events: cleans and hashes them, writes them as records of at most 50, and answers when Kafka has
 * acknowledged every record. Where one is not, the client sends all again, and dedup drops those that were held.
 */
export function createAcceptor(
  options: IngestOptions,
): (events: readonly unknown[], peer: Peer, caller: IngestCaller) => Promise<Acceptance> {
  const { metrics } = options;
  return async (events, peer, { key, site }) => {
    const receivedAtMs = options.nowMs();
    const context: IntakeContext = {
      site,
      caller: key.caller,
      receivedAtMs,
      ...peer,
      country: null,
      anonymousSalt: options.anonymousSalt(receivedAtMs),
      identitySecret: options.identitySecret,
      randomEventId: () => options.randomEventId(),
    };
    const batch = takeBatch(events, context);
    const results = await Promise.all(
      records(batch.taken, options).map(({ partition, value }) => options.sender.send(partition, value)),
    );
    metrics.in(events.length);
    const refusal = firstRefusal(results);
    if (refusal !== null) {
      metrics.dropped(refusal, events.length);
      return { ok: false, code: refusal === 'not_acknowledged' ? refusal : 'overloaded' };
    }
    metrics.passed(batch.taken.length);
    for (const { reason } of batch.dropped) metrics.dropped(reason, 1);
    if (batch.rejected.length > 0) metrics.dropped('rejected', batch.rejected.length);
    return { ok: true, accepted: batch.taken.length, rejected: batch.rejected };
  };
}

function firstRefusal(results: readonly SendResult[]): SendRefusal['code'] | null {
  const refused = results.find((result) => !result.ok);
  return refused === undefined || refused.ok ? null : refused.code;
}

interface RawRecord {
  partition: number;
  value: Buffer;
}

/** Records in the order of the events, each on the partition of its first event. */
function records(events: readonly Event[], { schemaId, partitions }: IngestOptions): RawRecord[] {
  const cut: RawRecord[] = [];
  let writer = createBatchWriter(schemaId);
  let first: Event | null = null;
  const finish = (): void => {
    if (first === null) return;
    cut.push({ partition: visitorPartition(first.site_id, first.distinct_id, partitions), value: writer.finish() });
    writer = createBatchWriter(schemaId);
    first = null;
  };
  for (const event of events) {
    first ??= event;
    writer.addEvent(event);
    if (writer.count >= EVENTS_MAX || writer.byteLength > RECORD_BYTES_MAX) finish();
  }
  finish();
  return cut;
}
