import { hash, randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { createRedis } from '#infra/redis/connection.ts';
import { createSharedAnswers } from '#infra/redis/query_cache.ts';
import { createQueryAnswers } from '#services/control/queries/answers.ts';
import { quiet } from '#test/harness/kafka.ts';
import { useRedis } from '#test/harness/redis.ts';
import { until } from '#test/harness/until.ts';

const redis = useRedis();
const never = (): never => {
  throw new Error('never asked');
};
const shares = () => createSharedAnswers(redis(), () => performance.now());
const { signal } = new AbortController();
const asker = { label: 'ann', signal };

/** A control service whose ClickHouse answers when it is told to. */
function service(shared: ReturnType<typeof shares> | null, nowMs = 5_000) {
  const asked: ((rows: unknown[]) => void)[] = [];
  const ask = (): Promise<unknown[]> => new Promise((resolve) => asked.push(resolve));
  const answers = createQueryAnswers(
    ask,
    () => nowMs,
    () => undefined,
    never,
    never,
    shared,
  );
  return { asked, answers };
}

const question = (sql: string, cacheTtlMs = 60_000, isShared = true) => ({
  kind: 'query' as const,
  ...{ siteId: 'shop', about: 'top', reads: null, asked: {}, isShared, cacheTtlMs },
  statement: { sql, parameters: {} },
  answer: (rows: readonly unknown[]) => ({ rows }),
});

test('what two services are asked at once is asked once, and the answer says when', async () => {
  const [one, other] = [service(shares(), 5_000), service(shares(), 6_000)];
  const asking = question(randomUUID());
  const first = one.answers.answer(asking, asker);
  await until('the first to be asked', async () => one.asked.length === 1);
  const second = other.answers.answer(asking, asker);
  one.asked[0]?.([7]);
  const answer = { ok: true, body: { rows: [7], as_of: 5_000 } };
  expect([await first, await second]).toEqual([answer, answer]);
  expect(other.asked).toEqual([]);
});

test('a service that died is not waited for, and one that has no answer to share lets the next ask', async () => {
  const asking = randomUUID();
  const [one, other] = [shares(), shares()];
  expect(await one.find(asking, signal)).toBeNull();
  const waiting = other.find(asking, signal);
  await one.done(asking, null);
  expect(await waiting).toBeNull();
  await other.done(asking, { text: 'answer', cacheTtlMs: 60_000 });
  expect(await one.find(asking, signal)).toBe('answer');
  const dead = randomUUID();
  await redis().set(`query.lease:${hash('sha256', dead, 'hex')}`, 'dead', 'PX', 200);
  expect(await one.find(dead, signal)).toBeNull();
  await one.done(dead, null);
});

test('what lists persons, is large or must be fresh is not shared', async () => {
  for (const [cacheTtlMs, isShared] of [
    [0, true],
    [60_000, false],
  ] as const) {
    const [one, other] = [service(shares()), service(shares())];
    const asking = question(randomUUID(), cacheTtlMs, isShared);
    const both = [one, other].map(({ answers }) => answers.answer(asking, asker));
    for (const { asked } of [one, other]) asked[0]?.([1]);
    expect((await Promise.all(both)).map(({ ok }) => ok)).toEqual([true, true]);
  }
  const [one, other] = [shares(), shares()];
  const large = randomUUID();
  expect(await one.find(large, signal)).toBeNull();
  await one.done(large, { text: 'x'.repeat(100_000), cacheTtlMs: 1_000 });
  expect(await other.find(large, signal)).toBeNull();
  await other.done(large, null);
});

test('without Redis each service asks for itself', async () => {
  const away = createRedis('redis://127.0.0.1:1', quiet);
  const { asked, answers } = service(createSharedAnswers(away, () => performance.now()));
  const answered = answers.answer(question(randomUUID()), asker);
  await until('it to be asked', async () => asked.length === 1);
  asked[0]?.([1]);
  expect((await answered).ok).toBe(true);
  away.disconnect();
});
