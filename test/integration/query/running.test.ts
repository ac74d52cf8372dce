import { expect, onTestFinished, test } from 'vitest';
import { migrate } from '#infra/clickhouse/migrate.ts';
import { createLogger } from '#infra/log/logger.ts';
import { openQueries } from '#services/control/open_app.ts';
import type { Answered, QueryRequest } from '#services/control/route.ts';
import { until } from '#test/harness/until.ts';
import { useClickhouse } from '../clickhouse/warehouse_world.ts';

const create = useClickhouse();
const SLOW = 'SELECT sum(sipHash64(number)) AS digest FROM numbers(100000000000)';

async function opened() {
  const { url, warehouse } = await create();
  await migrate(warehouse, url);
  const parts = {
    clickhouseUrl: url,
    cluster: null,
    sqlUrl: null,
    analystsUrl: null,
    shared: null,
    logger: createLogger('test', 'silent'),
  };
  const queries = openQueries({ ...parts, limits: { atOnce: 4, siteAtOnce: 2 } });
  onTestFinished(() => queries.close());
  const ask = (sql: string, siteId: string, signal = new AbortController().signal): Promise<Answered> => {
    const asked = { siteId, about: 'top', reads: { from: 0, to: 1 }, asked: {}, isShared: false, cacheTtlMs: 0 };
    const statement: QueryRequest['statement'] = { sql, parameters: {} };
    return queries.answers.answer(
      { kind: 'query', ...asked, statement, answer: (rows) => ({ rows }) },
      { label: 'Ann: on call', signal },
    );
  };
  const running = async (siteId: string) =>
    (await queries.running.list()).filter((one) => one.siteId === siteId && one.rowsRead > 0 && one.runningMs > 0);
  return { queries, ask, running };
}

test('a query that runs is seen with whose it is, and ended by its id alone', async () => {
  const { queries, ask, running } = await opened();
  const asked = [ask(SLOW, 'shop'), ask(`${SLOW} SETTINGS max_threads = 1`, 'other')];
  await until('both to run', async () => (await running('shop')).length + (await running('other')).length === 2);
  const [shop] = await running('shop');
  expect(shop).toMatchObject({ kind: 'top', askedBy: 'Ann: on call' });
  expect(await queries.running.cancel(shop?.id ?? '')).toMatchObject({ id: shop?.id, siteId: 'shop' });
  expect(await asked[0]).toEqual({ ok: false, code: 'query_cancelled' });
  expect(await running('other')).toHaveLength(1);
  expect(await queries.running.cancel(shop?.id ?? '')).toBeNull();
  await queries.running.cancel((await running('other'))[0]?.id ?? '');
  expect(await asked[1]).toEqual({ ok: false, code: 'query_cancelled' });
});

test('a query ends when whoever asked it is gone', async () => {
  const { ask, running } = await opened();
  const gone = new AbortController();
  const asked = ask(SLOW, 'shop', gone.signal);
  await until('it to run', async () => (await running('shop')).length === 1);
  gone.abort();
  expect(await asked).toEqual({ ok: false, code: 'query_cancelled' });
  await until('it to end', async () => (await running('shop')).length === 0);
});
