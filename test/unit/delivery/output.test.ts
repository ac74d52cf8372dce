import { expect, test } from 'vitest';
import type { OutRecord } from '#infra/kafka/record.ts';
import { createCodec } from '#infra/registry/codec.ts';
import type { Registry } from '#infra/registry/schema_registry.ts';
import type { EntryOutcome } from '#pipelines/delivery/contract.ts';
import { webhook } from '#pipelines/delivery/destinations/webhook/adapter.ts';
import { diverted, paused, skipped } from '#pipelines/delivery/outcomes.ts';
import { createBatchWriter, readBatch } from '#schemas/event_batch.ts';
import type { DeadLetter, DeliveryOutcomes } from '#schemas/records.ts';
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
  writer.addEvent(entry.event);
  const [view] = readBatch(writer.finish().subarray(WIRE_HEADER_BYTES));
  if (view === undefined) throw new Error('no event');
  return {
    ...{ siteId: 'site_1', offset: 1, view, entry, outcome, attempt: 6, isMain, pausedFor: '' },
    ...{ firstAttemptedAtMs: NOW_MS - hours * HOUR_MS, attemptedAtMs: NOW_MS - 40 },
  };
}

async function written(one: Attempted) {
  const output = await createDeliveryOutput(registry, webhook, 8, () => 0);
  const { outputs, tally } = output.write([one], [], NOW_MS);
  const [outcomes, letters] = [
    await createCodec<DeliveryOutcomes>(registry, 'delivery.outcomes', 'delivery'),
    await createCodec<DeadLetter>(registry, 'dead.delivery', 'dead_letter'),
  ];
  const of = (topic: string): OutRecord | undefined => outputs.find((record) => record.topic === topic);
  const record = await outcomes.decode(of('delivery.outcomes')?.value ?? null);
  const letter = await letters.decode(of('dead.delivery')?.value ?? null);
  return {
    topics: outputs.map(({ topic }) => topic).sort(),
    outcomes: record.ok ? record.value : null,
    letter: letter.ok ? letter.value : null,
    tally,
  };
}

test.for([
  ['an attempt', { ...diverted('http_503', 'try later'), tookMs: 30, answer: { status: 503, body: 'try later' } }],
  ['a pause', paused('http_401', 'who are you?', 60_000)],
] as const)('%s that no lane can follow any more is published as dead, as its letter is', async ([, outcome]) => {
  const { topics, outcomes, letter, tally } = await written(attempted(outcome, 72));
  expect(topics).toEqual(['dead.delivery', 'delivery.outcomes']);
  expect(outcomes).toMatchObject({
    ...{ attempt: 6, attempted_at: NOW_MS - 40 },
    outcomes: [{ outcome: 'dead', reason: 'retries_exhausted', took_ms: outcome.tookMs }],
    answers: 'answer' in outcome ? [outcome.answer] : [],
  });
  expect(letter).toMatchObject({ destination: 'webhook', reason: 'retries_exhausted', detail: outcome.detail });
  expect([tally.in, tally.dead.get('retries_exhausted'), tally.diverted.size]).toEqual([1, 1, 0]);
});

test('an attempt that a lane follows is published as it was', async () => {
  const { topics, outcomes, letter, tally } = await written(attempted(diverted('http_503', ''), 60));
  expect(topics).toEqual(['delivery.outcomes', 'delivery.webhook.retry.6h']);
  expect(outcomes?.outcomes).toMatchObject([{ outcome: 'diverted', reason: 'http_503' }]);
  expect([letter, tally.in, tally.diverted.get('6h')]).toEqual([null, 1, 1]);
});

test.for([
  ['no outcome where nothing was tried', true, undefined],
  ['an outcome where the one before would say for ever that it waits or is dead', false, ['skipped']],
] as const)('a skip of what settings leave out has %s', async ([, isMain, made]) => {
  const { outcomes, tally } = await written(attempted(skipped('destination_disabled'), 0, isMain));
  expect(outcomes?.outcomes.map(({ outcome }) => outcome)).toEqual(made);
  expect(tally.dropped.get('destination_disabled')).toBe(1);
});
