import { expect, test } from 'vitest';
import { WarehouseError } from '#infra/clickhouse/client.ts';
import type { DeadLetterView } from '#infra/redelivery/dead_letter_store.ts';
import type { Statement } from '#pipelines/analytics/sql/statement.ts';
import { deadLetterDelivery } from '#pipelines/redelivery/resend.ts';
import { type Control, control, controlWithShop } from './harness.ts';
import { shownDeadLetter } from './memory_letters.ts';

/** What died at a webhook of a site, at a place of its own. */
function undelivered(offset: number, siteId = 'shop'): DeadLetterView {
  const deadLetter = shownDeadLetter(offset, { stage: 'delivery', destination: 'webhook', reason: 'http_400' });
  const views = (deadLetter.views ?? []).map((view) => ({
    ...view,
    siteId,
    coordinate: { partition: 1, offset, index: 0 },
  }));
  return { ...deadLetter, views };
}

/** The letters died at 5. */
const outcome = (offset: number, delivered: number, latest: string, latestAtMs = 6) => ({
  ...{ site_id: 'shop', destination: 'webhook', p: 1, o: offset, i: 0 },
  ...{ delivered, latest, latest_at: latestAtMs },
});

/** A shop whose ledger answers with these rows, whatever is asked of it; what was asked is kept. */
async function shopWith(rows: object[] | 'away'): Promise<Control & { asked: Statement[] }> {
  const asked: Statement[] = [];
  const shop = await controlWithShop(async (statement) => {
    asked.push(statement);
    if (rows === 'away') throw new WarehouseError('warehouse_unavailable', 'away');
    return rows;
  });
  return Object.assign(shop, { asked });
}

const listed = async (shop: Control, query = ''): Promise<unknown[]> =>
  (await shop.call('GET', `dead-letters${query}`)).body.items.map(({ id, delivery }: Record<string, string>) => [
    id,
    delivery,
  ]);

test('a letter of a delivery says what became of its event since, and is open no more once the destination has it', async () => {
  const shop = await shopWith([outcome(1, 1, 'delivered'), outcome(2, 0, 'diverted'), outcome(3, 0, 'dead')]);
  shop.deadLetters.deadLetters = [1, 2, 3, 4].map((offset) => undelivered(offset));
  expect(await listed(shop)).toEqual([
    ...[
      ['delivery-0-1', 'delivered'],
      ['delivery-0-2', 'waiting'],
      ['delivery-0-3', 'dead'],
    ],
    ['delivery-0-4', 'dead'],
  ]);
  expect((await listed(shop, '?state=open')).flat()).not.toContain('delivery-0-1');
  expect(await listed(shop, '?state=delivered')).toEqual([['delivery-0-1', 'delivered']]);
  expect(shop.asked[0]?.sql).toContain('(1,1,0),(1,2,0),(1,3,0),(1,4,0)');
  expect(Object.values(shop.asked[0]?.parameters ?? {})).toContainEqual([1, 2, 3, 4].map((at) => `event-${at}`));
});

test('while ClickHouse is away nothing is known of letters, and they stay open', async () => {
  const shop = await shopWith('away');
  shop.deadLetters.deadLetters = [undelivered(1), shownDeadLetter(2)];
  expect(await listed(shop, '?state=open')).toEqual([
    ['delivery-0-1', 'unknown'],
    ['dedup-0-2', null],
  ]);
  expect((await shop.call('GET', 'dead-letters/delivery-0-1')).body).toMatchObject({
    ...{ delivery: 'unknown', attempts: null, site_ids: ['shop'] },
    event: { event_id: 'event-1', event: 'page_view' },
  });
  expect(shop.unknown).toEqual([]);
});

test('an opened letter shows the attempts at its destination with the answers', async () => {
  const attempt = { attempt: 1, attempted: 7, received: 5, outcome: 'dead', reason: 'http_400', took_ms: 3 };
  const shop = await shopWith([
    { ...attempt, destination: 'webhook', answer_status: 400, answer: 'no such field' },
    { ...attempt, destination: 'meta', answer_status: 200, answer: '' },
  ]);
  shop.deadLetters.deadLetters = [undelivered(1)];
  expect((await shop.call('GET', 'dead-letters/delivery-0-1')).body.attempts).toEqual([
    {
      ...{ event_id: 'event-1', event: 'page_view', attempt: 1, attempted_at: 7, outcome: 'dead', reason: 'http_400' },
      ...{ took_ms: 3, answer: { status: 400, body: 'no such field' } },
    },
  ]);
});

test('letters are narrowed by site and destination', async () => {
  const shop = await shopWith([]);
  shop.deadLetters.deadLetters = [undelivered(1), undelivered(2, 'other'), shownDeadLetter(3)];
  expect((await listed(shop, '?site_id=shop')).flat()).toEqual(['delivery-0-1', 'dead', 'dedup-0-3', null]);
  expect((await listed(shop, '?site_id=shop&destination=webhook')).flat()).toEqual(['delivery-0-1', 'dead']);
  expect(await listed(shop, '?destination=meta')).toEqual([]);
});

test('an operator of a site sees the letters of its deliveries, and no others', async () => {
  const shop = await shopWith([]);
  shop.deadLetters.deadLetters = [undelivered(1), undelivered(2, 'other')];
  const grants = [{ role: 'operator', site_id: 'shop' }];
  const { body } = await shop.call('POST', 'tokens', { body: { label: 'ops', grants } });
  const own = await shop.call('GET', 'dead-letters', { token: body.secret });
  expect(own.body.items.map(({ id }: { id: string }) => id)).toEqual(['delivery-0-1']);
  expect((await shop.call('GET', 'dead-letters/delivery-0-2', { token: body.secret })).status).toBe(404);
  expect((await shop.call('GET', 'dead-letters?site_id=other', { token: body.secret })).status).toBe(403);
});

test('what no lane took any more is dead, though its attempt before that says that it waits', async () => {
  const shop = await shopWith([outcome(1, 0, 'diverted', 5), outcome(2, 0, 'paused', 4), outcome(3, 0, 'diverted', 6)]);
  shop.deadLetters.deadLetters = [1, 2, 3].map((offset) => undelivered(offset));
  expect((await listed(shop)).flat()).toEqual([
    ...['delivery-0-1', 'dead', 'delivery-0-2', 'dead', 'delivery-0-3', 'waiting'],
  ]);
});

const known = (latest: string, delivered = false) => ({ delivered, latest, latestAtMs: 6 });
const taken = known('delivered', true);

test.for([
  [[known('dead', true)], 'delivered'],
  [[taken, undefined], 'dead'],
  [[taken, known('paused'), undefined], 'waiting'],
  [[known('skipped'), taken], 'skipped'],
  [[], 'dead'],
] as const)('the events of a letter come together to what is worst of them: %j', ([events, state]) => {
  expect(deadLetterDelivery(events, 5)).toBe(state);
});

test('letters of other stages ask ClickHouse for nothing', async () => {
  const shop = await control();
  shop.deadLetters.deadLetters = [shownDeadLetter(1), shownDeadLetter(2, { stage: 'delivery' }, false)];
  expect(await listed(shop)).toEqual([
    ['dedup-0-1', null],
    ['delivery-0-2', null],
  ]);
});
