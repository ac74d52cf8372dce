import { createKafka } from '#infra/kafka/client.ts';
import { openFencedProducer, type PartitionRecords } from '#infra/kafka/producers.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import { createCodec, type EventBatchReader } from '#infra/registry/codec.ts';
import type { Registry } from '#infra/registry/schema_registry.ts';
import { kindOfDestination } from '#pipelines/delivery/destination_id.ts';
import { replayTopic } from '#pipelines/delivery/retry_topics.ts';
import { deadLetterKey } from '#pipelines/redelivery/dead_letter.ts';
import {
  type EventOutcome,
  placeOf,
  type ResendOutcome,
  refusedAsIs,
  selectUndelivered,
} from '#pipelines/redelivery/resend.ts';
import type { EncodedEvent } from '#schemas/event_batch.ts';
import type { DeliveryJobRecord } from '#schemas/records.ts';
import { eventsOf, type LoggedDeadLetter, type MarksWorld, readResent, resentRecord } from './dead_letter_log.ts';
import { hasReached, jobRecords } from './replay_topics.ts';

/** What others than Kafka know of what is to be delivered after all. */
export interface UndeliveredRules {
  /** Whether events of a site are sent to a destination. */
  hasDestination(siteId: string, destination: string): boolean;
  /** Whether a replay to a destination of the same kind is not over, as the topic of replays says at this moment. */
  isReplayed(destination: string): Promise<boolean>;
  /** What the outcomes in ClickHouse say of events at a destination, by their places; null where it does not answer. */
  outcomesOf(destination: string, views: readonly EncodedEvent[]): Promise<ReadonlyMap<string, EventOutcome> | null>;
}

/** What letters of deliveries are resent with. */
export interface UndeliveredWorld extends MarksWorld {
  registry: Registry;
  reader: EventBatchReader;
  nowMs(): number;
}

const WRITE_RETRIES = 8;
/** How long delivery and the warehouse may take with what is under way, to all destinations; whoever waits is a person. */
const SETTLED_MS_MAX = 10_000;

/**
 * Writes letters of deliveries for their destinations once more, each letter once, and notes that in the same transaction. What a
 * destination has by now, or is tried again by itself, is not written.
 */
export async function resendUndelivered(
  world: UndeliveredWorld,
  deadLetters: readonly LoggedDeadLetter[],
  rules: UndeliveredRules,
): Promise<Map<string, ResendOutcome>> {
  const outcomes = new Map<string, ResendOutcome>();
  const open = deadLetters.filter(({ id, deadLetter }) => {
    const refusal = refusedAsIs(deadLetter);
    if (refusal !== null) outcomes.set(id, refusal);
    return refusal === null;
  });
  const untilMs = world.nowMs() + SETTLED_MS_MAX;
  for (const [destination, ones] of Map.groupBy(open, ({ deadLetter }) => deadLetter.destination ?? '')) {
    for (const [id, outcome] of await resendTo({ ...world, untilMs }, destination, ones, rules))
      outcomes.set(id, outcome);
  }
  return outcomes;
}

/** Until when one waits, in milliseconds since 1970 UTC. */
type WaitingWorld = UndeliveredWorld & { untilMs: number };

async function resendTo(
  world: WaitingWorld,
  destination: string,
  deadLetters: readonly LoggedDeadLetter[],
  rules: UndeliveredRules,
): Promise<Map<string, ResendOutcome>> {
  const { session, logger } = world;
  const all = (outcome: ResendOutcome) => new Map(deadLetters.map(({ id }) => [id, outcome]));
  // Before the fence, which would end the process of a replay that runs.
  if (await rules.isReplayed(destination)) return all('replay_runs');
  const kind = kindOfDestination(destination);
  const kafka = createKafka(session.config, 'svc.control.resend', logger, WRITE_RETRIES);
  // The id of the replays to the destination: one that begins from now on ends this, or waits until delivery has taken
  // what was written here.
  const producer = await openFencedProducer(kafka, session.groupOf(`replay.${kind}`));
  try {
    if (await rules.isReplayed(destination)) return all('replay_runs');
    if (!(await isSettled(world, kind))) return all('not_known');
    const { outcomes, chosen, notes } = await choose(world, destination, deadLetters, rules);
    if (notes.length > 0) {
      const jobs = await createCodec<DeliveryJobRecord>(world.registry, replayTopic(kind), 'delivery_job');
      const schemaId = await world.registry.idOf(TOPICS.identified, 'event_batch');
      const to = { destination, askedAtMs: world.nowMs() };
      const records = jobRecords(to, chosen, jobs, schemaId, session.config.smallPartitions);
      await producer.appendAll([...records, ...notes]);
    }
    return outcomes;
  } finally {
    await producer.close();
  }
}

/** Whether delivery has taken what was written for it before, and ClickHouse has every outcome of that. */
async function isSettled({ session, nowMs, untilMs }: WaitingWorld, kind: string): Promise<boolean> {
  const delivery = session.groupOf(`delivery.${kind}`);
  return (
    (await hasReached(session, delivery, replayTopic(kind), untilMs, nowMs)) &&
    (await hasReached(session, session.groupOf('warehouse'), TOPICS.outcomes, untilMs, nowMs))
  );
}

/** What is to be written of letters: their events, each once though it died more than once, and the notes that they were. */
async function choose(
  world: UndeliveredWorld,
  destination: string,
  deadLetters: readonly LoggedDeadLetter[],
  rules: UndeliveredRules,
): Promise<{ outcomes: Map<string, ResendOutcome>; chosen: EncodedEvent[]; notes: PartitionRecords[] }> {
  const views = new Map<string, readonly EncodedEvent[]>();
  for (const { id, deadLetter } of deadLetters) views.set(id, (await eventsOf(world.reader, deadLetter)) ?? []);
  const known = await rules.outcomesOf(destination, [...views.values()].flat());
  const resent = await readResent(world);
  const outcomes = new Map<string, ResendOutcome>();
  const chosen = new Map<string, EncodedEvent>();
  const notes: PartitionRecords[] = [];
  for (const { id, deadLetter } of deadLetters) {
    const key = deadLetterKey(id, deadLetter);
    const found = resent.has(key)
      ? 'resent_before'
      : selectUndelivered(deadLetter, views.get(id) ?? [], known, (siteId) =>
          rules.hasDestination(siteId, destination),
        );
    outcomes.set(id, typeof found === 'string' ? found : 'resent');
    if (typeof found === 'string') continue;
    resent.set(key, world.nowMs());
    for (const [at, view] of found.entries()) chosen.set(placeOf(view) ?? `${id}/${at}`, view);
    notes.push(resentRecord(world, key, deadLetter));
  }
  return { outcomes, chosen: [...chosen.values()], notes };
}
