import { failpoint } from '#infra/failpoint/failpoint.ts';
import type { HttpReply, HttpRequestIn } from '#infra/http/server.ts';
import type { PartitionSender } from '#infra/kafka/sender.ts';
import type { Metrics } from '#infra/metrics/metrics.ts';
import { readEnvelope } from '#pipelines/intake/envelope.ts';
import { type Rejection, takeBatch } from '#pipelines/intake/take_batch.ts';
import type { Event } from '#schemas/event.ts';
import { createBatchWriter } from '#schemas/event_batch.ts';
import { visitorPartition } from '#schemas/partition.ts';
import type { ApiKey, Site } from '#schemas/setting.ts';
import { readBody } from './body.ts';
import { callerSigns } from './caller.ts';
import { type EdgeErrorCode, errorAnswer, RETRY_AFTER_S } from './errors.ts';

/** SPEC section 8. */
export const EVENTS_MAX = 50;

export interface IngestOptions {
  sender: PartitionSender;
  schemaId: number;
  partitions: number;
  anonymousSalt(nowMs: number): Buffer;
  identitySecret: Buffer;
  randomEventId(): string;
  nowMs(): number;
  metrics: Metrics;
}

export interface IngestCaller {
  key: ApiKey;
  site: Site;
}

/** An answer to a client; `retryAfterS` goes into a header. */
export interface IngestAnswer {
  status: number;
  body: object;
  retryAfterS?: number;
}

/** Takes one request: reads, cleans and hashes its events, and answers when Kafka holds what was accepted. */
export function createIngest(
  options: IngestOptions,
): (request: HttpRequestIn, caller: IngestCaller) => Promise<IngestAnswer> {
  const { metrics } = options;
  const rejected = metrics.counter('svc_edge_rejected_total', 'Events rejected as malformed', ['code']);

  return async (request, caller) => {
    const read = readBody(request.body as Buffer, request.headers['content-encoding']);
    if (!read.ok) return refusal(read.code);
    const envelope = readEnvelope(read.body, EVENTS_MAX);
    if (!envelope.ok)
      return { status: envelope.status, body: { error: { code: envelope.code, message: envelope.message } } };
    const receivedAtMs = options.nowMs();
    const batch = takeBatch(envelope.events, {
      site: caller.site,
      caller: caller.key.caller,
      receivedAtMs,
      clientIp: request.ip,
      ...callerSigns(request),
      country: null,
      anonymousSalt: options.anonymousSalt(receivedAtMs),
      identitySecret: options.identitySecret,
      randomEventId: options.randomEventId,
    });
    failpoint('edge.before_send');
    if (batch.taken.length > 0) {
      const sent = await options.sender.send(
        partitionOfRequest(batch.taken, options.partitions),
        encode(batch.taken, options.schemaId),
      );
      if (!sent.ok) {
        metrics.in(envelope.events.length);
        metrics.dropped(sent.code, envelope.events.length);
        return refusal(sent.code === 'not_acknowledged' ? 'not_acknowledged' : 'overloaded');
      }
    }
    failpoint('edge.after_send');
    metrics.batchSeconds((options.nowMs() - receivedAtMs) / 1000);
    metrics.in(envelope.events.length);
    metrics.passed(batch.taken.length);
    for (const { reason } of batch.dropped) metrics.dropped(reason, 1);
    for (const { code } of batch.rejected) {
      metrics.dropped('rejected', 1);
      rejected.inc({ code });
    }
    return answerOf(batch.taken.length, batch.rejected, envelope.events.length);
  };
}

function answerOf(accepted: number, rejected: readonly Rejection[], total: number): IngestAnswer {
  if (rejected.length === total) return { status: 400, body: { ...errorAnswer('events_rejected').body, rejected } };
  return { status: 200, body: rejected.length === 0 ? { accepted } : { accepted, rejected } };
}

function refusal(code: EdgeErrorCode): IngestAnswer {
  const { status, body } = errorAnswer(code);
  return status === 503 ? { status, body, retryAfterS: RETRY_AFTER_S } : { status, body };
}

/** The request's events stay together: one record, on the partition of its first event. */
function partitionOfRequest(events: readonly Event[], partitions: number): number {
  const first = events[0] as Event;
  return visitorPartition(first.site_id, first.distinct_id, partitions);
}

function encode(events: readonly Event[], schemaId: number): Buffer {
  const writer = createBatchWriter(schemaId, 512 * events.length + 64);
  for (const event of events) writer.addEvent(event);
  return writer.finish();
}

/** Sends an answer with its headers. */
export function sendAnswer(reply: HttpReply, answer: IngestAnswer): HttpReply {
  if (answer.retryAfterS !== undefined) reply.header('retry-after', String(answer.retryAfterS));
  return reply.code(answer.status).send(answer.body);
}
