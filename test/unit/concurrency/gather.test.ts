import { afterEach, expect, test, vi } from 'vitest';
import { gather } from '#infra/redis/client.ts';

/** An answerer that can be held up, and what it was asked. */
function answerer(questionsMax = 10, intervalMs = 0) {
  const limits = {
    questionsMax,
    waitingMax: 4,
    waitMsMax: 250,
    intervalMs,
    deadlineExceeded: () => new Error('too late'),
  };
  const calls: [string, readonly number[]][] = [];
  const waiting: (() => void)[] = [];
  const ask = gather(async (group: string, questions: readonly number[]) => {
    calls.push([group, questions]);
    await new Promise<void>((resolve) => waiting.push(resolve));
    if (questions.includes(13)) throw new Error('unlucky');
    return questions.map((question) => question * 10);
  }, limits);
  const answerNext = async (): Promise<void> => {
    waiting.shift()?.();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { calls, ask, answerNext };
}

test('at rest a question is asked at once, and what comes meanwhile goes together', async () => {
  const { calls, ask, answerNext } = answerer();
  const answers = [1, 2, 3].map((question) => ask('a', question));
  expect(calls).toEqual([['a', [1]]]);
  await answerNext();
  expect(calls).toEqual([
    ['a', [1]],
    ['a', [2, 3]],
  ]);
  await answerNext();
  expect(await Promise.all(answers)).toEqual([10, 20, 30]);
  const last = ask('a', 4);
  expect(calls.at(-1)).toEqual(['a', [4]]);
  await answerNext();
  expect(await last).toBe(40);
});

test('groups do not wait for each other', async () => {
  const { calls, ask, answerNext } = answerer();
  const answers = [ask('a', 1), ask('b', 2)];
  expect(calls).toEqual([
    ['a', [1]],
    ['b', [2]],
  ]);
  await answerNext();
  await answerNext();
  expect(await Promise.all(answers)).toEqual([10, 20]);
});

test('a call takes no more than so many', async () => {
  const { calls, ask, answerNext } = answerer(2);
  const answers = [1, 2, 3, 4].map((question) => ask('a', question));
  for (let at = 0; at < 3; at += 1) await answerNext();
  expect(calls.map(([, questions]) => questions)).toEqual([[1], [2, 3], [4]]);
  expect(await Promise.all(answers)).toEqual([10, 20, 30, 40]);
});

test('a call that fails fails for those in it alone', async () => {
  const { ask, answerNext } = answerer(2);
  const answers = [1, 2, 13, 4].map((question) => ask('a', question).catch((error: Error) => error.message));
  for (let at = 0; at < 3; at += 1) await answerNext();
  expect(await Promise.all(answers)).toEqual([10, 'unlucky', 'unlucky', 40]);
});

afterEach(() => vi.useRealTimers());

test('a question waits no longer than it may, the calls before its own included, and is not asked then', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const { calls, ask, answerNext } = answerer(1);
  const told: string[] = [];
  const tell = (question: number) =>
    void ask('a', question).catch((error: Error) => told.push(`${question}: ${error.message}`));
  tell(1);
  vi.advanceTimersByTime(200);
  tell(2);
  tell(3);
  vi.advanceTimersByTime(249);
  await new Promise((resolve) => setImmediate(resolve));
  expect(told).toEqual(['1: too late']);
  vi.advanceTimersByTime(1);
  await new Promise((resolve) => setImmediate(resolve));
  expect(told).toEqual(['1: too late', '2: too late', '3: too late']);
  const last = ask('a', 4);
  await answerNext();
  await answerNext();
  expect(await last).toBe(40);
  expect(calls.map(([, questions]) => questions)).toEqual([[1], [4]]);
});

test('no more wait than may, in a group', async () => {
  const { ask, answerNext } = answerer();
  const answers = [1, 2, 3, 4, 5, 6].map((question) => ask('a', question).catch((error: Error) => error.message));
  const other = ask('b', 1);
  for (let at = 0; at < 3; at += 1) await answerNext();
  expect(await Promise.all(answers)).toEqual([10, 20, 30, 40, 50, 'too late']);
  expect(await other).toBe(10);
});

test('with an interval, what comes within it goes together when it is over, and what comes later at once', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  const { calls, ask, answerNext } = answerer(10, 5);
  const asked = (): (readonly number[])[] => calls.map(([, questions]) => questions);
  const answers = [ask('a', 1)];
  await answerNext();
  answers.push(ask('a', 2), ask('a', 3));
  await vi.advanceTimersByTimeAsync(4);
  expect(asked()).toEqual([[1]]);
  await vi.advanceTimersByTimeAsync(1);
  expect(asked()).toEqual([[1], [2, 3]]);
  await answerNext();
  await vi.advanceTimersByTimeAsync(5);
  answers.push(ask('a', 4));
  expect(asked()).toEqual([[1], [2, 3], [4]]);
  await answerNext();
  expect(await Promise.all(answers)).toEqual([10, 20, 30, 40]);
});
