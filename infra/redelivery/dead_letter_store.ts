// Lists, searches and resends dead-letter records.
import { createMutex } from '#infra/concurrency/gates.ts';
import { createKafka, type KafkaSession } from '#infra/kafka/client.ts';
import { openFencedProducer, type PartitionRecords } from '#infra/kafka/producers.ts';
import { STAGES, type Stage, TOPICS } from '#infra/kafka/topics.ts';
import type { Logger } from '#infra/log/logger.ts';
import { createCodec, createEventBatchReader, type EventBatchReader } from '#infra/registry/codec.ts';
import type { Registry } from '#infra/registry/schema_registry.ts';
import type { SuppressionList } from '#pipelines/erasure/suppression.ts';
import {
  type DeadLetterPosition,
  deadLetterId,
  deadLetterKey,
  isOfDelivery,
} from '#pipelines/redelivery/dead_letter.ts';
import {
  type DeadLetterState,
  type DeadLetterStatus,
  isInState,
  type MarkOutcome,
  mayHoldEvents,
  RESENDING_STAGES,
  type ResendingStage,
  type ResendOutcome,
  refusedAsIs,
  sourcePosition,
} from '#pipelines/redelivery/resend.ts';
import { createBatchWriter, decodeEventName, type EncodedEvent } from '#schemas/event_batch.ts';
import type { DeadLetter, DeadResolution } from '#schemas/records.ts';
import { reservedHeaders } from '#schemas/wire.ts';
import {
  eventsOf,
  findDeadLetters,
  type LoggedDeadLetter,
  type MarksWorld,
  marksOf,
  type RedeliveryState,
  readDeadLetters,
  readMarks,
  readResent,
  reopenDeadLetters,
  resentRecord,
  resolveDeadLetters,
  windowsOf,
} from './dead_letter_log.ts';
import { resendUndelivered, type UndeliveredRules } from './resend_undelivered.ts';

/** A dead letter, what was done about it, and its events if they can be read; the name of one that is damaged is empty. */
export interface DeadLetterView extends LoggedDeadLetter, DeadLetterStatus {
  views: (EncodedEvent & { readonly name: string })[] | null;
}

/** What others know of letters that are to be resent. */
export interface ResendRules extends UndeliveredRules {
  /** Whose allowance an event of a site counts against. */
  accountOf(siteId: string): string;
}

interface ListQuery {
  stage: Stage | null;
  reason: string | null;
  /** Null: whatever was done about them. */
  state: DeadLetterState | null;
  sinceMs: number | null;
  /** Where the page before ended; null for the first page. */
  after: DeadLetterPosition | null;
  limit: number;
}

interface DeadLettersPage {
  deadLetters: DeadLetterView[];
  /** Where the next page begins; null after the last. A page may be short or empty without being the last. */
  next: DeadLetterPosition | null;
}

function withoutErased(reader: EventBatchReader, suppressed: Pick<SuppressionList, 'kept'>): EventBatchReader {
  return {
    ...reader,
    async read(value) {
      const read = await reader.read(value);
      return read.ok ? { ok: true, value: [...suppressed.kept(read.value, (view) => view)] } : read;
    },
  };
}

/** Dead letters, oldest first by stage and partition. */
export interface DeadLetterStore {
  list(query: ListQuery): Promise<DeadLettersPage>;
  /** Those that there are of some, in one reading. */
  read(places: readonly DeadLetterPosition[]): Promise<DeadLetterView[]>;
  /** Those of dedup, identity and warehouse that hold an event, among the newest of each partition. @throws SearchBusyError */
  ofEvent(siteId: string, eventId: string): Promise<DeadLetterView[]>;
  /**
   * Resends letters, each only once, however often and by whomever that is asked: the transaction that resends it records it.
   */
  resend(places: readonly DeadLetterPosition[], rules: ResendRules): Promise<Map<string, ResendOutcome>>;
  /** Notes that somebody is done with letters, and why; what was noted before of one is replaced. */
  resolve(places: readonly DeadLetterPosition[], note: string, by: string): Promise<Map<string, MarkOutcome>>;
  /** Makes letters open again with which somebody was done. */
  reopen(places: readonly DeadLetterPosition[], by: string): Promise<Map<string, MarkOutcome>>;
}

/** Kafka or the registry did not answer. The letter may have been resent or not; it is safe to ask again. */
export class DeadLettersError extends Error {
  readonly code = 'dead_letters_unavailable';
}

/** Offsets that are read for one page; a letter is at most 64 KiB long. */
const SCANNED_MAX = 500;
/** Of what is read for one page so much is held in memory, and the rest of one letter. */
const PAGE_BYTES_MAX = 8 * 1024 * 1024;
const WRITE_RETRIES = 8;
/** Newest offsets of each partition that are searched for an event. */
const SEARCHED_MAX = 250;

/** The topic on which a stage reads resent events; nobody else reads it. */
const TAKEN_AGAIN: Record<ResendingStage, string> = {
  dedup: TOPICS.raw,
  identity: TOPICS.redeliverIdentity,
  warehouse: TOPICS.redeliverWarehouse,
};

/**
 * The dead letters of an installation. Schemas are asked for when they are first needed, so that settings can be changed
 * while the registry is away.
 *
 * @param nowMs Milliseconds since 1970 UTC.
 * @param suppressed Whose events are neither shown nor sent in again, as if a letter did not hold them.
 */
export function createDeadLetterStore(
  session: KafkaSession,
  registry: Registry,
  logger: Logger,
  nowMs: () => number,
  suppressed: Pick<SuppressionList, 'kept'> = { kept: (events) => events },
): DeadLetterStore {
  const mutex = createMutex();
  let opened: StoreWorld | null = null;
  async function open(): Promise<StoreWorld> {
    opened ??= {
      ...{ session, logger, nowMs },
      codec: await createCodec<DeadLetter>(registry, TOPICS.resent, 'dead_letter', 'left_out'),
      resolutions: await createCodec<DeadResolution>(registry, TOPICS.resolved, 'dead_resolution', 'left_out'),
      reader: withoutErased(await createEventBatchReader(registry, TOPICS.raw), suppressed),
    };
    return opened;
  }
  /** What waits for a delivery keeps nothing else waiting. */
  const deliveries = createMutex();
  async function resendAll(
    places: readonly DeadLetterPosition[],
    rules: ResendRules,
  ): Promise<Map<string, ResendOutcome>> {
    const outcomes = new Map<string, ResendOutcome>(places.map((place) => [deadLetterId(place), 'unknown']));
    const others = places.filter((place) => !isOfDelivery(place));
    if (others.length > 0) {
      const resent = await mutex.run(async () => resend(await open(), others, rules.accountOf));
      for (const [id, outcome] of resent) outcomes.set(id, outcome);
    }
    const undelivered = places.filter(isOfDelivery);
    if (undelivered.length === 0) return outcomes;
    const world = { ...(await open()), registry };
    const found = await findDeadLetters(world, undelivered);
    const delivered = await deliveries.run(() => resendUndelivered(world, found, rules));
    for (const [id, outcome] of delivered) outcomes.set(id, outcome);
    return outcomes;
  }
  const within = <T>(work: (world: StoreWorld) => Promise<T>): Promise<T> => open().then(work).catch(unavailable);
  const inTurn = <T>(work: (world: StoreWorld) => Promise<T>): Promise<T> => mutex.run(() => within(work));
  return {
    list: (query) => within((world) => list(world, query)),
    read: (places) => within((world) => readSome(world, places)),
    ofEvent: createEventSearches((siteId, eventId) => within((world) => ofEvent(world, siteId, eventId))),
    resend: (places, rules) => resendAll(places, rules).catch(unavailable),
    resolve: (places, note, by) => inTurn((world) => resolveDeadLetters(world, places, note, by)),
    reopen: (places, by) => inTurn((world) => reopenDeadLetters(world, places, by)),
  };
}

interface StoreWorld extends MarksWorld {
  reader: EventBatchReader;
  nowMs(): number;
}

/** Turns errors of Kafka and the registry into the one error that callers know; any other error is our own fault. */
function unavailable(error: unknown): never {
  const passes = error instanceof Error && (error.name.startsWith('KafkaJS') || 'recovery' in error);
  throw passes ? new DeadLettersError('dead letters cannot be reached', { cause: error }) : error;
}

async function list(world: StoreWorld, query: ListQuery): Promise<DeadLettersPage> {
  const { stage, reason, state, sinceMs, after, limit } = query;
  const marks = await readMarks(world);
  const deadLetters: DeadLetterView[] = [];
  let left = SCANNED_MAX;
  const room = createPageRoom(PAGE_BYTES_MAX);
  const stages = stage === null ? STAGES : [stage];
  for (const one of stages.slice(after === null ? 0 : Math.max(0, stages.indexOf(after.stage as Stage)))) {
    for (const window of await windowsOf(world.session, one, sinceMs)) {
      const { partition, end } = window;
      if (after?.stage === one && partition < after.partition) continue;
      const isAfter = after?.stage === one && after.partition === partition;
      const first = isAfter ? Math.max(window.first, after.offset + 1) : window.first;
      const until = Math.min(end, first + left);
      if (first >= until) continue;
      const read = await readDeadLetters(
        world.session,
        world.codec,
        one,
        [{ partition, first, end: until }],
        (at, bytes) => room.take(at.offset, bytes),
      );
      for (const found of read) {
        if (reason !== null && found.deadLetter.reason !== reason) continue;
        if (state !== null && !isInState(marksOf(found, marks), state)) continue;
        deadLetters.push(await shown(world, found, marks));
        if (deadLetters.length === limit) return { deadLetters, next: found.place };
      }
      left -= until - first;
      const isOver = left === 0 || room.fullAt !== null;
      if (isOver) return { deadLetters, next: { stage: one, partition, offset: room.fullAt ?? until - 1 } };
    }
  }
  return { deadLetters, next: null };
}

async function ofEvent(world: StoreWorld, siteId: string, eventId: string): Promise<DeadLetterView[]> {
  const marks = await readMarks(world);
  const found: DeadLetterView[] = [];
  for (const stage of RESENDING_STAGES) {
    for (const deadLetter of await newestDeadLetters(world, stage)) {
      const one = await shown(world, deadLetter, marks);
      if (one.views?.some((view) => view.siteId === siteId && view.eventId === eventId)) found.push(one);
    }
  }
  return found;
}

async function newestDeadLetters({ session, codec }: StoreWorld, stage: Stage): Promise<LoggedDeadLetter[]> {
  const windows = (await windowsOf(session, stage, null)).map(({ partition, first, end }) => ({
    partition,
    first: Math.max(first, end - SEARCHED_MAX),
    end,
  }));
  return readDeadLetters(session, codec, stage, windows, () => true);
}

async function readSome(world: StoreWorld, places: readonly DeadLetterPosition[]): Promise<DeadLetterView[]> {
  const found = await findDeadLetters(world, places);
  if (found.length === 0) return [];
  const marks = await readMarks(world);
  return Promise.all(found.map((one) => shown(world, one, marks)));
}

async function shown({ reader }: StoreWorld, found: LoggedDeadLetter, marks: RedeliveryState): Promise<DeadLetterView> {
  const views = mayHoldEvents(found.deadLetter) ? await eventsOf(reader, found.deadLetter) : null;
  const named = views?.map((view) => ({ ...view, name: decodeEventName(view.eventBytes) ?? '' })) ?? null;
  return { ...found, ...marksOf(found, marks), views: named };
}

async function resend(
  world: StoreWorld,
  places: readonly DeadLetterPosition[],
  accountOf: (siteId: string) => string,
): Promise<Map<string, ResendOutcome>> {
  const { session, logger } = world;
  const kafka = createKafka(session.config, 'svc.control.resend', logger, WRITE_RETRIES);
  // Fences other processes that resend letters, so that the read that follows sees all that was resent.
  const producer = await openFencedProducer(kafka, session.groupOf('control.resend'));
  try {
    const resent = await readResent(world);
    const outcomes = new Map<string, ResendOutcome>(places.map((place) => [deadLetterId(place), 'unknown']));
    const outputs: PartitionRecords[] = [];
    for (const found of await findDeadLetters(world, places)) {
      const key = deadLetterKey(found.id, found.deadLetter);
      const records = resent.has(key) ? 'resent_before' : await recordsOf(world, found.deadLetter, accountOf);
      outcomes.set(found.id, typeof records === 'string' ? records : 'resent');
      if (typeof records === 'string') continue;
      resent.set(key, world.nowMs());
      outputs.push(records, resentRecord(world, key, found.deadLetter));
    }
    if (outputs.length > 0) await producer.appendAll(outputs);
    return outcomes;
  } finally {
    await producer.close();
  }
}

/** A letter's events as a record for its stage, or why they cannot be resent. */
async function recordsOf(
  { reader, session }: StoreWorld,
  deadLetter: DeadLetter,
  accountOf: (siteId: string) => string,
): Promise<PartitionRecords | ResendOutcome> {
  const refusal = refusedAsIs(deadLetter);
  if (refusal !== null) return refusal;
  const views = await eventsOf(reader, deadLetter);
  const first = views?.[0];
  if (views === null || first === undefined) return 'unreadable';
  const writer = createBatchWriter(reader.schemaId);
  for (const [index, view] of views.entries()) {
    writer.add(sourcePosition(deadLetter, view, index), view.personBytes, view.eventBytes);
  }
  const topic = TAKEN_AGAIN[deadLetter.stage as ResendingStage];
  const partition = topic === TOPICS.raw ? deadLetter.partition : deadLetter.partition % session.config.smallPartitions;
  const headers = topic === TOPICS.raw ? { headers: reservedHeaders(accountOf(first.siteId), '') } : {};
  return [topic, partition, [{ key: null, value: writer.finish(), ...headers }]];
}

/** Searches that may wait for the one that runs: each reads a stage's newest letters, and a caller waits some seconds. */
const WAITING_MAX = 8;

/** As many searches wait as may. */
export class SearchBusyError extends Error {
  readonly code = 'query_busy';
}

/** Looks for the event of a site. @throws SearchBusyError */
type SearchEvent<Found> = (siteId: string, eventId: string) => Promise<Found>;

/**
 * One search at a time, as it holds what it reads in memory. Who asks for an event that is searched or waited for shares
 * its search.
 */
export function createEventSearches<Found>(search: SearchEvent<Found>): SearchEvent<Found> {
  const mutex = createMutex();
  const under = new Map<string, Promise<Found>>();
  return async (siteId, eventId) => {
    // Ids of sites have no colon.
    const key = `${siteId}:${eventId}`;
    const same = under.get(key);
    if (same !== undefined) return same;
    if (under.size > WAITING_MAX) throw new SearchBusyError('as many searches for dead letters wait as may');
    const found = mutex.run(() => search(siteId, eventId)).finally(() => under.delete(key));
    under.set(key, found);
    return found;
  };
}

/** How many bytes of letters are held for one page. */
export function createPageRoom(bytesMax: number) {
  let bytesLeft = bytesMax;
  let fullAt: number | null = null;
  return {
    /** The offset of the letter that filled it; null while there is room. */
    get fullAt(): number | null {
      return fullAt;
    },
    /** Whether the letter at an offset is held as well: letters are, in their order, up to the one that fills the room. */
    take(offset: number, bytes: number): boolean {
      if (fullAt !== null) return false;
      bytesLeft -= bytes;
      if (bytesLeft <= 0) fullAt = offset;
      return true;
    },
  };
}
