import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { deadTopic, type Stage, TOPICS } from '#infra/kafka/topics.ts';
import { createCodec } from '#infra/registry/codec.ts';
import { DEAD_BYTES_MAX } from '#pipelines/dead_letter.ts';
import { createBatchWriter, encodeEvent, noPerson } from '#schemas/event_batch.ts';
import type { DeadLetter } from '#schemas/records.ts';
import { until } from '../support/wait.ts';
import { append, events, idsOn, newIds, recordsOn } from './stage_events.ts';
import { type StageWorld, startStage, useStageWorld } from './stage_world.ts';

const TEST_MS = 150_000;
/** A neighbour is through in this time, whatever lies beside it; without load it is a tenth. */
const PASS_MS = 60_000;
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

async function lettersOf(at: StageWorld, stage: Stage): Promise<DeadLetter[]> {
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
    PASS_MS,
  );
  expect((await idsOn(at, TOPICS.identified, 'spoilt')).sort()).toEqual(expected);

  // The broken event has a sound head, so that dedup, which reads no more, passes it to identity.
  const dead = async (stage: Stage) => (await lettersOf(at, stage)).map(({ reason }) => reason).sort();
  const inStages: [Stage, string[]][] = [
    ['dedup', raw.reasons],
    ['identity', [...unique.reasons, 'threw']],
    ['warehouse', identified.reasons],
    ['delivery', identified.reasons],
  ];
  for (const [stage, reasons] of inStages) {
    await until(`the dead letters of ${stage}`, async () => (await dead(stage)).length >= reasons.length);
    expect([stage, await dead(stage)]).toEqual([stage, [...reasons].sort()]);
  }
  const letters = await lettersOf(at, 'identity');
  expect(letters.find(({ reason }) => reason === 'threw')).toMatchObject({ topic: TOPICS.raw, partition: 0, index: 1 });
  const large = letters.find(({ bytes_total }) => bytes_total === LARGE_BYTES);
  expect(large).toMatchObject({ stage: 'identity', topic: TOPICS.unique, partition: 0, index: -1 });
  expect(large?.bytes).toHaveLength(DEAD_BYTES_MAX);
  expect(stages.map(({ log }) => log().filter(({ msg }) => msg.startsWith('batch failed')).length)).toEqual([
    0, 0, 0, 0,
  ]);
});
