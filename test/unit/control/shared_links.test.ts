import { beforeEach, describe, expect, it } from 'vitest';
import { QUESTIONS } from '#pipelines/analytics/questions.ts';
import { SHOWN_KINDS } from '#services/control/queries/share_routes.ts';
import type { QueryRequest } from '#services/control/route.ts';
import type { Control } from './harness.ts';
import { controlWithShop, LABEL, NOW_MS } from './harness.ts';
import { SHARED_MAX } from './memory_sessions.ts';

const DAY_MS = 86_400_000;
const RANGE = { from: Date.UTC(2026, 9, 1), to: Date.UTC(2026, 10, 1) };
const saved = (id: string, query: string, question: object) => ({ id, name: `The ${id}`, query, question });
const COUNTRIES = saved('countries', 'top', { ...RANGE, field: { column: 'country' }, fresh: true });
const ORDERS = saved('orders', 'top', { ...RANGE, field: { column: 'order_id' } });
const SQL = saved('raw', 'sql', { sql: 'SELECT 1' });
const PEOPLE = saved('people', 'live', {});
const OTHER = saved('other', 'top', { ...RANGE, field: { column: 'browser' } });
const PLANS = saved('plans', 'top', { ...RANGE, field: { property: ['plan'] } });
const ALL = [COUNTRIES, ORDERS, SQL, PEOPLE, OTHER, PLANS];
const BOARD = { id: 'weekly', name: 'Weekly', questions: ['countries', 'orders', 'raw', 'people'] };
const SHARES = 'sites/shop/shares';

let world: Control;
let statements: QueryRequest['statement'][];
/** What happens while ClickHouse is asked. */
let meanwhile: () => Promise<unknown>;
beforeEach(async () => {
  statements = [];
  meanwhile = async () => undefined;
  world = await controlWithShop(async (statement) => {
    statements.push(statement);
    await meanwhile();
    return [];
  });
  for (const body of ALL) expect((await world.call('POST', 'sites/shop/questions', { body })).status).toBe(201);
  await world.call('POST', 'sites/shop/boards', { body: BOARD });
});

async function made(body: object = {}) {
  const all = { kind: 'board', item_id: 'weekly', name: 'Agency', ...body };
  const answer = await world.call('POST', SHARES, { body: all });
  expect(answer.status).toBe(201);
  const [path = '', secret = ''] = answer.body.path.split('#');
  const id: string = answer.body.share.link_id;
  const read = (what = '', token: string | null = secret) => world.call('GET', `/v1/shared/${id}${what}`, { token });
  return { answer, id, path, secret, read, revoke: () => world.call('POST', `${SHARES}/${id}/revoke`) };
}

const codeOf = ({ status, body }: Awaited<ReturnType<Control['call']>>) => [status, body.error?.code];
const GONE = [404, 'share_unknown'];

describe('a shared link', () => {
  it('is made with a secret that is shown once and stored as its hash, and ends after 30 days', async () => {
    const { answer, id, path, secret } = await made();
    expect(path).toBe(`/dashboard/shared/${id}`);
    expect(secret).toMatch(/^svc_sh_[0-9A-Za-z]{32}$/);
    const { items } = (await world.call('GET', SHARES)).body;
    expect(items).toEqual([answer.body.share]);
    expect(items[0]).toMatchObject({ state: 'active', created_by: LABEL, expires_at: NOW_MS + 30 * DAY_MS, opened: 0 });
    const stored = JSON.stringify([world.journal.records, items, (await world.call('GET', 'audit')).body]);
    expect(stored).not.toContain(secret);
    expect(stored).toContain(`share/shop/${id}`);
  });

  it('shows the questions of the board, but for those of single people, of events and in SQL', async () => {
    const { read } = await made({ last_days: 7 });
    const { body, headers } = await read();
    expect(headers['cache-control']).toBe('no-store');
    expect(body).toMatchObject({ name: 'Weekly', site_name: 'shop', time_zone: 'UTC', left_out: 3 });
    expect(body.questions.map(({ id }: { id: string }) => id)).toEqual(['countries']);
    expect((await read('/questions/countries')).status).toBe(200);
    for (const id of ['orders', 'raw', 'people', 'other', 'nothing']) {
      expect(codeOf(await read(`/questions/${id}`))).toEqual([404, 'question_unknown']);
    }
    expect(statements).toHaveLength(1);
  });

  it('leaves out what comes to single people out by a cohort, from when that does', async () => {
    const { read } = await made();
    const of = (column: string) => [{ field: { person: { column }, seen: 'last' }, is: 'equal', to: ['BE'] }];
    const cohort = { id: 'some', name: 'Some', conditions: of('geo_country') };
    const { status, etag } = await world.call('POST', 'sites/shop/cohorts', { body: cohort });
    expect(status).toBe(201);
    const filters = [{ field: { cohort: 'some' }, is: 'in' }];
    const body = { ...COUNTRIES, question: { ...COUNTRIES.question, filters } };
    expect((await world.call('PUT', 'sites/shop/questions/countries', { body, ifMatch: '*' })).status).toBe(200);
    expect((await read('/questions/countries')).status).toBe(200);
    const narrower = { ...cohort, conditions: of('zip') };
    expect((await world.call('PUT', 'sites/shop/cohorts/some', { body: narrower, ifMatch: etag })).status).toBe(200);
    expect(codeOf(await read('/questions/countries'))).toEqual([404, 'question_unknown']);
    expect((await read()).body.left_out).toBe(4);
  });

  it('asks as a viewer does, who is told of values of five persons and more, and from the cache', async () => {
    const { read } = await made({ kind: 'question', item_id: 'plans' });
    await read('/questions/plans');
    await read('/questions/plans');
    expect(statements).toHaveLength(1);
    const grants = [{ role: 'viewer', site_id: 'shop' }];
    const viewer = await world.call('POST', 'tokens', { body: { label: 'viewer', grants } });
    await world.call('GET', '/v1/query/shop/questions/plans', { token: viewer.body.secret });
    expect(statements).toHaveLength(1);
    await world.call('GET', '/v1/query/shop/questions/plans');
    expect(statements).toHaveLength(2);
    expect(world.dataReads).toHaveLength(1);
  });

  it('takes nothing of the request: no time, no filter, no other format', async () => {
    const { read } = await made({ last_days: 7 });
    for (const more of ['?from=1', '?to=2', '?format=csv', '?fresh=true', '?question=%7B%7D']) {
      expect(codeOf(await read(`/questions/countries${more}`))).toEqual([400, 'settings_invalid']);
    }
    expect(statements).toEqual([]);
    const from = Date.UTC(2026, 10, 15);
    expect((await read()).body.questions[0].question).toEqual({
      ...{ from, to: NOW_MS + 60_000, field: { column: 'country' } },
    });
  });

  it('shows days of the zone of the site, or the time that was saved', async () => {
    await world.call('PATCH', 'sites/shop', { body: { time_zone: 'Asia/Tokyo' }, ifMatch: '*' });
    const days = await (await made({ last_days: 1 })).read();
    expect(days.body.questions[0].question.from).toBe(Date.parse('2026-11-21T00:00:00+09:00'));
    const asSaved = await (await made()).read();
    expect(asSaved.body.questions[0].question).toMatchObject(RANGE);
  });

  it('is not compared where its days overlap the time that the question is compared with', async () => {
    const question = { from: RANGE.from, to: RANGE.from + 7 * DAY_MS, interval: 'day', series: [{}] };
    const body = saved('weeks', 'trends', { ...question, compare: { days: 7 } });
    expect((await world.call('POST', 'sites/shop/questions', { body })).status).toBe(201);
    const compares = async (last_days: number): Promise<[number, boolean]> => {
      const { read } = await made({ kind: 'question', item_id: 'weeks', last_days });
      const answer = await read('/questions/weeks');
      return [answer.status, 'before' in answer.body.series[0]];
    };
    expect(await compares(7)).toEqual([200, true]);
    expect(await compares(30)).toEqual([200, false]);
  });

  it('does not open with another secret, a token, an other link or nothing, all alike', async () => {
    const { read } = await made();
    const other = await made();
    const right = await read();
    expect(right.status).toBe(200);
    const tries = [null, 'x', `svc_sh_${'A'.repeat(32)}`, other.secret, `svc_at_${'T'.repeat(32)}`];
    const answers = await Promise.all(tries.map((token) => read('', token)));
    answers.push(await world.call('GET', `/v1/shared/${'a'.repeat(20)}`, { token: other.secret }));
    answers.push(await world.call('GET', '/v1/shared/Nothing%20like%20one', { token: other.secret }));
    for (const answer of answers) expect(codeOf(answer)).toEqual(GONE);
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
  });

  it('opens nothing else: its secret is no token', async () => {
    const { secret } = await made();
    for (const path of ['sites/shop', SHARES, '/v1/query/shop/questions/countries', '/v1/session']) {
      expect(codeOf(await world.call('GET', path, { token: secret }))).toEqual([401, 'token_invalid']);
    }
  });

  it('is revoked at once, also where the answer is cached or under way, and stays revoked', async () => {
    const { read, revoke } = await made();
    await read('/questions/countries');
    const first = await revoke();
    expect(first.body).toMatchObject({ state: 'revoked', revoked_at: NOW_MS });
    expect(codeOf(await read('/questions/countries'))).toEqual(GONE);
    expect(codeOf(await read())).toEqual(GONE);
    world.clock.nowMs += 1_000;
    expect((await revoke()).body.revoked_at).toBe(NOW_MS);
    const late = await made({ kind: 'question', item_id: 'other' });
    meanwhile = late.revoke;
    expect(codeOf(await late.read('/questions/other'))).toEqual(GONE);
  });

  it('ends by itself', async () => {
    const { read } = await made({ days: 1 });
    world.clock.nowMs = NOW_MS + DAY_MS - 1;
    expect((await read()).status).toBe(200);
    world.clock.nowMs += 1;
    expect(codeOf(await read())).toEqual(GONE);
    expect((await world.call('GET', SHARES)).body.items[0].state).toBe('expired');
  });

  it('ends with its board, and another of the same id is not shown by it', async () => {
    const { read } = await made();
    await world.call('DELETE', 'sites/shop/boards/weekly', { ifMatch: '*' });
    expect(codeOf(await read())).toEqual(GONE);
    await world.call('POST', 'sites/shop/boards', { body: BOARD });
    expect(codeOf(await read())).toEqual(GONE);
    expect((await world.call('GET', SHARES)).body.items[0].state).toBe('revoked');
  });

  it('ends where its site moves to another account', async () => {
    const { read } = await made();
    await world.call('POST', 'accounts', { body: { account_id: 'rival', monthly_allowance: 1 } });
    expect((await world.call('PATCH', 'sites/shop', { body: { name: 'Shop' }, ifMatch: '*' })).status).toBe(200);
    expect((await read()).status).toBe(200);
    expect((await world.call('PATCH', 'sites/shop', { body: { account_id: 'rival' }, ifMatch: '*' })).status).toBe(200);
    expect(codeOf(await read())).toEqual(GONE);
  });

  it('ends with its question', async () => {
    const { read } = await made({ kind: 'question', item_id: 'other' });
    expect((await read()).body).toMatchObject({ name: 'The other', left_out: 0 });
    await world.call('DELETE', 'sites/shop/questions/other', { ifMatch: '*' });
    await world.call('POST', 'sites/shop/questions', { body: OTHER });
    expect(codeOf(await read())).toEqual(GONE);
  });

  it('is limited, and so is guessing; Redis away, none is opened', async () => {
    const { read } = await made();
    for (let at = 0; at < SHARED_MAX; at += 1) await read('', 'x');
    for (const token of ['x', undefined]) {
      const answer = await read('', token);
      expect(codeOf(answer)).toEqual([429, 'share_limited']);
      expect(answer.headers['retry-after']).toBe('60');
    }
    world.sessions.isAway = true;
    expect(codeOf(await read())).toEqual([503, 'shares_unavailable']);
    const { items } = (await world.call('GET', SHARES)).body;
    expect(items[0]).toMatchObject({ state: 'active', opened: null, last_opened_at: null });
  });

  it('says how often it was opened, and the audit that it was, once a day', async () => {
    const { id, read } = await made();
    for (let at = 0; at < 3; at += 1) await read();
    const { items } = (await world.call('GET', SHARES)).body;
    expect(items[0]).toMatchObject({ opened: 3, last_opened_at: NOW_MS });
    const opened = (await world.call('GET', `audit?setting_key=share/shop/${id}`)).body.items.filter(
      ({ after }: { after: { done?: string } }) => after.done === 'share.opened',
    );
    expect(opened.map(({ after }: { after: object }) => after)).toEqual([{ done: 'share.opened', times: 1 }]);
  });

  it('is not asked by a page of another origin', async () => {
    const { id, secret } = await made();
    const headers = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site', host: 'control.example' };
    const answer = await world.call('GET', `/v1/shared/${id}`, { token: secret, headers });
    expect(codeOf(answer)).toEqual([403, 'origin_foreign']);
  });
});

describe('links of a site', () => {
  it.each([
    ['a board that is not there', { item_id: 'none' }, [404, 'board_unknown']],
    ['a question that is not there', { kind: 'question', item_id: 'none' }, [404, 'question_unknown']],
    ['a question about single people', { kind: 'question', item_id: 'orders' }, [409, 'share_not_shown']],
    ['a question in SQL', { kind: 'question', item_id: 'raw' }, [409, 'share_not_shown']],
    ['more than a year', { days: 366 }, [400, 'settings_invalid']],
    ['an e-mail address in its name', { name: 'For ada@shop.example' }, [400, 'settings_invalid']],
  ])('are not made of %s', async (_what, body, code) => {
    const all = { kind: 'board', item_id: 'weekly', name: 'Agency', ...body };
    expect(codeOf(await world.call('POST', SHARES, { body: all }))).toEqual(code);
  });

  it('are 100 that work; of those that ended as many are remembered', async () => {
    const links = [];
    for (let at = 0; at < 100; at += 1) links.push(await made());
    const body = { kind: 'board', item_id: 'weekly', name: 'Agency' };
    expect(codeOf(await world.call('POST', SHARES, { body }))).toEqual([409, 'limit_reached']);
    for (const { revoke } of links) await revoke();
    for (let at = 0; at < 5; at += 1) await (await made()).revoke();
    await made();
    const { items } = (await world.call('GET', `${SHARES}?limit=1000`)).body;
    expect(items).toHaveLength(101);
    const page = (await world.call('GET', `${SHARES}?limit=60`)).body;
    const rest = (await world.call('GET', `${SHARES}?limit=60&after=${encodeURIComponent(page.next)}`)).body;
    expect([...page.items, ...rest.items]).toEqual(items);
  });

  it('are revoked by those of the site alone', async () => {
    const { id, read } = await made();
    await world.call('POST', 'sites', { body: { site_id: 'till', account_id: 'acme' } });
    expect(codeOf(await world.call('POST', `sites/till/shares/${id}/revoke`))).toEqual(GONE);
    expect((await read()).status).toBe(200);
  });

  it('are of every kind of question that is about figures, each decided by hand', () => {
    const figures = QUESTIONS.filter((one) => !('permission' in one)).map(({ kind }) => kind as string);
    expect([...SHOWN_KINDS, 'cohorts'].sort()).toEqual(figures.sort());
  });
});

describe('origins that may have links in a frame', () => {
  it('are https, canonical and few', async () => {
    const set = async (embed_origins: string[]) =>
      world.call('PATCH', 'sites/shop', { body: { embed_origins }, ifMatch: '*' });
    const good = await set(['https://Intranet.Example/', 'https://*.shop.example', 'http://localhost:8080']);
    expect(good.body.embed_origins).toEqual([
      'https://intranet.example',
      'https://*.shop.example',
      'http://localhost:8080',
    ]);
    for (const origin of [
      'http://a.example',
      '*',
      'https://*',
      'https://a.example/x',
      'https://*.com',
      "'self'",
      'data:',
    ]) {
      expect((await set([origin])).body.problems[0]).toMatchObject({
        code: 'origin_malformed',
        message: expect.stringMatching(/^must be https, .*; http only for localhost/),
      });
    }
    expect((await set(['https://a.example; script-src *'])).status).toBe(400);
    expect((await set(Array.from({ length: 21 }, (_, at) => `https://a${at}.example`))).status).toBe(400);
  });
});
