import { expect, test } from 'vitest';
import type { DeadLetterStore, ResendRules } from '#infra/dead_letters/dead_letter_store.ts';
import { gateLetters } from '#services/control/letter_gate.ts';
import { QueryBusyError } from '#services/control/query_gate.ts';
import { memoryLetters } from './memory_letters.ts';

const ask = { stage: null, reason: null, state: null, sinceMs: null, after: null, limit: 1 };
const asker = (label: string) => ({ label, signal: new AbortController().signal });

/** Lists that end when they are told to. */
function heldUp() {
  const ends: (() => void)[] = [];
  const letters: DeadLetterStore = memoryLetters(() => 1);
  letters.list = async () => {
    await new Promise<void>((resolve) => ends.push(resolve));
    return { letters: [], next: null };
  };
  return { letters, ends };
}
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('two readings of one caller and four in all are under way at once, and others have their turn first', async () => {
  const { letters, ends } = heldUp();
  const lettersFor = gateLetters(letters);
  const many = Array.from({ length: 6 }, () => lettersFor(asker('many')).list(ask));
  await turn();
  expect(ends).toHaveLength(2);
  const others = ['a', 'b', 'c'].map((label) => lettersFor(asker(label)).list(ask));
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
  const { letters, ends } = heldUp();
  const lettersFor = gateLetters(letters, 20);
  const own = lettersFor(asker('ada'));
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
