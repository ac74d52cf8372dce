import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { topicOffsets } from '#infra/kafka/offsets.ts';
import { deadTopic, type Stage, TOPICS } from '#infra/kafka/topics.ts';
import {
  createDeadLetterStore,
  type DeadLetterStore,
  type DeadLettersError,
  type ResendRules,
} from '#infra/redelivery/dead_letter_store.ts';
import { createDedupIndex } from '#infra/redis/indexes/dedup_index.ts';
import { createCodec } from '#infra/registry/codec.ts';
import { dedupKey } from '#pipelines/dedup/dedup.ts';
import { replayTopic } from '#pipelines/delivery/retry_topics.ts';
import {
  createDeadLetter,
  DEAD_BYTES_MAX,
  type DeadLetterPosition,
  deadLetterId,
  undeliveredDeadLetter,
} from '#pipelines/redelivery/dead_letter.ts';
import type { DeadLetterState } from '#pipelines/redelivery/resend.ts';
import type { SourcePosition } from '#schemas/event.ts';
import { createBatchWriter, encodeEvent, noPerson } from '#schemas/event_batch.ts';
import type { DeadLetter } from '#schemas/records.ts';
import { writeWire } from '#schemas/wire.ts';
import { quiet } from '#test/harness/kafka.ts';
import { until } from '#test/harness/until.ts';
import { append, events, idsOn, newIds, recordsOn } from './stage_events.ts';
import { type StageWorld, startStage, useStageWorld } from './stages_fixture.ts';

const TEST_MS = 150_000;
/** A neighbour is through in this time, whatever lies beside it; without load it is a tenth. */
const LARGE_BYTES = 5 * 1024 * 1024;
const world = useStageWorld();

/** A record with an event between two others that breaks off behind its head; `eventId` of the broken one first. */
function broken(schemaId: number, site: string, ids: readonly string[]): Buffer {
  const writer = createBatchWriter(schemaId);
  for (const [index, event] of events(site, ids).entries()) {
    const bytes = encodeEvent(event);
    const kept = index === 1 ? bytes.subarray(0, bytes.length - 40) : bytes;
    writer.add({ partition: 0, offset: 1_000, index }, noPerson(), kept);
  }
  return writer.finish();
}

/** Values that are no record of ours, with the reason they die for. */
function poisons(schemaId: number, sound: Buffer): [reason: string, value: Buffer | null][] {
  const unknown = Buffer.from(sound);
  unknown.writeInt32BE(2_000_000_000, 1);
  const magic = Buffer.from(sound);
  magic[0] = 7;
  const large = randomBytes(LARGE_BYTES);
  large[0] = 0;
  large.writeInt32BE(schemaId, 1);
  return [
    ['wire_null', null],
    ['wire_short', Buffer.from([0, 1])],
    ['wire_magic', Buffer.concat([Buffer.from([99]), randomBytes(300)])],
    ['wire_magic', magic],
    ['schema_unknown', unknown],
    ['avro_malformed', sound.subarray(0, sound.length - 100)],
    ['avro_malformed', large],
  ];
}

async function deadLettersOf(at: StageWorld, stage: Stage): Promise<DeadLetter[]> {
  const codec = await createCodec<DeadLetter>(at.registry, deadTopic(stage), 'dead_letter');
  const records = await recordsOn(at.session.config.brokers, deadTopic(stage));
  const read = await Promise.all(records.map(({ value }) => codec.decode(value)));
  return read.flatMap((one) => (one.ok ? [one.value] : []));
}

/** Appends poison and good records in turn to the topic a stage reads. */
async function spoil(at: StageWorld, topic: string, site: string) {
  const schemaId = await at.registry.idOf(topic, 'event_batch');
  const good = newIds(20);
  const sound = (ids: readonly string[]): Buffer => {
    const writer = createBatchWriter(schemaId);
    const batch = events(site, ids);
    for (const [index, event] of batch.entries()) {
      writer.add({ partition: 0, offset: 2_000, index }, noPerson(), encodeEvent(event));
    }
    return writer.finish();
  };
  const values = poisons(schemaId, sound(newIds(3)));
  const mixed = values.flatMap(([, value], index) => [sound(good.slice(2 * index, 2 * index + 2)), value]);
  await append(at, topic, 0, [...mixed, sound(good.slice(14))]);
  return { good, reasons: values.map(([reason]) => reason) };
}

test('poison on every events topic dies by itself, and what lies beside it passes', { timeout: TEST_MS }, async () => {
  const at = world();
  const stages = [
    startStage(at, 'dedup'),
    startStage(at, 'identity'),
    startStage(at, 'warehouse'),
    startStage(at, 'delivery', { DELIVERY_DESTINATION: 'webhook' }),
  ];
  await Promise.all(stages.map(({ ready }) => ready));
  const raw = await spoil(at, TOPICS.raw, 'spoilt');
  const unique = await spoil(at, TOPICS.unique, 'spoilt');
  const identified = await spoil(at, TOPICS.identified, 'spoilt');

  const ends = newIds(3);
  await append(at, TOPICS.raw, 0, [broken(await at.registry.idOf(TOPICS.raw, 'event_batch'), 'spoilt', ends)]);
  const neighbours = [ends[0], ends[2]] as string[];
  const expected = [...raw.good, ...unique.good, ...identified.good, ...neighbours].sort();
  await until(
    'the neighbours to pass',
    async () => (await idsOn(at, TOPICS.identified, 'spoilt')).length >= expected.length,
  );
  expect((await idsOn(at, TOPICS.identified, 'spoilt')).sort()).toEqual(expected);

  // The broken event has a sound head, so that dedup, which reads no more, passes it to identity.
  const dead = async (stage: Stage) => (await deadLettersOf(at, stage)).map(({ reason }) => reason).sort();
  const inStages: [Stage, string[]][] = [
    ['dedup', raw.reasons],
    ['identity', [...unique.reasons, 'transform_failed']],
    ['warehouse', identified.reasons],
    ['delivery', identified.reasons],
  ];
  for (const [stage, reasons] of inStages) {
    await until(`the dead letters of ${stage}`, async () => (await dead(stage)).length >= reasons.length);
    expect([stage, await dead(stage)]).toEqual([stage, [...reasons].sort()]);
  }
  const deadLetters = await deadLettersOf(at, 'identity');
  expect(deadLetters.find(({ reason }) => reason === 'transform_failed')).toMatchObject({
    topic: TOPICS.raw,
    partition: 0,
    index: 1,
  });
  const large = deadLetters.find(({ bytes_total }) => bytes_total === LARGE_BYTES);
  expect(large).toMatchObject({ stage: 'identity', topic: TOPICS.unique, partition: 0, index: -1 });
  expect(large?.bytes).toHaveLength(DEAD_BYTES_MAX);
  // Nothing but the schema that nobody registers is tried again: it may be one that a registry's copy has yet to learn.
  const failures = stages.flatMap(({ log }) => log().filter(({ msg }) => msg.startsWith('batch failed')));
  expect(new Set(failures.map(({ err }) => (err as { code?: string }).code))).toEqual(new Set(['schema_awaited']));
});

const NOWHERE = { partition: 0, offset: 9_000, index: 0 };

/** A record of events with these coordinates, or without any. */
async function batchOf(at: StageWorld, site: string, ids: readonly string[], coordinate: SourcePosition | null) {
  const writer = createBatchWriter(await at.registry.idOf(TOPICS.raw, 'event_batch'));
  for (const event of events(site, ids)) writer.add(coordinate, noPerson(), encodeEvent(event));
  return writer.finish();
}

async function putDeadLetter(at: StageWorld, stage: Stage, value: Buffer, index: number, total = value.length) {
  const codec = await createCodec<DeadLetter>(at.registry, deadTopic(stage), 'dead_letter');
  const deadLetter = createDeadLetter(
    { stage, topic: TOPICS.raw, ...NOWHERE, index },
    'transform_failed',
    'Error',
    value,
    Date.now(),
  );
  await append(at, deadTopic(stage), 1, [codec.encode({ ...deadLetter, bytes_total: total })]);
}

async function idsOfDeadLetters(store: DeadLetterStore): Promise<DeadLetterPosition[]> {
  const places: DeadLetterPosition[] = [];
  let after: DeadLetterPosition | null = null;
  do {
    const page = await store.list({
      stage: null,
      reason: 'transform_failed',
      state: null,
      sinceMs: null,
      after,
      limit: 3,
    });
    const ours = page.deadLetters.filter(({ deadLetter }) => deadLetter.offset === NOWHERE.offset);
    places.push(...ours.map(({ place }) => place));
    after = page.next;
  } while (after !== null);
  return places;
}

/** Ids of a site's rows, each as often as it is there. */
async function storedIds({ env }: StageWorld, site: string): Promise<string[]> {
  const { username, password, origin, pathname } = new URL(env['CLICKHOUSE_URL'] ?? '');
  const authorization = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
  const body = `SELECT sent_id FROM event_rows WHERE site_id = '${site}' FORMAT TSV`;
  const response = await fetch(`${origin}${pathname}`, { method: 'POST', body, headers: { authorization } });
  return (await response.text()).split('\n').filter((line) => line !== '');
}

test('letters that are sent in again pass once each, past the claims they hold themselves', {
  timeout: TEST_MS,
}, async () => {
  const at = world();
  const stages = ['dedup', 'identity', 'warehouse'].map((name) => startStage(at, name));
  await Promise.all(stages.map(({ ready }) => ready));
  const [own = '', free = '', second = '', taken = '', joined = '', stored = '', last = ''] = newIds(7);
  const claims = createDedupIndex(at.redis, { windowMs: 192 * 3_600_000, bucketChars: null, cluster: false });
  const claimed = (id: string, coordinate: SourcePosition) => dedupKey('again', id, coordinate, claims.bucketChars());
  const before = [
    claimed(own, NOWHERE),
    claimed(second, { ...NOWHERE, index: 1 }),
    claimed(taken, { ...NOWHERE, offset: 5 }),
  ];
  expect(await claims.claim(before)).toEqual([null, null, null]);

  await putDeadLetter(at, 'dedup', await batchOf(at, 'again', [own], NOWHERE), 0);
  // A whole record, of which an event was claimed before it died.
  await putDeadLetter(at, 'dedup', await batchOf(at, 'again', [free, second], null), -1);
  await putDeadLetter(at, 'dedup', await batchOf(at, 'again', [taken], { ...NOWHERE, index: 7 }), 7);
  await putDeadLetter(at, 'dedup', await batchOf(at, 'again', [taken], NOWHERE), -1, 1_000_000);
  // A schema that the registry may yet learn keeps the other letters neither from the list nor from being sent in.
  await putDeadLetter(at, 'dedup', writeWire(987_654_321, Buffer.from('later')), -1);
  await putDeadLetter(at, 'identity', await batchOf(at, 'again', [joined], NOWHERE), 0);
  await putDeadLetter(at, 'warehouse', await batchOf(at, 'again', [stored], NOWHERE), 0);

  const open = () => createDeadLetterStore(at.session, at.registry, quiet, Date.now);
  const store = open();
  const places = await idsOfDeadLetters(store);
  expect(places).toHaveLength(7);
  const never = (): never => {
    throw new Error('no letter is of a delivery');
  };
  const rules = { accountOf: () => 'acme', hasDestination: never, isReplayed: never, outcomesOf: never };
  const resend = async (some: DeadLetterStore) => [...(await some.resend(places, rules)).values()];
  expect(await resend(store)).toEqual(['resent', 'resent', 'resent', 'cut', 'unreadable', 'resent', 'resent']);
  const sentBefore = ['resent_before', 'resent_before', 'resent_before'];
  expect(await resend(open())).toEqual([...sentBefore, 'cut', 'unreadable', 'resent_before', 'resent_before']);
  // What is noted of one is there for a store that was opened later, as after a restart, and the newest note counts.
  const [cut, unreadable] = [places[3], places[4]] as [DeadLetterPosition, DeadLetterPosition];
  const missing = { ...cut, offset: 100_000 };
  const outcomes = await store.resolve([cut, unreadable, missing], 'Lost for good.', 'ada');
  expect([...outcomes.values()]).toEqual(['resolved', 'resolved', 'unknown']);
  expect([...(await open().reopen([unreadable, places[0] as DeadLetterPosition], 'bo')).values()]).toEqual([
    'reopened',
    'not_resolved',
  ]);
  const inState = async (state: DeadLetterState) => {
    const query = { stage: null, reason: 'transform_failed', state, sinceMs: null, after: null, limit: 100 };
    const { deadLetters } = await open().list(query);
    return deadLetters.filter(({ deadLetter }) => deadLetter.offset === NOWHERE.offset).map(({ id }) => id);
  };
  expect(await inState('open')).toEqual([deadLetterId(unreadable)]);
  expect(await inState('resolved')).toEqual([deadLetterId(cut)]);
  expect(await inState('resent')).toHaveLength(5);
  expect(await open().read([cut, missing])).toMatchObject([{ resolution: { note: 'Lost for good.', by: 'ada' } }]);
  const [sentIn, unread] = await store.read([unreadable, places[0] as DeadLetterPosition]);
  expect([sentIn?.resentAtMs, unread?.views]).toEqual([expect.any(Number), null]);
  expect((await store.ofEvent('again', second)).map(({ place }) => place)).toEqual([places[1]]);
  expect(await store.ofEvent('elsewhere', second)).toEqual([]);

  await append(at, TOPICS.raw, 0, [await batchOf(at, 'again', [last], null)]);
  const rows = () => storedIds(at, 'again');
  await until('all to be stored', async () => (await rows()).length >= 6);
  expect((await idsOn(at, TOPICS.unique, 'again')).sort()).toEqual([own, free, second, last].sort());
  expect((await idsOn(at, TOPICS.identified, 'again')).sort()).toEqual([own, free, second, joined, last].sort());
  expect((await rows()).sort()).toEqual([own, free, second, joined, stored, last].sort());
});

test('a letter of a delivery that two control services send at once is written once, and not again before it is taken', {
  timeout: TEST_MS,
}, async () => {
  const at = world();
  await startStage(at, 'warehouse').ready;
  const codec = await createCodec<DeadLetter>(at.registry, deadTopic('delivery'), 'dead_letter');
  const value = await batchOf(at, 'again', newIds(1), NOWHERE);
  const died = { stage: 'delivery', topic: TOPICS.identified, ...NOWHERE, index: 0 } as const;
  const deadLetter = undeliveredDeadLetter('meta', died, { reason: 'meta_100', detail: '' }, value, Date.now());
  await append(at, deadTopic('delivery'), 1, [codec.encode(deadLetter)]);
  const open = (nowMs = Date.now) => createDeadLetterStore(at.session, at.registry, quiet, nowMs);
  const query = { stage: 'delivery', reason: 'meta_100', state: null, sinceMs: null, after: null, limit: 2 } as const;
  const [found] = (await open().list(query)).deadLetters;
  const rules: ResendRules = {
    accountOf: () => 'acme',
    hasDestination: () => true,
    isReplayed: async () => false,
    outcomesOf: async () => new Map(),
  };
  const resend = async (store: DeadLetterStore): Promise<string> => {
    const answer = store.resend(found === undefined ? [] : [found.place], rules);
    return answer.then(
      (outcomes) => [...outcomes.values()].join(),
      ({ code }: DeadLettersError) => code,
    );
  };
  const jobs = async () => (await recordsOn(at.session.config.brokers, replayTopic('meta'))).length;

  // The one that is fenced may come again; the one that comes later waits for delivery, which nobody runs here.
  const answers = (await Promise.all([resend(open()), resend(open())])).toSorted();
  expect(['dead_letters_unavailable resent', 'not_known resent']).toContain(answers.join(' '));
  let clockMs = Date.now();
  expect(await resend(open(() => (clockMs += 5_000)))).toBe('not_known');
  expect(await jobs()).toBe(1);

  const ends = await topicOffsets(at.session.admin, replayTopic('meta'));
  await at.session.admin.setOffsets({
    groupId: at.session.groupOf('delivery.meta'),
    topic: replayTopic('meta'),
    partitions: ends.map(({ partition, high }) => ({ partition, offset: high })),
  });
  expect(await resend(open())).toBe('resent_before');
  expect(await jobs()).toBe(1);
});
