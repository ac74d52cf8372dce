import { getEventListeners } from 'node:events';
import { expect, test } from 'vitest';
import { QueryCancelledError } from '#infra/clickhouse/queries/select_rows.ts';
import {
  createQueryAnswers,
  createQueryGate,
  QueryBusyError,
  type RunQuery,
} from '#services/control/queries/answers.ts';

const question = (text: string, cacheTtlMs = 1_000) => ({
  kind: 'query' as const,
  siteId: 'shop',
  about: 'top',
  reads: null,
  isShared: true,
  asked: {},
  statement: { sql: text, parameters: {} },
  cacheTtlMs,
  answer: (rows: readonly unknown[]) => ({ rows }),
});
const never = (): never => {
  throw new Error('never asked');
};
const answersOf = (ask: RunQuery) => createQueryAnswers(ask, () => 0, never, never, never);
const asker = (signal = new AbortController().signal) => ({ label: 'ann', signal });

test('a question that all have gone from is ended, and asked anew by the next', async () => {
  const signals: AbortSignal[] = [];
  const answers = answersOf((_statement, _question, { signal }) => {
    signals.push(signal);
    const { promise, reject } = Promise.withResolvers<unknown[]>();
    signal.addEventListener('abort', () => reject(new QueryCancelledError()));
    return promise;
  });
  const [one, other, third] = [new AbortController(), new AbortController(), new AbortController()];
  const waiting = [one, other].map(({ signal }) => answers.answer(question('a'), asker(signal)));
  one.abort();
  expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
  other.abort();
  expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
  expect(await Promise.all(waiting)).toEqual(Array(2).fill({ ok: false, code: 'query_cancelled' }));
  const next = answers.answer(question('a'), asker(third.signal));
  third.abort();
  expect((await next).ok).toBe(false);
  expect(signals).toHaveLength(2);
});

test('what is not to be kept is given to nobody, whatever they would take', async () => {
  let asked = 0;
  const answers = answersOf(async () => [++asked]);
  await answers.answer({ ...question('a', 0), isKept: false }, asker());
  expect(await answers.answer(question('a'), asker())).toEqual({ ok: true, body: { rows: [2], as_of: 0 } });
});

test('who is gone after the answer came does not take it from others', async () => {
  let asked = 0;
  const answers = answersOf(async () => [++asked]);
  const gone = new AbortController();
  await answers.answer(question('a'), asker(gone.signal));
  gone.abort();
  expect(await answers.answer(question('a'), asker())).toEqual({ ok: true, body: { rows: [1], as_of: 0 } });
});

test('what fails for a reason nobody foresaw is told to those who wait, and asked anew by the next', async () => {
  let asked = 0;
  const answers = answersOf(async () => {
    if (++asked === 1) throw new TypeError('a fault of ours');
    return [asked];
  });
  const { signal } = new AbortController();
  const waiting = [asker(signal), asker()].map((one) => answers.answer(question('a', 600_000), one));
  const outcomes = await Promise.allSettled(waiting);
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(getEventListeners(signal, 'abort')).toEqual([]);
  expect(await answers.answer(question('a', 600_000), asker())).toEqual({ ok: true, body: { rows: [2], as_of: 0 } });
  expect(asked).toBe(2);
});

test('a kept answer stays when the only one who asks for it again is gone at once', async () => {
  let asked = 0;
  const answers = answersOf(async () => [++asked]);
  await answers.answer(question('a'), asker());
  const again = answers.answer(question('a'), asker(AbortSignal.abort()));
  expect((await again).ok).toBe(true);
  expect(await answers.answer(question('a'), asker())).toMatchObject({ body: { rows: [1] } });
});

test('a site has so many at once, and what waits too long is refused', async () => {
  const gate = createQueryGate({ atOnce: 5, siteAtOnce: 1 }, 20);
  const { promise, resolve } = Promise.withResolvers<string>();
  const { signal } = new AbortController();
  const first = gate.pass('shop', signal, () => promise);
  expect(await gate.pass('other', signal, async () => 'passed')).toBe('passed');
  await expect(gate.pass('shop', signal, never)).rejects.toThrow(QueryBusyError);
  await expect(gate.pass('shop', AbortSignal.abort(), never)).rejects.toThrow(QueryCancelledError);
  resolve('done');
  expect(await first).toBe('done');
  await expect(gate.pass('shop', signal, never)).rejects.toThrow('never asked');
  expect(await gate.pass('shop', signal, async () => 'passed')).toBe('passed');
});
