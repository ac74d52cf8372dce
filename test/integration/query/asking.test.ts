import { expect, test } from 'vitest';
import type { Listing } from '#pipelines/analytics/event_lists.ts';
import type { FunnelAnswer, FunnelQuery } from '#pipelines/analytics/funnels/query.ts';
import type { RetentionAnswer } from '#pipelines/analytics/retention.ts';
import type { TopAnswer } from '#pipelines/analytics/top.ts';
import type { TrendsAnswer } from '#pipelines/analytics/trends/answer.ts';
import { propertiesText } from '#pipelines/intake/field_rules.ts';
import { purchaseFunnel, START, storedRow } from './few_rows.ts';
import { useQueryWorld } from './query_world.ts';

const create = useQueryWorld();
const HOSTILE = ["'; DROP TABLE event_rows; --", '{p0:String}', '\\', "\\' OR 1=1 --", '\u0000', '"', '`', '%'];
const { from, to } = purchaseFunnel;
const HOUR_MS = 3_600_000;

test('texts of a query are values, whatever they hold', async () => {
  const world = await create();
  await world.store([[storedRow('a', 'page_view', 0), storedRow('a', 'purchase', 1)]]);
  for (const text of HOSTILE) {
    const filters = [{ field: { property: [text, text] }, is: 'not_equal', to: [text] }];
    const steps = [
      { events: ['page_view'], filters },
      { events: ['purchase', text], filters },
    ];
    const { steps: found } = await world.ask<FunnelAnswer>('funnel', { ...purchaseFunnel, steps });
    expect(
      found.map(({ reached }) => reached),
      text,
    ).toEqual([1, 1]);
    const containing = [{ field: { column: 'event' }, is: 'containing', to: text }];
    const trends = { from, to, interval: 'day', series: [{ filters: containing }] };
    expect((await world.ask<TrendsAnswer>('trends', trends)).series[0]?.events, text).toBe(0);
  }
});

test('names of one thing are one name, whoever sent it', async () => {
  const world = await create();
  await world.store([
    [
      storedRow('a', '$pageview', 0, { event_id: 'a0' }),
      storedRow('a', 'Order Completed', 1),
      storedRow('b', 'page_view', 2),
      storedRow('b', 'purchase', 3),
      storedRow('c', 'page', 4),
      storedRow('c', 'PageView', 5),
    ],
  ]);
  const { steps } = await world.ask<FunnelAnswer>('funnel', purchaseFunnel);
  expect(steps.map(({ reached }) => reached)).toEqual([3, 2]);
  const column = { column: 'event' };
  const filters = [{ field: column, is: 'equal', to: ['$pageview'] }];
  const series = [{ events: ['Order Completed'] }, { filters }];
  const trends = await world.ask<TrendsAnswer>('trends', {
    from,
    to,
    interval: 'day',
    series,
    breakdown: { field: column },
  });
  expect(trends.series.map(({ breakdown }) => breakdown.map(({ value, events }) => [value, events]))).toEqual([
    [['purchase', 2]],
    [['page_view', 3]],
  ]);
  const top = await world.ask<TopAnswer>('top', { from, to, field: column });
  expect(top.values.map(({ value, events }) => [value, events])).toEqual([
    ['page_view', 3],
    ['purchase', 2],
    ['PageView', 1],
  ]);
  const range = { start: { events: ['page_view'] }, back: { events: ['purchase'] } };
  const { cohorts } = await world.ask<RetentionAnswer>('retention', { from, to, interval: 'day', ...range });
  expect(cohorts.map(({ persons, returned }) => [persons, returned])).toEqual([[3, [2]]]);
  const live = await world.ask<Listing>('live', { events: ['page_view'], received_after: from });
  expect(live.events.map(({ event }) => event)).toEqual(['page', 'page_view', '$pageview']);
});

test.for([
  ['funnel', { ...purchaseFunnel, to: from }, 'to'],
  ['funnel', { ...purchaseFunnel, steps: purchaseFunnel.steps.slice(1) }, 'steps'],
  ['funnel', { ...purchaseFunnel, steps: Array(11).fill({}) }, 'steps'],
  ['funnel', { ...purchaseFunnel, exclusions: [{ after_step: 2 }] }, 'exclusions[0].before_step'],
  ['funnel', { ...purchaseFunnel, exclusions: [{ before_step: 3 }] }, 'exclusions[0].before_step'],
  ['funnel', { ...purchaseFunnel, trend: { interval: 'day', time_zone: 'Mars/Base' } }, 'trend.time_zone'],
  ['trends', { from, to: from + 801 * 86_400_000, interval: 'day', series: [{}] }, 'to'],
  ['top', { from, to, field: { column: 'password' } }, 'field'],
] as const)('%s refuses %j', async ([name, body, field]) => {
  const world = await create();
  const { status, body: answer } = await world.control.call('POST', `/v1/query/shop/${name}`, { body });
  expect(status).toBe(400);
  expect(answer.problems.map((problem: { field: string }) => problem.field).join()).toContain(field);
});

test('nobody is answered without a token, nor of a site that is not there', async () => {
  const world = await create();
  const ask = (site: string, token?: string | null) =>
    world.control.call('POST', `/v1/query/${site}/funnel`, {
      body: purchaseFunnel,
      ...(token === undefined ? {} : { token }),
    });
  expect((await ask('shop', null)).status).toBe(401);
  expect((await ask('nowhere')).body.error.code).toBe('site_unknown');
});

test('an answer is kept while it is fresh, and asked anew when it must be', async () => {
  const world = await create();
  const query = { ...purchaseFunnel, fresh: false };
  const first = async (changes = {}) => {
    const { steps } = await world.ask<FunnelAnswer>('funnel', { ...query, ...changes });
    return steps[0]?.reached;
  };
  expect(await first()).toBe(0);
  await world.store([[storedRow('a', 'page_view', 0)]]);
  expect(await first()).toBe(0);
  expect(await first({ fresh: true })).toBe(1);
  await world.store([[storedRow('b', 'page_view', 0)]]);
  expect(await first()).toBe(1);
  world.control.clock.nowMs += 600_000;
  expect(await first()).toBe(2);
});

test('days begin where the time zone says, also when the clocks change', async () => {
  const world = await create();
  // Clocks go back in Berlin on 25 October 2026, at 01:00 UTC.
  const at = (hour: number): number => (Date.UTC(2026, 9, 25, hour) - START) / 60_000;
  await world.store([[-3, -2, -1, 22, 23].map((hour) => storedRow('a', `e${hour}`, at(hour)))]);
  const trends = { from, to, interval: 'day', time_zone: 'Europe/Berlin', series: [{}] };
  const { series } = await world.ask<TrendsAnswer>('trends', trends);
  expect(series[0]?.intervals.map((one) => [new Date(one.from).toISOString(), one.events])).toEqual([
    ['2026-10-23T22:00:00.000Z', 1],
    ['2026-10-24T22:00:00.000Z', 3],
    ['2026-10-25T23:00:00.000Z', 1],
  ]);
});

test('a trend by the hour has all of its intervals, also more than a thousand', async () => {
  const world = await create();
  const hours = Array.from({ length: 1_100 }, (_, hour) => hour);
  await world.store([hours.map((hour) => storedRow(`person-${hour}`, 'page_view', 60 * hour))]);
  const range = { from: START, to: START + hours.length * HOUR_MS };
  const query: FunnelQuery = { ...purchaseFunnel, ...range, trend: { interval: 'hour' } };
  const { trend } = await world.ask<FunnelAnswer>('funnel', query);
  expect(trend.map((one) => [one.from, one.steps[0]?.reached])).toEqual(
    hours.map((hour) => [START + hour * HOUR_MS, 1]),
  );
});

test('the live tail has what arrived last, newest first, each event once', async () => {
  const world = await create();
  const rows = [0, 1, 2].map((minute) => storedRow('a', 'page_view', minute));
  await world.store([rows, rows]);
  const live = { received_after: START, events: ['page_view'], limit: 2 };
  const { events } = await world.ask<Listing>('live', live);
  expect(events.map(({ event_id }) => event_id)).toEqual(['a-page_view-2', 'a-page_view-1']);
  expect(events[0]?.properties).toEqual({ url: 'https://shop.example/' });
  const older = await world.ask<Listing>('live', { ...live, received_before: events[1]?.received_at });
  expect(older.events.map(({ event_id }) => event_id)).toEqual(['a-page_view-0']);
});

test.for([0, 7, 1_132_927, 999_999_999, 999_999_999_999])(
  'a time since 1970 is one, however early: %i ms',
  async (received_after) => {
    const world = await create();
    await world.store([[storedRow('a', 'page_view', 0)]]);
    const { events } = await world.ask<Listing>('live', { received_after, events: ['page_view'] });
    expect(events.length).toBe(1);
  },
);

/** Whatever JSON.parse may give for what was sent. */
const ODD: readonly unknown[] = [
  ...[2 ** 63, 2 ** 64, 1e20, 1e21, -(2 ** 63), -1e19, 5e-324, -0, Number.MAX_VALUE],
  ...['\ud800', 'a\udc00', '\u0000', '\ufeff', '100000000000000000000', 'C:\\ud800'],
  ...[{ '': 1 }, { 'a.b': 1e20 }, { '\ud800': 1 }, { ['k'.repeat(200)]: null }],
  JSON.parse(`${'['.repeat(16)}${']'.repeat(16)}`),
  JSON.parse('{"plan":"one","plan":"two","__proto__":1}'),
];

test('one odd value takes nothing from the other properties', async () => {
  const world = await create();
  const rows = ODD.map((odd, index) =>
    storedRow(`v-${index}`, 'e', index, { properties: propertiesText({ odd, plan: 'pro' }) }),
  );
  await world.store([rows]);
  const { values } = await world.ask<TopAnswer>('top', { from, to, field: { property: ['plan'] } });
  expect(values).toEqual([expect.objectContaining({ value: 'pro', events: ODD.length })]);
  const above = [{ field: { property: ['odd'] }, is: 'at_least', to: 1e20 }];
  const query = { from, to, interval: 'day', series: [{ filters: above }] };
  const [series] = (await world.ask<TrendsAnswer>('trends', query)).series;
  expect(series?.events).toBe(4);
});

test('great amounts are added like small ones', async () => {
  const world = await create();
  const amounts = [0.1, 0.2, -1e15, 1e15, 1e18, 1e20, -1e20, 2 ** 53, 1e300];
  const rows = amounts.map((value, minute) =>
    storedRow('a', 'e', minute, { value, properties: propertiesText({ value }) }),
  );
  await world.store([rows]);
  for (const sum of [{ column: 'value' }, { property: ['value'] }]) {
    const [series] = (await world.ask<TrendsAnswer>('trends', { from, to, interval: 'day', series: [{ sum }] })).series;
    expect(series?.sum).toBe(1e18 + 2 ** 53 + 0.3);
  }
  const { values } = await world.ask<TopAnswer>('top', { from, to, field: { column: 'event' }, by: 'value' });
  expect(values[0]?.sum).toBe(1e18 + 2 ** 53 + 0.3);
});

test('of more values than are given the others are counted together, in every breakdown', async () => {
  const world = await create();
  const count = 1_500;
  const rows = Array.from({ length: count }, (_, index) => [
    storedRow(`p-${index % 700}`, 'page_view', index, { event_id: `v-${index}`, order_id: `o-${index}`, value: 1 }),
    storedRow('buyer', 'page_view', index, { event_id: `w-${index}`, order_id: `o-${index % 3}`, value: 2 }),
  ]);
  await world.store([rows.flat()]);
  const field = { column: 'order_id' };
  const range = { from: START, to: START + 2_000 * 60_000 };
  const trends = { ...range, interval: 'month', series: [{ sum: { column: 'value' } }] };
  // The three with the buyer's events, then the others by their text.
  const names = Array.from({ length: count }, (_, index) => `o-${index}`);
  const byCount = [...names.slice(0, 3), ...names.slice(3).sort()].map((name) => Number(name.slice(2)));
  for (const limit of [3, 1_000]) {
    const { other, more_values } = await world.ask<TopAnswer>('top', { ...range, field, limit });
    const persons = new Set(byCount.slice(limit).map((index) => index % 700)).size;
    const rest = { values: count - limit, events: count - limit, persons, sum: count - limit };
    expect([more_values, other]).toEqual([true, rest]);
    const [series] = (await world.ask<TrendsAnswer>('trends', { ...trends, breakdown: { field, limit } })).series;
    expect(series?.breakdown).toHaveLength(limit);
    expect(series?.other).toMatchObject(rest);
    expect(series?.other?.intervals).toHaveLength(1);
    const breakdown = { field, at: 'first_step', limit };
    const funnel = { ...purchaseFunnel, steps: [{}, {}], ...range, breakdown };
    const answer = await world.ask<FunnelAnswer>('funnel', funnel);
    const reached = (of: readonly { steps: { reached: number }[] }[]): number =>
      of.reduce((sum, { steps }) => sum + (steps[0]?.reached ?? 0), 0);
    expect(reached([...answer.breakdown, ...(answer.other === null ? [] : [answer.other])])).toBe(701);
    expect(answer.breakdown.length + (answer.other?.values ?? 0)).toBe(700);
  }
  const { body } = await world.control.call('POST', '/v1/query/shop/trends', {
    body: { ...trends, breakdown: { field } },
  });
  expect(body.series[0].breakdown).toHaveLength(100);
});

/** What RE2 does not take, or ClickHouse would take for a plain text. */
const NO_PATTERNS = ['(', 'a)', '\\', 'a**', '[z-a]', 'a{1001}', '(?=a)', '\\1', '[[:foo:]]', '(?z)'];

test('a pattern that is no regular expression is refused by its code, also where there is no event', async () => {
  const world = await create();
  const ask = async (to: string, field: object) => {
    const query = { from, to: purchaseFunnel.to, field: { column: 'event' }, filters: [{ field, is: 'matching', to }] };
    const { status, body } = await world.control.call('POST', '/v1/query/shop/top', { body: query });
    return [status, body.error?.code, JSON.stringify(body).includes('DB::Exception')];
  };
  for (const pattern of NO_PATTERNS) {
    for (const field of [{ column: 'event' }, { property: ['items'], each: [] }]) {
      expect(await ask(pattern, field), pattern).toEqual([400, 'query_pattern_invalid', false]);
    }
  }
  await world.store([[storedRow('a', 'page_view', 0)]]);
  expect(await ask('(', { person: { column: 'country' }, seen: 'last' })).toEqual([
    400,
    'query_pattern_invalid',
    false,
  ]);
  for (const pattern of HOSTILE.filter((text) => text !== '\\')) {
    expect((await ask(pattern, { column: 'event' }))[0], pattern).toBe(200);
  }
});

test('a question with as many conditions as it may have is answered, or said to be too heavy', async () => {
  const world = await create();
  await world.store([[storedRow('a', 'page_view', 0)]]);
  const condition = { field: { property: ['a', 'b'] }, is: 'at_or_after', to: '2026-01-01' };
  const filters = [10, 20, 20].map((count) => ({ any: Array(count).fill(condition) }));
  const body = { from, to, interval: 'day', series: Array(10).fill({ filters }) };
  const answer = await world.control.call('POST', '/v1/query/shop/trends', { body });
  expect([answer.status, answer.body.error?.code]).toBeOneOf([
    [200, undefined],
    [422, 'query_too_heavy'],
  ]);
});
