import { expect, test } from 'vitest';
import type { DeadLetterStore, ResendRules } from '#infra/redelivery/dead_letter_store.ts';
import { type DeadLetterPosition, deadLetterId } from '#pipelines/redelivery/dead_letter.ts';
import { QueryBusyError } from '#services/control/queries/answers.ts';
import { limitDeadLetterReads } from '#services/control/redelivery/dead_letter_routes.ts';
import { memoryDeadLetters } from './memory_letters.ts';

const ask = { stage: null, reason: null, state: null, sinceMs: null, after: null, limit: 1 };
const asker = (label: string) => ({ label, signal: new AbortController().signal });

/** Lists that end when they are told to. */
function heldUp() {
  const ends: (() => void)[] = [];
  const deadLetters: DeadLetterStore = memoryDeadLetters(() => 1);
  deadLetters.list = async () => {
    await new Promise<void>((resolve) => ends.push(resolve));
    return { deadLetters: [], next: null };
  };
  return { deadLetters, ends };
}
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('two readings of one caller and four in all are under way at once, and others have their turn first', async () => {
  const { deadLetters, ends } = heldUp();
  const deadLettersFor = limitDeadLetterReads(deadLetters);
  const many = Array.from({ length: 6 }, () => deadLettersFor(asker('many')).list(ask));
  await turn();
  expect(ends).toHaveLength(2);
  const others = ['a', 'b', 'c'].map((label) => deadLettersFor(asker(label)).list(ask));
  await turn();
  expect(ends).toHaveLength(4);
  for (let ended = 0; ended < 9; ended++) {
    ends[ended]?.();
    await turn();
  }
  expect(await Promise.all([...many, ...others])).toHaveLength(9);
});

const rules: ResendRules = {
  accountOf: () => '',
  hasDestination: () => true,
  isReplayed: async () => false,
  outcomesOf: async () => new Map(),
};

test('who waits too long is told that it is busy, whatever they would have done', async () => {
  const { deadLetters, ends } = heldUp();
  const deadLettersFor = limitDeadLetterReads(deadLetters, 20);
  const own = deadLettersFor(asker('ada'));
  const held = [own.list(ask), own.list(ask)];
  await turn();
  await expect(own.read([])).rejects.toThrow(QueryBusyError);
  await expect(own.resend([], rules)).rejects.toThrow(QueryBusyError);
  await expect(own.resolve([], '', '')).rejects.toThrow(QueryBusyError);
  await expect(own.reopen([], '')).rejects.toThrow(QueryBusyError);
  expect(await own.ofEvent('shop', 'x')).toEqual([]);
  for (const end of ends) end();
  expect(await Promise.all(held)).toHaveLength(2);
});

test('who waits for deliveries keeps nobody else waiting but who does so too', async () => {
  const deadLetters = memoryDeadLetters(() => 1);
  const ends: (() => void)[] = [];
  const asked: string[] = [];
  deadLetters.resend = async (places) => {
    asked.push(places.map(({ stage }) => stage).join());
    if (places.some(({ stage }) => stage === 'delivery')) await new Promise<void>((resolve) => ends.push(resolve));
    return new Map(places.map((place) => [deadLetterId(place), 'resent']));
  };
  const deadLettersFor = limitDeadLetterReads(deadLetters, 20);
  const [delivery, dedup] = ['delivery', 'dedup'].map((stage) => ({ stage, partition: 0, offset: 1 })) as [
    DeadLetterPosition,
    DeadLetterPosition,
  ];
  const first = deadLettersFor(asker('ada')).resend([dedup, delivery], rules);
  const waiting = ['ada', 'bob', 'eve', 'dan'].map((label) => deadLettersFor(asker(label)).resend([delivery], rules));
  for (const one of waiting) one.catch(() => undefined);
  await turn();
  expect(await deadLettersFor(asker('ada')).list(ask)).toEqual({ deadLetters: [], next: null });
  expect((await deadLettersFor(asker('ada')).resend([dedup], rules)).size).toBe(1);
  for (const one of waiting) await expect(one).rejects.toThrow(QueryBusyError);
  expect(asked).toEqual(['delivery', 'dedup']);
  ends[0]?.();
  expect(await first).toEqual(
    new Map([
      [deadLetterId(delivery), 'resent'],
      [deadLetterId(dedup), 'resent'],
    ]),
  );
});
