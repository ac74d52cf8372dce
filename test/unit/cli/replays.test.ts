import { beforeEach, expect, test } from 'vitest';
import { beginReading, inPhase, newProgress } from '#pipelines/redelivery/replay.ts';
import type { ReplayProgress } from '#schemas/records.ts';
import { expectDone, installedShop, NOW_MS, type Shop } from './harness.ts';

const HOUR_MS = 3_600_000;

let shop: Shop;
beforeEach(async () => {
  shop = await installedShop();
});

/** Plays what the replay process would do, a step at each pause. */
function plays(steps: ((progress: ReplayProgress) => ReplayProgress)[]): void {
  shop.sleep = async () => {
    const [replay] = shop.store.table.replays();
    const id = replay?.replay_id ?? '';
    const step = steps.shift();
    if (step === undefined) throw new Error('waited for longer than it had to');
    shop.control.replays.set(id, step(shop.control.replays.get(id) ?? newProgress(id, NOW_MS)));
  };
}

const range = [{ partition: 0, first: 0, next: 0, end: 10 }];

test('without a verb a replay is started, and watched to its end', async () => {
  plays([
    (now) => ({ ...now, detail: 'warehouse' }),
    (now) => ({ ...beginReading(now, 'counting', range, NOW_MS), seen: 70, chosen: 40 }),
    (now) => ({ ...beginReading(now, 'sending', range, NOW_MS), to_send: 50, chosen: 10 }),
    (now) => inPhase({ ...now, chosen: 50, seen: 70, delivered: 20 }, 'draining', '', NOW_MS),
    (now) => inPhase(now, 'done', '', NOW_MS),
  ]);
  const text = await expectDone(shop.svc('replay --destination crm --site shop --from 2h --to now --rate 5'));
  expect(shop.store.table.replays()).toMatchObject([
    { destination: 'crm', site_id: 'shop', from: NOW_MS - 2 * HOUR_MS, to: NOW_MS, rate: 5, source: 'events' },
  ]);
  expect(shop.said.slice(1)).toEqual([
    'waiting',
    'waiting for all outcomes to be stored in ClickHouse',
    'counting: 0 % read, 40 to send',
    'sending: 10 of 50, 8 s left',
    '50 written, delivery sends them',
  ]);
  expect(text).toContain(': done\n');
  expect(text).toContain('delivered already    20\n');
  expect(text).toContain('written for delivery 50\n');
});

test('a dry run says how many and how long', async () => {
  const counted = (now: ReplayProgress) => ({
    ...beginReading(now, 'counting', range, NOW_MS),
    chosen: 900,
    to_send: 900,
  });
  plays([(now) => inPhase(counted(now), 'done', '', NOW_MS)]);
  const text = await expectDone(shop.svc('replay --destination crm --from 2h --to 1h --dry-run'));
  expect(text).toContain('to send              900\n');
  expect(text).toContain('would take about     2 s at 500 a second\n');
  expect(text).not.toContain('written for delivery');
});

test('dead letters are taken by --dead, and nothing is waited for with --detach', async () => {
  await expectDone(shop.svc('replay --destination crm --from 7d --to now --dead --force --detach'));
  expect(shop.store.table.replays()).toMatchObject([
    { source: 'dead_letters', force: true, from: NOW_MS - 168 * HOUR_MS },
  ]);
  expect(shop.said).toEqual([]);
});

test('a replay is listed, paused, resumed and cancelled', async () => {
  await expectDone(shop.svc('replay --destination crm --from 1h --to now --detach'));
  const [replay] = shop.store.table.replays();
  const id = replay?.replay_id ?? '';
  expect(await expectDone(shop.svc('replay list'))).toContain('crm          (all)  events');
  expect(await expectDone(shop.svc(`replay pause ${id}`))).toContain(': paused');
  expect(await expectDone(shop.svc(`replay resume ${id}`))).toContain(': waiting');
  expect(await expectDone(shop.svc(`replay cancel ${id}`))).toContain(': cancelled');
  expect((await shop.svc(`replay resume ${id}`)).stderr).toMatch(/^svc: replay_over: /);
});

test.for([
  ['replay --destination crm --from yesterday --to now', 'moment_malformed'],
  ['replay --destination crm --from 1h', 'flag_missing'],
  ['replay --destination fax --from 1h --to now', 'destination_unknown'],
  ['replay --destination crm --from now --to 1h', 'field_malformed'],
])('%s is refused as %s', async ([words = '', code]) => {
  const { exitCode, stderr } = await shop.svc(words);
  expect([exitCode, stderr.split(':')[1]?.trim()]).toEqual([2, code]);
  expect(shop.store.writes).toEqual([]);
});
