import { expect, test } from 'vitest';
import { checkDuplicates } from '#infra/clickhouse/inserts/duplicate_check.ts';
import type { UsageAnswer } from '#services/control_api/sites.ts';
import { storedRow } from './few_rows.ts';
import { type QueryWorld, useQueryWorld } from './query_world.ts';

const create = useQueryWorld();
const at = (day: number, hour: number): number => Date.UTC(2026, 9, day, hour);

/** An event that arrived at a time, and happened at the same, unless it says otherwise. */
const arrived = (name: string, receivedAt: number, happenedAt = receivedAt) =>
  storedRow(name, 'visit', 0, { event_id: `of-${name}`, timestamp: happenedAt, received_at: receivedAt });

async function usageOf({ control }: QueryWorld, month: string): Promise<UsageAnswer> {
  const { status, body } = await control.call('GET', `accounts/acme/usage?month=${month}`);
  expect(status).toBe(200);
  return body as UsageAnswer;
}

const shown = ({ events, days }: UsageAnswer) => ({ events, days: days.filter((day) => day.events > 0) });

test("an account's days have each event of its sites once, by when it arrived", async () => {
  const world = await create();
  await world.control.call('POST', 'sites', { body: { site_id: 'till', account_id: 'acme' } });
  await world.control.call('POST', 'accounts', { body: { account_id: 'rival', monthly_allowance: 10 } });
  await world.control.call('POST', 'sites', { body: { site_id: 'other', account_id: 'rival' } });
  await world.database.warehouse.command({ query: 'SYSTEM STOP MERGES event_rows' });
  const rows = [
    arrived('first', at(1, 0)),
    arrived('last', Date.UTC(2026, 9, 31, 23, 59, 59, 999)),
    arrived('late', at(5, 9), Date.UTC(2026, 2, 1)),
    arrived('ahead', at(5, 10), at(6, 9)),
    arrived('after', Date.UTC(2026, 10, 1)),
    arrived('before', Date.UTC(2026, 8, 30, 23)),
  ];
  const sold = { ...arrived('sold', at(5, 11)), site_id: 'till' };
  const strange = { ...arrived('strange', at(5, 11)), site_id: 'other' };
  await world.store([rows, [sold, strange], rows.slice(0, 3)]);
  const october = {
    events: 5,
    days: [
      { day: '2026-10-01', events: 1, sites: { shop: 1 } },
      { day: '2026-10-05', events: 3, sites: { shop: 2, till: 1 } },
      { day: '2026-10-31', events: 1, sites: { shop: 1 } },
    ],
  };
  expect(shown(await usageOf(world, '2026-10'))).toEqual(october);
  expect((await checkDuplicates(world.database.warehouse)).repeated).toBe(3);
  expect(shown(await usageOf(world, '2026-10'))).toEqual(october);
  expect(shown(await usageOf(world, '2026-09'))).toMatchObject({ events: 1, days: [{ day: '2026-09-30' }] });
});

test('an account without sites, or a month without events, has used nothing', async () => {
  const world = await create();
  await world.control.call('POST', 'accounts', { body: { account_id: 'new', monthly_allowance: 10 } });
  expect(await usageOf(world, '2026-09')).toMatchObject({ account_id: 'acme', month: '2026-09', events: 0 });
  const { status, body } = await world.control.call('GET', 'accounts/new/usage?month=2026-09');
  expect([status, body.events, body.days.length]).toEqual([200, 0, 30]);
});

test('a month that is none is refused', async () => {
  const { control } = await create();
  for (const month of ['2026-13', '2026-1', '0001-01', 'now', '']) {
    const { status, body } = await control.call('GET', `accounts/acme/usage?month=${month}`);
    expect([status, body.problems?.[0]?.field]).toEqual([400, 'month']);
  }
});
