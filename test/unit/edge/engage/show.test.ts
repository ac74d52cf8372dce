import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { EngageMemoryStore } from '#infra/redis/engage/engage.ts';
import { FORM, PROMO, SURVEY } from '#test/unit/engage/samples.ts';
import { put } from '#test/unit/settings/filled_table.ts';
import { site } from '#test/unit/settings/samples.ts';
import { openShopWindow, PAGE, type ShopWindow } from './shop_window.ts';

let edge: ShopWindow;
beforeEach(async () => {
  edge = await openShopWindow();
});
afterEach(() => edge.close());

const visitor = { distinct_id: 'v1' };

describe('POST /v1/engage', () => {
  it('answers 204 where the site has nothing to show, whatever the body', async () => {
    expect((await edge.post('/v1/engage', {})).status).toBe(204);
    edge.define('promo', { ...PROMO, enabled: false });
    expect((await edge.post('/v1/engage', {})).status).toBe(204);
  });

  it('says of what a page has open what is not for it, were the site to show nothing any more', async () => {
    const open = ['promo:sale', 'survey:nps', 'form:gone'];
    const overOn = async (path: string) =>
      (await edge.post('/v1/engage', { page: { url: `https://shop.example${path}` }, open })).body.over;
    edge.define('promo', { ...PROMO, targeting: { url_pattern: ['/sale*'] } });
    edge.define('survey', { ...SURVEY, ends_at: edge.clock.nowMs - 1 });
    expect(await overOn('/sales?x=1')).toEqual(['form:gone']);
    expect(await overOn('/boats')).toEqual(['promo:sale', 'form:gone']);
    edge.define('promo', { ...PROMO, enabled: false });
    edge.define('survey', { ...SURVEY, enabled: false });
    expect(await overOn('/sales')).toEqual(open);
  });

  it('shows what fits, in the visitor’s language, with a token', async () => {
    edge.define('promo', { ...PROMO, translations: { de: { title: '20 % Rabatt' } } }, 4);
    const { status, body, headers } = await edge.post('/v1/engage', { page: PAGE, visitor: { locale: 'de-AT' } });
    expect(status).toBe(200);
    expect(headers.get('cache-control')).toBe('no-store');
    expect(body).toMatchObject({
      items: [{ kind: 'promo', id: 'sale', version: 4, locale: 'de', content: { title: '20 % Rabatt' } }],
      next_check_ms: 60_000,
    });
    expect(body.items[0].token).toMatch(/^[0-9a-z]+\.[\w-]{12}\.[\w-]{22}$/);
  });

  it('tells nothing of who is meant, nor of what becomes of a form’s fields', async () => {
    edge.define('form', { ...FORM, conversion_event: 'secret', value: 77, frequency: { max_times: 9 } });
    const { body } = await edge.post('/v1/engage', { page: PAGE });
    const [item] = body.items;
    expect(Object.keys(item)).toEqual([
      'kind',
      'id',
      'version',
      'locale',
      'show',
      'place',
      'mount',
      'theme',
      'dir',
      'label',
      'words',
      'content',
      'token',
    ]);
    expect(item.content.fields[0]).not.toHaveProperty('map');
    expect(JSON.stringify({ ...item, token: '' })).not.toMatch(/secret|77|max_times|targeting|priority/);
  });

  it('is asked of the site of the key, and refused without one', async () => {
    edge.define('promo', PROMO);
    const answer = await fetch(`${edge.url}/v1/engage`, { method: 'POST', body: '{}' });
    expect(answer.status).toBe(401);
  });

  it.each([
    [{}, 'page'],
    [{ page: { url: 5 } }, 'page.url'],
    [{ page: { url: 'no address' } }, 'page.url'],
    [{ page: PAGE, visitor: { device: 'watch' } }, 'visitor.device'],
    [{ page: PAGE, seen: { 'promo:sale': { n: -1, last: 0 } } }, 'seen'],
  ])('names the field of %j that is wrong, and repeats nothing', async (sent, field) => {
    edge.define('promo', PROMO);
    const { status, body } = await edge.post('/v1/engage', sent);
    expect({ status, code: body.error.code, field: body.error.field }).toEqual({
      status: 400,
      code: 'engage_invalid',
      field,
    });
  });

  it('refuses bodies that are too large or no JSON', async () => {
    edge.define('promo', PROMO);
    expect((await edge.post('/v1/engage', { page: PAGE, x: 'x'.repeat(70_000) })).body.error.code).toBe(
      'body_too_large',
    );
    expect((await edge.post('/v1/engage', 'a=b')).status).toBe(415);
  });

  it('a promo that asks for consent to ads gives way to Global Privacy Control', async () => {
    edge.define('promo', { ...PROMO, consent_needed: 'ads' });
    const body = { page: PAGE, visitor: { consent: { ads: true } } };
    expect((await edge.post('/v1/engage', body)).body.items).toHaveLength(1);
    expect((await edge.post('/v1/engage', body, { 'sec-gpc': '1' })).body.items).toHaveLength(0);
  });

  it('follows what a visitor did, of the events that audiences ask for', async () => {
    edge.define('survey', { ...SURVEY, targeting: { audience: [{ event: 'purchase', times: 2 }] } });
    const items = async () => (await edge.post('/v1/engage', { page: PAGE, visitor })).body.items.length;
    const buy = { events: [{ event: 'purchase', uuid: 'a', distinct_id: 'v1' }] };
    expect(await items()).toBe(0);
    await edge.post('/v1/ingest', buy);
    expect(await items()).toBe(0);
    await edge.post('/v1/ingest', buy);
    expect(await items()).toBe(1);
    expect((await edge.post('/v1/engage', { page: PAGE, visitor: { distinct_id: 'v2' } })).body.items).toEqual([]);
  });

  it('goes by when it happened, and by nothing older than an audience looks back', async () => {
    const audience = [{ event: 'purchase', within_days: 7 }];
    edge.define('survey', { ...SURVEY, targeting: { audience } });
    const shownTo = async (distinct_id: string) =>
      (await edge.post('/v1/engage', { page: PAGE, visitor: { distinct_id } })).body.items.length;
    const buy = (distinct_id: string, days: number) => {
      const timestamp = new Date(edge.clock.nowMs - days * 86_400_000).toISOString();
      return edge.post('/v1/ingest', { events: [{ event: 'purchase', uuid: distinct_id, distinct_id, timestamp }] });
    };
    for (const [id, days] of [
      ['long ago', 60],
      ['lately', 5],
    ] as const) {
      await buy(id, days);
    }
    expect([await shownTo('long ago'), await shownTo('lately')]).toEqual([0, 1]);
    edge.clock.nowMs += 3 * 86_400_000;
    expect(await shownTo('lately')).toBe(0);
  });

  it.each(['jane.doe@mail.example', '+32 475 12 34 56'])('tells no browser what became of %s', async (distinct_id) => {
    edge.define('survey', { ...SURVEY, targeting: { audience: [{ event: 'purchase' }] } });
    edge.define('promo', { ...PROMO, targeting: { audience: [{ event: 'purchase', did: false }] } });
    await edge.post('/v1/ingest', { events: [{ event: 'purchase', uuid: 'a', distinct_id }] });
    const asked = { page: PAGE, visitor: { distinct_id } };
    expect((await edge.post('/v1/engage', asked)).body.items).toEqual([]);
    const ofServer = await fetch(`${edge.url}/v1/engage?key=${edge.serverKey}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(asked),
    });
    expect(((await ofServer.json()) as { items: { id: string }[] }).items.map(({ id }) => id)).toEqual(['nps']);
  });

  it('remembers nothing that a browser says of an address', async () => {
    edge.define('promo', { ...PROMO, frequency: { max_times: 1 } });
    const visitor = { distinct_id: 'jane.doe@mail.example' };
    const token = edge.token('promo', 'sale');
    const sent = { promo_id: 'sale', version: 1, impression_id: randomUUID(), token, action: 'view', page: PAGE };
    expect((await edge.post('/v1/promos/track', { ...sent, visitor })).body.accepted).toBe(1);
    expect((await edge.post('/v1/engage', { page: PAGE, visitor })).body.items).toHaveLength(1);
  });

  it('keeps no ids in offline mode', async () => {
    put(edge.table, { site: site({ mode: 'offline' }) });
    edge.define('promo', PROMO);
    edge.define('form', { ...FORM, frequency: { max_times: null } });
    const { body } = await edge.post('/v1/engage', { page: PAGE, visitor });
    expect(body.items.map(({ id }: { id: string }) => id)).toEqual(['quote']);
  });
});

it('what a browser saw while its clock was a year ahead keeps nothing from its visitor but what it answered', async () => {
  edge.define('promo', { ...PROMO, id: 'weekly', frequency: { max_times: null, every_days: 7 } });
  edge.define('promo', { ...PROMO, id: 'other', frequency: { wait_any_days: 1 } });
  edge.define('promo', { ...PROMO, id: 'done', frequency: { max_times: null, after_done: 'never' } });
  const shown = async (aheadMs: number) => {
    const last = edge.clock.nowMs + aheadMs;
    const seen = { 'promo:weekly': { n: 1, last }, 'promo:done': { n: 1, last, done: last } };
    const { body } = await edge.post('/v1/engage', { page: PAGE, seen });
    return body.items.map(({ id }: { id: string }) => id);
  };
  expect(await shown(365 * 86_400_000)).toEqual(['other', 'weekly']);
  expect(await shown(60_000)).toEqual([]);
});

it('the browsers of one person draw the same shares', async () => {
  const engageMemory: EngageMemoryStore = {
    read: async () => ({ personId: 'p_one', seen: new Map(), events: new Map() }),
    note: async () => undefined,
  };
  const known = await openShopWindow({ engageMemory });
  const promos = Array.from({ length: 5 }, (_, at) => ({ ...PROMO, id: `p${at}`, share_percent: 50 }));
  for (const promo of promos) known.define('promo', promo);
  const answers = [];
  for (let at = 0; at < 8; at += 1) {
    answers.push((await known.post('/v1/engage', { page: PAGE, visitor: { distinct_id: randomUUID() } })).body.items);
  }
  const drawn = new Set(answers.map((items) => items.map(({ id }: { id: string }) => id).join()));
  expect(drawn.size).toBe(1);
  await known.close();
});

it('without Redis the browser’s memory decides, and that is counted', async () => {
  const away: EngageMemoryStore = {
    read: () => Promise.reject(new Error('away')),
    note: () => Promise.reject(new Error('away')),
  };
  const alone = await openShopWindow({ engageMemory: away });
  alone.define('promo', PROMO);
  const seen = { 'promo:sale': { n: 1, last: 1 } };
  expect((await alone.post('/v1/engage', { page: PAGE, visitor })).body.items).toHaveLength(1);
  expect((await alone.post('/v1/engage', { page: PAGE, visitor, seen })).body.items).toHaveLength(0);
  expect(await alone.metrics.text()).toMatch(/svc_edge_engage_unremembered_total\{of="read",stage="edge"\} 2/);
  await alone.close();
});
