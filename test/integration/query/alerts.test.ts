import { expect, test } from 'vitest';
import { QUERY_LIMITS, selectRows } from '#infra/clickhouse/queries/select_rows.ts';
import type { AlertInput } from '#pipelines/alerts/alert.ts';
import type { Figure } from '#pipelines/alerts/judge.ts';
import type { Statement } from '#pipelines/analytics/sql/statement.ts';
import { noIdentifiers } from '#pipelines/privacy/hash_identifiers.ts';
import { calendarOf } from '#pipelines/settings/calendar.ts';
import { createFigureSource } from '#services/alerts/figure_source.ts';
import { alertWith, DAY_MS, HOUR_MS, site } from '#test/unit/alerts/alert_world.ts';
import { START, storedRow } from './few_rows.ts';
import { type QueryWorld, useQueryWorld } from './query_world.ts';

const create = useQueryWorld();

/** The figures of an alert at a time, judged from a time on. */
async function figures(
  world: QueryWorld,
  changes: Partial<AlertInput>,
  nowMs: number,
  judgedTo: number,
  time_zone = 'UTC',
) {
  const alert = alertWith({ grace_minutes: 10, ...changes });
  const source = createFigureSource({
    settings: { destination: () => undefined, cohorts: () => world.control.journal.view().table.cohorts('shop') },
    select: <Row>(statement: Statement) =>
      selectRows<Row>(world.database.warehouse, statement, { ...QUERY_LIMITS, seconds: 120 }),
    rejections: async () => ({
      sinceMs: START - DAY_MS,
      hours: [{ hour: START / HOUR_MS, kind: 'rejected', code: 'event_name_missing', count: 1 }],
      samples: [],
    }),
    monthUse: { refresh: async () => undefined, used: () => null },
    allowanceOf: () => null,
    onFailure(error) {
      throw error;
    },
    nowMs: () => nowMs,
  });
  const setting = { site_id: 'shop', id: alert.id, version: 1, definition: '', secrets: {}, created_at: 0 };
  const one = { site: { ...site, time_zone }, calendar: calendarOf({ time_zone }), setting, alert, rule: '' };
  const found = await source.ofIntervals(one, judgedTo, nowMs - 10 * 60_000);
  if (!found.ok) throw new Error(found.problem);
  return found.figures;
}

const since = ({ from, to, value, base }: Figure) => [(from - START) / HOUR_MS, (to - from) / HOUR_MS, value, base];

test('figures are of hours that are over, with those without events, and beside the same hour of the week before', async () => {
  const world = await create();
  const week = -7 * 24 * 60;
  await world.store([
    [0, 5, 65, 185, week, week + 1, week + 2, week + 61].map((minute) => storedRow(`a${minute}`, 'purchase', minute)),
  ]);
  const condition = { is: 'fell', percent: 50, against: 'week' } as const;
  const found = await figures(world, { condition }, START + 3.2 * HOUR_MS, START);
  expect(found.filter(({ from }) => from >= START).map(since)).toEqual([
    [0, 1, 2, 3],
    [1, 1, 1, 1],
    [2, 1, 0, 0],
  ]);
  // Of the hour that ended eight minutes ago late events are waited for.
  const early = await figures(world, { condition }, START + 3 * HOUR_MS + 8 * 60_000, START);
  expect(early.at(-1)?.to).toBe(START + 2 * HOUR_MS);
});

test('days are those of the zone of the site, also where they begin at a quarter of an hour', async () => {
  const world = await create();
  // In Kathmandu the day begins at 18:15 UTC.
  await world.store([
    [6 * 60 + 14, 6 * 60 + 15, 6 * 60 + 16].map((minute) => storedRow(`k${minute}`, 'purchase', minute)),
  ]);
  const question = { series: [{ events: ['purchase'] }] };
  const found = await figures(
    world,
    { interval: 'day', question },
    START + 2 * DAY_MS,
    START - DAY_MS,
    'Asia/Kathmandu',
  );
  expect(found.slice(-2).map(since)).toEqual([
    [-17.75, 24, 1, null],
    [6.25, 24, 2, null],
  ]);
});

test('shares of rejected and of matchable events are of all that came', async () => {
  const world = await create();
  const identifiers = { ...noIdentifiers(), email: 'a1'.repeat(32) };
  await world.store([
    [
      storedRow('r1', 'purchase', 1, { identifiers }),
      ...[2, 3].map((minute) => storedRow(`r${minute}`, 'purchase', minute)),
    ],
  ]);
  const condition = { is: 'above', value: 5 } as const;
  const { question: _, ...rest } = alertWith();
  const rejected = await figures(
    world,
    { ...rest, channels: [], kind: 'rejected_share', condition },
    START + 2 * HOUR_MS,
    START,
  );
  expect(rejected.find(({ from }) => from === START)).toMatchObject({ value: 25, events: 4 });
  const quality: Partial<AlertInput> = {
    ...{ ...rest, channels: [], kind: 'match_quality' },
    condition: { is: 'below', value: 50 },
  };
  const matched = await figures(world, quality, START + 2 * HOUR_MS, START);
  expect(matched.find(({ from }) => from === START)).toMatchObject({ events: 3, value: expect.closeTo(100 / 3) });
});

test('figures of a cohort are of who is in it now, by days of the site', async () => {
  const world = await create();
  await world.store([
    [
      ...[1, 2].map((minute) => storedRow('ann', 'purchase', minute)),
      storedRow('bob', 'purchase', 3),
      storedRow('carl', 'purchase', 4),
    ],
  ]);
  const path = 'sites/shop/cohorts';
  const conditions = [{ did: { events: ['purchase'] }, times: 2 }];
  await world.control.call('POST', path, { body: { id: 'buyers', name: 'Buyers', conditions } });
  await world.control.call('POST', path, { body: { id: 'vips', name: 'VIPs' } });
  await world.control.call('POST', `${path}/vips/members`, { body: { members: [{ distinct_id: 'bob' }] } });
  const filters = [{ any: ['buyers', 'vips'].map((cohort) => ({ field: { cohort }, is: 'in' as const })) }];
  const question = { series: [{ events: ['purchase'], filters }] };
  const found = await figures(world, { question }, START + 2 * HOUR_MS, START);
  expect(found.find(({ from }) => from === START)).toMatchObject({ value: 3 });
  const lost = { series: [{ filters: [{ field: { cohort: 'lost' }, is: 'in' as const }] }] };
  await expect(figures(world, { question: lost }, START + 2 * HOUR_MS, START)).rejects.toThrow('cohort_unknown');
});
