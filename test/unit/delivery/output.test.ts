import { expect, test } from 'vitest';
import type { OutRecord } from '#infra/kafka/record.ts';
import { createCodec } from '#infra/registry/codec.ts';
import type { Registry } from '#infra/registry/schema_registry.ts';
import type { EntryOutcome } from '#pipelines/delivery/contract.ts';
import { diverted, paused, skipped } from '#pipelines/delivery/delivery_run.ts';
import { webhook } from '#pipelines/delivery/destinations/webhook/adapter.ts';
import { createBatchWriter, encodeEvent, noPerson, readBatch } from '#schemas/event_batch.ts';
import type { DeadLetter, DeliveryJobRecord, DeliveryOutcomes } from '#schemas/records.ts';
import { WIRE_HEADER_BYTES } from '#schemas/wire.ts';
import type { Attempted } from '#services/delivery/attempts.ts';
import { createDeliveryOutput } from '#services/delivery/output.ts';
import { entryOf, NOW_MS } from './entries.ts';

const HOUR_MS = 3_600_000;
const registry: Registry = { register: async () => 1, idOf: async () => 1, typeOf: async () => null };

/** An event of the sixth attempt, the first of which was so many hours ago. */
function attempted(outcome: EntryOutcome, hours: number, isMain = false): Attempted {
  const writer = createBatchWriter(1);
  const entry = { ...entryOf(), coordinate: { partition: 3, offset: 8, index: 0 } };
  writer.add(null, noPerson(), encodeEvent(entry.event));
  const [view] = readBatch(writer.finish().subarray(WIRE_HEADER_BYTES));
  if (view === undefined) throw new Error('no event');
  return {
    ...{ siteId: 'site_1', destination: 'webhook', offset: 1, view, entry, outcome, attempt: 6, isMain, pausedFor: '' },
    ...{ firstAttemptedAtMs: NOW_MS - hours * HOUR_MS, attemptedAtMs: NOW_MS - 40 },
  };
}

async function jobsOf(outputs: readonly OutRecord[]) {
  const codec = await createCodec<DeliveryJobRecord>(registry, 'delivery.webhook.replay', 'delivery_job');
  const retryTopics = outputs.filter(({ topic }) => topic.includes('.retry.'));
  const read = await Promise.all(retryTopics.map(({ value }) => codec.decode(value)));
  return read.flatMap((one, at) => (one.ok ? [{ ...one.value, topic: retryTopics[at]?.topic }] : []));
}

async function written(one: Attempted) {
  const output = await createDeliveryOutput(
    registry,
    webhook,
    { eventPartitions: 8, smallPartitions: 2 },
    () => undefined,
    () => 0,
  );
  const { outputs, tally } = output.write([one], [], NOW_MS);
  const [outcomes, deadLetters] = [
    await createCodec<DeliveryOutcomes>(registry, 'delivery.outcomes', 'delivery'),
    await createCodec<DeadLetter>(registry, 'dead.delivery', 'dead_letter'),
  ];
  const of = (topic: string): OutRecord | undefined => outputs.find((record) => record.topic === topic);
  const record = await outcomes.decode(of('delivery.outcomes')?.value ?? null);
  const deadLetter = await deadLetters.decode(of('dead.delivery')?.value ?? null);
  return {
    topics: outputs.map(({ topic }) => topic).sort(),
    outcomes: record.ok ? record.value : null,
    deadLetter: deadLetter.ok ? deadLetter.value : null,
    tally,
  };
}

test.for([
  ['an attempt', { ...diverted('http_503', 'try later'), tookMs: 30, answer: { status: 503, body: 'try later' } }],
  ['a pause', paused('http_401', 'who are you?', 60_000)],
] as const)('%s that no lane can follow any more is published as dead, as its letter is', async ([, outcome]) => {
  const { topics, outcomes, deadLetter, tally } = await written(attempted(outcome, 72));
  expect(topics).toEqual(['dead.delivery', 'delivery.outcomes']);
  expect(outcomes).toMatchObject({
    ...{ attempt: 6, attempted_at: NOW_MS - 40 },
    outcomes: [{ outcome: 'dead', reason: 'retries_exhausted', took_ms: outcome.tookMs }],
    answers: 'answer' in outcome ? [outcome.answer] : [],
  });
  expect(deadLetter).toMatchObject({ destination: 'webhook', reason: 'retries_exhausted', detail: outcome.detail });
  expect([tally.in, tally.dead.get('retries_exhausted'), tally.diverted.size]).toEqual([1, 1, 0]);
});

test('an attempt that a lane follows is published as it was', async () => {
  const { topics, outcomes, deadLetter, tally } = await written(attempted(diverted('http_503', ''), 60));
  expect(topics).toEqual(['delivery.outcomes', 'delivery.webhook.retry.6h']);
  expect(outcomes?.outcomes).toMatchObject([{ outcome: 'diverted', reason: 'http_503' }]);
  expect([deadLetter, tally.in, tally.diverted.get('6h')]).toEqual([null, 1, 1]);
});

test.for([
  ['no outcome where nothing was tried', true, undefined],
  ['an outcome where the one before would say for ever that it waits or is dead', false, ['skipped']],
] as const)('a skip of what settings leave out has %s', async ([, isMain, made]) => {
  const { outcomes, tally } = await written(attempted(skipped('destination_disabled'), 0, isMain));
  expect(outcomes?.outcomes.map(({ outcome }) => outcome)).toEqual(made);
  expect(tally.dropped.get('destination_disabled')).toBe(1);
});

test('a letter says where the event stands', async () => {
  const { deadLetter } = await written(attempted(diverted('http_503', ''), 72));
  expect(deadLetter).toMatchObject({ topic: 'events.raw', partition: 3, offset: 8, index: 0 });
});

test('what waits together waits for the last of its times, and since the first', async () => {
  const throttled = (retryAfterMs: number): EntryOutcome => ({ ...diverted('http_429', ''), retryAfterMs });
  const first = attempted(throttled(7 * HOUR_MS), 1);
  const later = { ...attempted(throttled(6.5 * HOUR_MS), 1), attemptedAtMs: NOW_MS - 10 };
  const output = await createDeliveryOutput(
    registry,
    webhook,
    { eventPartitions: 8, smallPartitions: 2 },
    () => undefined,
    () => 0,
  );
  for (const both of [
    [first, later],
    [later, first],
  ]) {
    const [job] = await jobsOf(output.write(both, [], NOW_MS).outputs);
    expect(job).toMatchObject({ attempt: 7, paused: false, waits_since: NOW_MS - 40 });
    expect(job?.due_at).toBe(NOW_MS + 6 * HOUR_MS);
  }
  const short = (retryAfterMs: number): Attempted => ({ ...attempted(throttled(retryAfterMs), 1), attempt: 1 });
  const [job] = await jobsOf(output.write([short(40_000), short(20_000)], [], NOW_MS).outputs);
  expect(job).toMatchObject({ topic: 'delivery.webhook.retry.5s', due_at: NOW_MS + 40_000 });
});

test('of what is paused one probes, until its time has come or its transaction has failed', async () => {
  const output = await createDeliveryOutput(
    registry,
    webhook,
    { eventPartitions: 8, smallPartitions: 2 },
    () => undefined,
    () => 0,
  );
  const waiting = (): Attempted => attempted(paused('breaker_open', 'http_500', 60_000), 0);
  const topicsAt = async (nowMs: number, isCommitted: boolean): Promise<(string | undefined)[]> => {
    const { outputs, committed } = output.write([waiting(), waiting()], [], nowMs);
    if (isCommitted) committed();
    return (await jobsOf(outputs)).map(({ topic }) => topic?.split('.').at(-1));
  };
  expect(await topicsAt(NOW_MS, false)).toEqual(['1m', '10m']);
  expect(await topicsAt(NOW_MS, true)).toEqual(['1m', '10m']);
  expect(await topicsAt(NOW_MS + 59_999, true)).toEqual(['10m']);
  expect(await topicsAt(NOW_MS + 60_000, true)).toEqual(['1m', '10m']);
});

test('what is paused as it was before has no outcome again', async () => {
  const again = { ...attempted(paused('breaker_open', '', 60_000), 1), pausedFor: 'breaker_open' };
  expect((await written(again)).outcomes).toBeNull();
  expect((await written({ ...again, pausedFor: 'throttled' })).outcomes).not.toBeNull();
});
