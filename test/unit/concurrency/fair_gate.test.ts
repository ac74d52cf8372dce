import { expect, test } from 'vitest';
import { createFairGate, GateBusyError } from '#infra/concurrency/gates.ts';

const never = new AbortController().signal;

/** A gate whose callers are named as they begin. */
function watched(limits: Parameters<typeof createFairGate>[0]) {
  const gate = createFairGate(limits);
  const begun: string[] = [];
  const leave = new Map<string, () => void>();
  return {
    begun,
    async enter(name: string, signal = never): Promise<void> {
      const left = await gate.enter(name.slice(0, 1), signal);
      begun.push(name);
      leave.set(name, left);
    },
    async leave(name: string): Promise<void> {
      leave.get(name)?.();
      await new Promise(setImmediate);
    },
  };
}

test('a group has so many at once, and others do not wait for it', async () => {
  const gate = watched({ atOnce: 3, groupAtOnce: 2, waitingMax: 9 });
  void gate.enter('a1');
  void gate.enter('a2');
  void gate.enter('a3');
  await gate.enter('b1');
  expect(gate.begun).toEqual(['a1', 'a2', 'b1']);
  await gate.leave('b1');
  expect(gate.begun).toEqual(['a1', 'a2', 'b1']);
  await gate.leave('a1');
  expect(gate.begun).toEqual(['a1', 'a2', 'b1', 'a3']);
});

test('the group with the fewest inside comes first, then the one that has waited longest since its turn', async () => {
  const gate = watched({ atOnce: 2, groupAtOnce: 2, waitingMax: 9 });
  await gate.enter('a1');
  await gate.enter('a2');
  for (const name of ['a3', 'a4', 'b1', 'b2', 'c1']) void gate.enter(name);
  await gate.leave('a1');
  expect(gate.begun.slice(2)).toEqual(['b1']);
  await gate.leave('a2');
  expect(gate.begun.slice(2)).toEqual(['b1', 'a3']);
  await gate.leave('b1');
  expect(gate.begun.slice(2)).toEqual(['b1', 'a3', 'c1']);
  await gate.leave('c1');
  expect(gate.begun.slice(2)).toEqual(['b1', 'a3', 'c1', 'b2']);
});

test('who has waited too long or is gone holds no place, and who leaves twice has left once', async () => {
  const gate = watched({ atOnce: 1, groupAtOnce: 1, waitingMax: 2 });
  await gate.enter('a1');
  const gone = new AbortController();
  const waiting = gate.enter('a2', gone.signal);
  void gate.enter('a3');
  await expect(gate.enter('a4')).rejects.toThrow(GateBusyError);
  gone.abort(new Error('gone'));
  await expect(waiting).rejects.toThrow('gone');
  await expect(gate.enter('a5', gone.signal)).rejects.toThrow('gone');
  await gate.leave('a1');
  await gate.leave('a1');
  void gate.enter('b1');
  await new Promise(setImmediate);
  expect(gate.begun).toEqual(['a1', 'a3']);
});
