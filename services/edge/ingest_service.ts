// The one way in for events of every protocol: admits, cleans, produces to Kafka, and answers when it holds them.

import { setImmediate } from 'node:timers/promises';
import { failpoint } from '#infra/failpoint.ts';
import type { PartitionSender, SendRefusal } from '#infra/kafka/sender.ts';
import type { Metrics } from '#infra/metrics/metrics.ts';
import type { IntakeContext } from '#pipelines/intake/call.ts';
import { createIdMemory } from '#pipelines/intake/event_id.ts';
import {
  type ProcessedBatch,
  processBatchInSlices,
  type Rejection,
  type Yielder,
} from '#pipelines/intake/take_event.ts';
import type { Limited, RateState } from '#pipelines/quota/limits.ts';
import { keyIdOf } from '#pipelines/settings/callers.ts';
import type { Event } from '#schemas/event.ts';
import { encodeEvents } from '#schemas/event_batch.ts';
import type { Account, ApiKey, Site } from '#schemas/setting.ts';
import { reservedHeaders, visitorPartition } from '#schemas/wire.ts';
import type { RateLimiter, Reservation } from './admission.ts';
import type { RequestSignals } from './auth.ts';
import type { BodyTurn } from './body.ts';
import { type EdgeErrorCode, PayloadError } from './errors.ts';
import type { RequestSpan } from './request_spans.ts';
import type { AnsweredEvents, MappedFrom, RejectionRecorder, Sender } from './site_activity.ts';

/** A limit of the API: docs/sending.md. */
export const EVENTS_MAX = 50;
/** A record beyond this is cut, whatever the number of its events. */
const RECORD_BYTES_MAX = 512 * 1024;

export interface AcceptOptions {
  sender: PartitionSender;
  schemaId: number;
  partitions: number;
  rateLimiter: RateLimiter;
  anonymousSalt(nowMs: number): Buffer;
  identitySecret: Buffer;
  randomEventId(): string;
  nowMs(): number;
  metrics: Metrics;
  /** Told of what is not accepted. */
  rejections: RejectionRecorder;
  /** Reads what is to be noted of a site's events; what it returns is called when Kafka holds them. */
  readAccepted(siteId: string, events: readonly Event[]): () => void;
}

export interface IngestCaller {
  key: ApiKey;
  site: Site;
  account: Account;
}

interface RequestOrigin extends RequestSignals {
  clientIp: string;
  /** When it says to have been sent. */
  sentAtMs?: number | null;
  /** It came by another product's protocol. */
  isCrossOrigin?: boolean;
  /** Its events are of the past (`asksForHistory`). */
  isHistorical?: boolean;
  /** The events were made here of what visitors did with surveys, promos and forms. */
  isEngageEvent?: boolean;
}

/**
 * Whether the events of a request are of the past, by what its body says under `historical_migration`. Anybody could make up a past
 * with a browser's key; and an offline-mode site has no ids by which the same event is known again. A value that is neither true nor
 * false is refused, as what it meant would go to ad platforms.
 *
 * @throws PayloadError
 */
export function asksForHistory(said: unknown, { key, site }: Pick<IngestCaller, 'key' | 'site'>): boolean {
  if (said === undefined || said === null || said === false) return false;
  if (said !== true) throw new PayloadError('historical_migration_invalid');
  if (key.caller !== 'server' || site.mode !== 'online') throw new PayloadError('historical_refused');
  return true;
}

/** What became of events: what Kafka holds of them, or why it cannot be said that it holds all. */
export type Acceptance =
  | {
      ok: true;
      accepted: number;
      /** Over the month's allowance and its grace. */
      dropped: number;
      /** By a rule of the site's. */
      blocked: number;
      rejected: readonly Rejection[];
      rate: RateState | null;
    }
  | { ok: false; code: Extract<EdgeErrorCode, 'overloaded' | 'not_acknowledged'> }
  | { ok: false; code: 'rate_limited'; limited: Limited };

/** What is left of a request's events until Kafka holds them. */
interface Prepared {
  ok: true;
  acceptance: Extract<Acceptance, { ok: true }>;
  caller: IngestCaller;
  receivedAtMs: number;
  reservation: Reservation;
  records: readonly RawRecord[];
  span: RequestSpan | null;
  total: number;
  answered: AnsweredCounts;
  note: () => void;
}

/** The one way in for events, whatever protocol they came by. */
export type IngestService = ReturnType<typeof createIngestService>;

/**
 * Takes any number of events: reserves their place in the month, cleans and hashes them, writes them as records of at most
 * 50, and answers when Kafka has acknowledged every record. Where one is not, the client sends all again, and dedup drops
 * those that were held. Over the allowance it is the last events of a request that are dropped.
 */
export function createIngestService(options: AcceptOptions) {
  const { rateLimiter, metrics, rejections } = options;
  const countAnswered = createAnsweredCount(metrics);
  const reusedIn = createIdMemory();

  function refusedFor<Code extends string>({ key, site }: IngestCaller, code: Code): Code {
    rejections.recordRequest({ siteId: site.site_id, key }, code);
    return code;
  }

  /** For a reason nobody foresaw; some of the events may have been produced. */
  function countFailed(reservation: Reservation, events: number): void {
    rateLimiter.markUncertain(reservation);
    metrics.in(events);
    metrics.dropped('internal', events);
  }

  /** Admits events and makes records of them, up to what has to be sent. */
  async function prepare(
    events: readonly unknown[],
    peer: RequestOrigin,
    caller: IngestCaller,
    source: MappedFrom | undefined,
    turn: BodyTurn | undefined,
  ): Promise<Prepared | Extract<Acceptance, { code: 'rate_limited' }>> {
    const { key, site, account } = caller;
    const receivedAtMs = options.nowMs();
    const requester = { key, account, clientIp: peer.clientIp };
    const admitted = await rateLimiter.admit(requester, receivedAtMs, events.length);
    if (!admitted.ok) return { ok: false, code: refusedFor(caller, 'rate_limited'), limited: admitted };
    const { reservation, rate } = admitted;
    const context = contextOf(peer, caller, receivedAtMs, options);
    const total = events.length;
    try {
      const batch = await processBatchInSlices(events, context, openTimeSlices());
      const requests = furtherRequests(batch.steps, total);
      if (requests > 0) await rateLimiter.charge(requester, options.nowMs(), requests);
      const { taken, rejected } = batch;
      const overQuota = Math.max(0, taken.length - reservation.granted);
      if (overQuota > 0) taken.length = reservation.granted;
      const accepted = taken.length;
      const blocked = batch.dropped.filter(({ reason }) => reason === 'blocked').length;
      const isHistorical = peer.isHistorical === true;
      const read = { events, batch, reused: reusedIn(taken), overQuota, isHistorical, source };
      const answered = countsOf(caller, read, rejections);
      const note = options.readAccepted(site.site_id, taken);
      const records = recordsOf(taken, options);
      turn?.end();
      if (accepted < reservation.granted) rateLimiter.release(reservation, reservation.granted - accepted);
      const acceptance = { ok: true as const, accepted, dropped: overQuota, blocked, rejected, rate };
      return {
        ok: true,
        acceptance,
        caller,
        receivedAtMs,
        reservation,
        records,
        span: peer.span,
        total,
        answered,
        note,
      };
    } catch (error) {
      rateLimiter.release(reservation, reservation.granted);
      throw error;
    }
  }

  async function send({ acceptance, caller, receivedAtMs, reservation, ...rest }: Prepared): Promise<Acceptance> {
    const { records, span, total, answered, note } = rest;
    const refusal = await produce(records, reservation, span, options).catch((error: unknown) => {
      countFailed(reservation, total);
      throw error;
    });
    if (refusal !== null) {
      metrics.in(total);
      metrics.dropped(refusal, total);
      return { ok: false, code: refusedFor(caller, refusal === 'not_acknowledged' ? refusal : 'overloaded') };
    }
    metrics.batchSeconds((options.nowMs() - receivedAtMs) / 1000);
    countAnswered(answered);
    note();
    return acceptance;
  }

  return {
    /**
     * Takes the events of one request.
     *
     * @param source The calls that the events were mapped from; absent: the events are those of the request.
     * @param turn Ended when nothing is held any more of what was read.
     */
    accept(
      events: readonly unknown[],
      peer: RequestOrigin,
      caller: IngestCaller,
      source?: MappedFrom,
      turn?: BodyTurn,
    ): Promise<Acceptance> {
      // Not one function: what it was called with lives for as long as it waits, and collecting garbage costs by what is alive.
      return prepare(events, peer, caller, source, turn).then((prepared) => (prepared.ok ? send(prepared) : prepared));
    },
    /** Whether a request would be refused for its rate; to be asked before its body is read. */
    limited(clientIp: string, caller: IngestCaller): Limited | null {
      const limited = rateLimiter.limited({ key: caller.key, account: caller.account, clientIp });
      if (limited !== null) refusedFor(caller, 'rate_limited');
      return limited;
    },
    /**
     * Counts a request that is refused for its content; tells whether it is refused for its rate before that.
     *
     * @param code Why it is refused; null for one that is not.
     */
    async countRefused(clientIp: string, caller: IngestCaller, code: string | null): Promise<Limited | null> {
      const requester = { key: caller.key, account: caller.account, clientIp };
      const admitted = await rateLimiter.admit(requester, options.nowMs(), 0);
      const refused = admitted.ok ? code : 'rate_limited';
      if (refused !== null) refusedFor(caller, refused);
      return admitted.ok ? null : admitted;
    },
  };
}

/** What a usual event costs with some to spare, and what beyond that counts as another request. */
const EVENT_STEPS_FREE = 400;
const STEPS_PER_REQUEST = 5_000;

/** A request that takes as long as several counts as these: limits of requests bound no work by themselves. */
function furtherRequests(steps: number, events: number): number {
  return Math.max(0, Math.floor((steps - events * EVENT_STEPS_FREE) / STEPS_PER_REQUEST));
}

function contextOf(
  peer: RequestOrigin,
  { key, site }: IngestCaller,
  receivedAtMs: number,
  { anonymousSalt, identitySecret, randomEventId }: AcceptOptions,
): IntakeContext {
  const caller = { site, caller: key.caller, keyId: keyIdOf(key.key_hash) };
  const secrets = { anonymousSalt: anonymousSalt(receivedAtMs), identitySecret, randomEventId };
  return { ...caller, receivedAtMs, ...peer, country: null, ...secrets };
}

/** Sends records; tells why Kafka does not hold them all, and what of the reservation is settled by that. */
async function produce(
  written: readonly RawRecord[],
  reservation: Reservation,
  span: RequestSpan | null,
  options: AcceptOptions,
): Promise<SendRefusal['code'] | null> {
  if (written.length === 0) return null;
  const headers = reservedHeaders(reservation.accountId, reservation.lease);
  const producing = span === null ? null : span.produce(written.length);
  if (producing !== null) Object.assign(headers, producing.headers);
  failpoint('edge.before_send');
  const sending = written.map(({ partition, value }) => options.sender.send(partition, value, headers));
  const [only] = sending;
  const results = only !== undefined && sending.length === 1 ? [await only] : await Promise.all(sending);
  failpoint('edge.after_send');
  let refusal: SendRefusal['code'] | null = null;
  results.forEach((result, at) => {
    if (result.ok) return;
    refusal ??= result.code;
    if (result.code === 'not_acknowledged') options.rateLimiter.markUncertain(reservation);
    else options.rateLimiter.release(reservation, written[at]?.events ?? 0);
  });
  producing?.end(refusal ?? undefined);
  return refusal;
}

interface RawRecord {
  partition: number;
  value: Buffer;
  events: number;
}

/** Records in the order of the events, each on the partition of its first event. */
function recordsOf(events: readonly Event[], { schemaId, partitions }: AcceptOptions): RawRecord[] {
  const records: RawRecord[] = [];
  for (let from = 0; from < events.length; ) {
    const first = events[from] as Event;
    const { count, value } = encodeEvents(schemaId, events, from, EVENTS_MAX, RECORD_BYTES_MAX);
    const partition = visitorPartition(first.site_id, first.distinct_id, partitions);
    records.push({ partition, events: count, value });
    from += count;
  }
  return records;
}

interface AnsweredCounts {
  all: number;
  passed: number;
  /** Null where all were accepted, and without a fault. */
  faulty: FaultyEvents | null;
}

/** What is counted of events that are not accepted, or with a fault; nothing of the events, as it is kept while Kafka is waited for. */
interface FaultyEvents {
  overQuota: number;
  dropped: ProcessedBatch['dropped'];
  malformed: readonly { code: string }[];
  warned: ProcessedBatch['warned'];
  note: () => void;
}

function countsOf(sender: Sender, read: AnsweredEvents, rejections: RejectionRecorder): AnsweredCounts {
  const { batch, reused, overQuota, source } = read;
  const { dropped, warned } = batch;
  const malformed = source === undefined ? batch.rejected : [...source.rejected, ...batch.rejected];
  const passed = batch.taken.length;
  const others = dropped.length + malformed.length + overQuota;
  const isSound = others + warned.length + reused.length === 0;
  const faulty = isSound ? null : { overQuota, dropped, malformed, warned, note: rejections.readEvents(sender, read) };
  return { all: passed + others, passed, faulty };
}

/**
 * Counts what became of the events of a request that was answered: for the metrics, and by site where some were not
 * accepted, or with a fault.
 */
function createAnsweredCount(metrics: Metrics): (answered: AnsweredCounts) => void {
  const rejected = metrics.counter('svc_edge_rejected_total', 'Events rejected as malformed', ['code']);
  const warned = metrics.counter('svc_edge_warned_total', 'Events accepted with a fault', ['code']);
  return ({ all, passed, faulty }) => {
    metrics.in(all);
    metrics.passed(passed);
    if (faulty === null) return;
    const { overQuota, dropped, malformed, warned: faults } = faulty;
    faulty.note();
    if (overQuota > 0) metrics.dropped('quota', overQuota);
    for (const { reason } of dropped) metrics.dropped(reason, 1);
    if (malformed.length > 0) metrics.dropped('rejected', malformed.length);
    for (const { code } of malformed) rejected.inc({ code });
    for (const { code } of faults) warned.inc({ code });
  };
}

/** One event may take some 40 ms beyond it, where it holds all that an event may. */
const TURN_MS = 5;

/** Turns of this process, the first of which begins now. */
export function openTimeSlices(): Yielder {
  let beganMs = performance.now();
  return {
    isOver: () => performance.now() - beganMs >= TURN_MS,
    async next() {
      await setImmediate();
      beganMs = performance.now();
    },
  };
}
