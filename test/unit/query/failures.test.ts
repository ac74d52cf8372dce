import { expect, test } from 'vitest';
import { WarehouseError } from '#infra/clickhouse/client.ts';
import { QueryPatternError, QueryTooHeavyError } from '#infra/clickhouse/queries/select_rows.ts';
import { funnelPlan } from '#pipelines/analytics/funnels/query.ts';
import { funnelStatement } from '#pipelines/analytics/funnels/sql.ts';
import type { Statement } from '#pipelines/analytics/sql/statement.ts';
import { trendsPlan } from '#pipelines/analytics/trends/query.ts';
import { trendsStatement } from '#pipelines/analytics/trends/sql.ts';
import { type Control, control } from '../control/harness.ts';

const HOUR_MS = 3_600_000;
const query = { from: 0, to: HOUR_MS, window_ms: 1, steps: [{ events: ['a'] }, { events: ['b'] }] };

async function asking(answer: () => Promise<unknown[]>): Promise<{ world: Control; asked: Statement[] }> {
  const asked: Statement[] = [];
  const world = await control('tester', (statement) => {
    asked.push(statement);
    return answer();
  });
  await world.call('POST', 'accounts', { body: { account_id: 'acme', monthly_allowance: 1 } });
  await world.call('POST', 'sites', { body: { site_id: 'shop', account_id: 'acme' } });
  return { world, asked };
}

const ask = (world: Control, body: object = query) => world.call('POST', '/v1/query/shop/funnel', { body });

test.for([
  [new QueryTooHeavyError('TIMEOUT_EXCEEDED'), 422, 'query_too_heavy'],
  [new QueryPatternError(), 400, 'query_pattern_invalid'],
  [new WarehouseError('warehouse_unavailable', 'away'), 503, 'query_unavailable'],
  [new WarehouseError('warehouse_refused', 'syntax'), 500, 'internal'],
] as const)('%s is answered %i %s, is not kept, and ends nothing', async ([error, status, code]) => {
  const { world, asked } = await asking(() => Promise.reject(error));
  for (let times = 1; times <= 2; times++) {
    const answer = await ask(world);
    expect([answer.status, answer.body.error.code]).toEqual([status, code]);
    expect(asked).toHaveLength(times);
  }
  expect(world.unknown).toEqual([]);
});

test('the same question asked by many at once is asked once', async () => {
  const { world, asked } = await asking(async () => []);
  const answers = await Promise.all([1, 2, 3].map(() => ask(world)));
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
  expect(asked).toHaveLength(1);
  await ask(world, { ...query, fresh: true });
  expect(asked).toHaveLength(2);
});

test('questions whose rows are the same and whose answers are not have answers of their own', async () => {
  const { world } = await asking(async () => []);
  const counted = { from: 0, to: HOUR_MS, interval: 'day', series: [{}, {}] };
  for (const formula of ['A / B', 'A - B']) {
    const body = { ...counted, formulas: [formula] };
    const answer = await world.call('POST', '/v1/query/shop/trends', { body });
    expect(answer.body.formulas).toMatchObject([{ formula }]);
  }
});

test('nothing of what was asked is part of the text of a statement', () => {
  const text = 'SPLICED';
  const field = { property: [text] };
  const { sql, parameters } = funnelStatement(
    text,
    funnelPlan({
      ...query,
      steps: [{ events: [text] }, { filters: [{ field, is: 'equal', to: [text] }] }],
      filters: [
        { field, is: 'containing', to: text, ignore_case: true },
        { any: [{ field, is: 'not_matching', to: text }] },
        { field: { ...field, each: [text] }, is: 'equal', to: [text] },
        {
          field: { person: field, seen: 'last', among: { siteId: text, before: 1, since: 0 } },
          is: 'ending_with',
          to: text,
        },
      ],
      exclusions: [{ events: [text] }],
      breakdown: { field, at: 'first_touch' },
      trend: { interval: 'day', time_zone: text },
    }),
  );
  expect(sql).not.toContain(text);
  expect(JSON.stringify(parameters)).toContain(text);
});

test('nothing of what was asked is part of the text of a statement of trends', () => {
  const text = 'SPLICED';
  const field = { property: [text] };
  const { sql, parameters } = trendsStatement(
    text,
    trendsPlan({
      from: 0,
      to: HOUR_MS,
      interval: 'hour',
      time_zone: text,
      series: [
        { events: [text], measure: { of: 'median', field } },
        { measure: { of: 'unique', field } },
        { sum: field },
      ],
      formulas: [`A + ${text}`],
      breakdown: { fields: [field, { property: [text, text] }] },
      compare: 'previous',
    }),
  );
  expect(sql).not.toContain(text);
  expect(JSON.stringify(parameters)).toContain(text);
});
