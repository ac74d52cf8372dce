import { beforeEach, expect, test } from 'vitest';
import { beginReading, inPhase, newProgress } from '#pipelines/redelivery/replay.ts';
import { REPLAYS_MAX } from '#services/control/redelivery/replay_routes.ts';
import { type Control, controlWithShop, LABEL, NOW_MS } from './harness.ts';

const HOUR_MS = 3_600_000;
const asked = { destination: 'crm', from: NOW_MS - HOUR_MS, to: NOW_MS };

let shop: Control;
beforeEach(async () => {
  shop = await controlWithShop();
});

async function create(more: object = {}) {
  return (await shop.call('POST', 'replays', { body: { ...asked, ...more } })).body;
}

test('a replay is written with its audit, and shown with what is known of it', async () => {
  const answer = await shop.call('POST', 'replays', { body: { ...asked, site_id: 'shop', rate: 10, dry_run: true } });
  expect(answer.status).toBe(201);
  expect(answer.body).toMatchObject({ destination: 'crm', site_id: 'shop', state: 'waiting', to_send: null, rate: 10 });
  const { replay_id } = answer.body;
  expect(shop.journal.view().table.replay(replay_id)).toMatchObject({
    wanted: 'running',
    source: 'events',
    force: false,
  });
  const audit = await shop.call('GET', `audit?setting_key=replay/${replay_id}`);
  expect(audit.body.items).toMatchObject([{ action: 'create', changed_by: LABEL, after: { destination: 'crm' } }]);

  const counted = { ...beginReading(newProgress(replay_id, NOW_MS), 'counting', [], NOW_MS), chosen: 50, to_send: 50 };
  shop.replays.set(replay_id, inPhase(counted, 'done', '', NOW_MS));
  expect((await shop.call('GET', `replays/${replay_id}`)).body).toMatchObject({
    state: 'done',
    to_send: 50,
    estimate_ms: 5_000,
  });
});

test.for<[string, object, string[]]>([
  ['a destination that does not exist', { destination: 'fax' }, ['destination']],
  ['a site that does not exist', { site_id: 'nowhere' }, ['site_id']],
  ['a range that ends before it begins', { to: asked.from }, ['from']],
  ['a range that lies ahead', { from: NOW_MS + 1, to: NOW_MS + 2 }, ['from']],
  ['no rate at all', { rate: 0 }, ['rate']],
])('%s is refused', async ([, more, fields]) => {
  const answer = await shop.call('POST', 'replays', { body: { ...asked, ...more } });
  expect([answer.status, answer.body.problems.map((one: { field: string }) => one.field)]).toEqual([400, fields]);
  expect(shop.journal.records).toEqual([]);
});

test('an end that lies ahead counts as now', async () => {
  expect(await create({ to: NOW_MS + HOUR_MS })).toMatchObject({ to: NOW_MS });
});

test('a replay is paused, resumed and cancelled, and then it is over', async () => {
  const { replay_id } = await create();
  const change = (wanted: string) => shop.call('PATCH', `replays/${replay_id}`, { body: { wanted } });
  expect((await change('paused')).body).toMatchObject({ state: 'paused', wanted: 'paused' });
  expect((await change('running')).body).toMatchObject({ state: 'waiting', wanted: 'running' });
  expect((await change('cancelled')).body).toMatchObject({ state: 'cancelled' });
  const late = await change('running');
  expect([late.status, late.body.error.code]).toEqual([409, 'replay_over']);
  const unknown = await shop.call('PATCH', 'replays/none', { body: { wanted: 'paused' } });
  expect([unknown.status, unknown.body.error.code]).toEqual([404, 'replay_unknown']);
});

test('the oldest that are over make room; where none is, there is none', async () => {
  const ids: string[] = [];
  for (let number = 0; number < REPLAYS_MAX; number++) {
    shop.clock.nowMs++;
    ids.push((await create()).replay_id);
  }
  const full = await shop.call('POST', 'replays', { body: asked });
  expect([full.status, full.body.error.code]).toEqual([409, 'limit_reached']);
  const done = ids[3] ?? '';
  shop.replays.set(done, inPhase(newProgress(done, NOW_MS), 'done', '', NOW_MS));
  const created = await create();
  const left = shop.journal
    .view()
    .table.replays()
    .map(({ replay_id }) => replay_id);
  expect(left).toEqual([...ids.filter((id) => id !== done), created.replay_id].sort((a, b) => (a < b ? -1 : 1)));
});
