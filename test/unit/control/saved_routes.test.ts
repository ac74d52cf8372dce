import { describe, expect, it } from 'vitest';
import { testPhoneHmac } from '#test/harness/event_row.ts';
import { control, controlWithShop, LABEL } from './harness.ts';

const DAY_MS = 86_400_000;
const RANGE = { from: Date.UTC(2026, 9, 1), to: Date.UTC(2026, 10, 1) };
const TOP = { id: 'countries', name: 'Countries', query: 'top', question: { ...RANGE, field: { column: 'country' } } };
const BOARD = { id: 'weekly', name: 'Weekly', questions: ['countries'] };
const QUESTIONS = 'sites/shop/questions';
const BOARDS = 'sites/shop/boards';

describe('saved questions and boards', () => {
  it('are created by their owner, read, replaced, listed and removed', async () => {
    const world = await controlWithShop();
    const created = await world.call('POST', QUESTIONS, { body: TOP });
    expect(created).toMatchObject({ status: 201, body: { ...TOP, owner: LABEL, revision: 1 } });
    const board = await world.call('POST', BOARDS, { body: BOARD });
    expect((await world.call('GET', `${BOARDS}/weekly`)).body).toEqual(board.body);
    const change = { body: { ...TOP, name: 'New', owner: 'ci' }, ifMatch: created.etag };
    const replaced = await world.call('PUT', `${QUESTIONS}/countries`, change);
    expect(replaced).toMatchObject({ status: 200, body: { name: 'New', owner: 'ci', revision: 2 } });
    expect((await world.call('GET', QUESTIONS)).body).toEqual({ items: [replaced.body], next: null });
    const removal = { ifMatch: replaced.etag };
    const onBoard = await world.call('DELETE', `${QUESTIONS}/countries`, removal);
    expect(onBoard.body.error.code).toBe('question_on_board');
    expect((await world.call('DELETE', `${BOARDS}/weekly`, { ifMatch: board.etag })).status).toBe(200);
    expect((await world.call('DELETE', `${QUESTIONS}/countries`, removal)).status).toBe(200);
    expect((await world.call('GET', `${QUESTIONS}/countries`)).body.error.code).toBe('question_unknown');
    expect((await world.call('GET', `${BOARDS}/weekly`)).body.error.code).toBe('board_unknown');
  });

  it('keep no bare hash of a phone number, and are asked by the keyed one', async () => {
    const world = await controlWithShop();
    const filters = [{ field: { column: 'phone_hmac' }, is: 'equal', to: ['0a'.repeat(32)] }];
    const saved = await world.call('POST', QUESTIONS, {
      body: { ...TOP, question: { ...TOP.question, filters } },
    });
    expect(saved.body.question.filters[0].to).toEqual([testPhoneHmac('shop', '0a'.repeat(32))]);
    expect(JSON.stringify((await world.call('GET', 'audit')).body)).not.toContain('0a0a');
  });

  it('keep owner and revision when they are replaced by themselves', async () => {
    const world = await controlWithShop();
    const { etag } = await world.call('POST', QUESTIONS, { body: { ...TOP, owner: 'ci' } });
    const { body } = await world.call('PUT', `${QUESTIONS}/countries`, { body: TOP, ifMatch: etag });
    expect([body.owner, body.revision]).toEqual(['ci', 1]);
  });

  it('are not changed blindly, nor by whoever saw an earlier one, nor made twice', async () => {
    const world = await controlWithShop();
    const { etag } = await world.call('POST', QUESTIONS, { body: TOP });
    const at = `${QUESTIONS}/countries`;
    expect((await world.call('PUT', at, { body: TOP })).body.error.code).toBe('if_match_missing');
    await world.call('PUT', at, { body: { ...TOP, name: 'New' }, ifMatch: etag });
    expect((await world.call('PUT', at, { body: TOP, ifMatch: etag })).body.error.code).toBe('version_conflict');
    expect((await world.call('DELETE', at, { ifMatch: etag })).body.error.code).toBe('version_conflict');
    expect((await world.call('POST', QUESTIONS, { body: TOP })).body.error.code).toBe('question_exists');
  });

  it('have 256 KiB together on a site, and one of them may still be replaced', async () => {
    const world = await controlWithShop();
    const question = { sql: `SELECT ${'a+'.repeat(15_000)}a` };
    const body = (id: string) => ({ id, name: id, query: 'sql', question });
    const saved = [];
    for (const id of 'abcdefgh') saved.push(await world.call('POST', QUESTIONS, { body: body(id) }));
    expect(saved.map(({ status }) => status)).toEqual(saved.map(() => 201));
    const { body: refused } = await world.call('POST', QUESTIONS, { body: body('i') });
    expect(refused.problems).toMatchObject([{ code: 'too_large', field: 'question' }]);
    const change = { body: { ...body('h'), name: 'New' }, ifMatch: saved[7]?.etag ?? '' };
    expect((await world.call('PUT', `${QUESTIONS}/h`, change)).status).toBe(200);
    expect((await world.call('POST', BOARDS, { body: { ...BOARD, questions: ['a'] } })).status).toBe(201);
  });

  it('stand in the audit, field by field', async () => {
    const world = await controlWithShop();
    const { etag } = await world.call('POST', QUESTIONS, { body: TOP });
    await world.call('PUT', `${QUESTIONS}/countries`, { body: { ...TOP, name: 'New' }, ifMatch: etag });
    const [change] = (await world.call('GET', 'audit?limit=1')).body.items;
    expect(change).toMatchObject({
      setting_key: 'saved/shop/question/countries',
      before: { definition: { name: 'Countries' }, version: 1 },
      after: { definition: { name: 'New' }, version: 2 },
    });
  });

  it.each([
    ['an unknown query', { query: 'nothing' }, 'query', 'not_there'],
    ['a question without what it needs', { question: RANGE }, 'question.field', 'field_missing'],
    ['a time that ends before it begins', { question: { ...TOP.question, to: 1 } }, 'question.to', undefined],
    [
      'an e-mail address',
      { query: 'sql', question: { sql: "SELECT 'ann@shop.example'" } },
      'question',
      'personal_text',
    ],
    [
      'more than 32 KiB',
      { query: 'sql', question: { sql: `SELECT ${'1+'.repeat(20_000)}1` } },
      'question',
      'too_large',
    ],
  ])('is refused with %s', async (_what, fields, field, code) => {
    const world = await controlWithShop();
    const { status, body } = await world.call('POST', QUESTIONS, { body: { ...TOP, ...fields } });
    expect([status, body.problems[0].field]).toEqual([400, field]);
    if (code !== undefined) expect(body.problems[0].code).toBe(code);
  });

  it('are refused on a board twice, or where they are not there', async () => {
    const world = await controlWithShop();
    await world.call('POST', QUESTIONS, { body: TOP });
    const codeOf = async (questions: string[]) =>
      (await world.call('POST', BOARDS, { body: { ...BOARD, questions } })).body.problems[0].code;
    expect(await codeOf(['countries', 'countries'])).toBe('repeated');
    expect(await codeOf(['countries', 'other'])).toBe('not_there');
  });

  it('are as many as there may be', async () => {
    const world = await controlWithShop();
    for (let at = 0; at < 100; at += 1) {
      expect((await world.call('POST', BOARDS, { body: { ...BOARD, id: `b${at}`, questions: [] } })).status).toBe(201);
    }
    const more = await world.call('POST', BOARDS, { body: { ...BOARD, questions: [] } });
    expect(more.body.error.code).toBe('limit_reached');
  });
});

describe('the answer to a saved question', () => {
  async function asked() {
    const statements: object[] = [];
    const sql: string[] = [];
    const world = await control(
      LABEL,
      async (statement) => {
        statements.push(statement);
        return [];
      },
      undefined,
      async (siteId, text) => {
        sql.push(`${siteId}: ${text}`);
        return Buffer.from('{"meta":[{"name":"a","type":"UInt8"}],"data":[[1]]}');
      },
    );
    await world.call('POST', 'accounts', { body: { account_id: 'acme', monthly_allowance: 1000 } });
    await world.call('POST', 'sites', { body: { site_id: 'shop', account_id: 'acme' } });
    return { world, statements, sql };
  }

  it('is what its query answers, and of another time where that is given', async () => {
    const { world, statements } = await asked();
    await world.call('POST', QUESTIONS, { body: TOP });
    await world.call('GET', '/v1/query/shop/questions/countries');
    await world.call('POST', '/v1/query/shop/top', { body: { ...TOP.question, fresh: true } });
    expect(statements[0]).toEqual(statements[1]);
    const { status } = await world.call('GET', `/v1/query/shop/questions/countries?from=${RANGE.from + 1}`);
    expect([status, statements.length]).toEqual([200, 3]);
    expect(JSON.stringify(statements[2])).toContain(String((RANGE.from + 1) / 1_000));
  });

  it('is of the time alone where that overlaps the one that it is compared with, as no query may', async () => {
    const { world } = await asked();
    const question = { from: RANGE.from, to: RANGE.from + 7 * DAY_MS, interval: 'day', series: [{}] };
    const compared = { ...question, compare: { days: 7 } };
    await world.call('POST', QUESTIONS, { body: { ...TOP, query: 'trends', question: compared } });
    const before = async (days: number): Promise<[number, boolean]> => {
      const path = `/v1/query/shop/questions/countries?to=${RANGE.from + days * DAY_MS}`;
      const { status, body } = await world.call('GET', path);
      return [status, 'before' in body.series[0]];
    };
    expect(await before(7)).toEqual([200, true]);
    expect(await before(30)).toEqual([200, false]);
    const longer = { ...compared, to: RANGE.to };
    const { status, body } = await world.call('POST', '/v1/query/shop/trends', { body: longer });
    expect([status, body.problems[0].field]).toEqual([400, 'compare.days']);
    const saved = await world.call('POST', QUESTIONS, { body: { ...TOP, id: 'b', query: 'trends', question: longer } });
    expect([saved.status, saved.body.problems[0].field]).toEqual([400, 'question.compare.days']);
  });

  it('is CSV too, and SQL of its own site', async () => {
    const { world, sql } = await asked();
    await world.call('POST', QUESTIONS, { body: { ...TOP, query: 'sql', question: { sql: 'SELECT 1 AS a' } } });
    const { text } = await world.call('GET', '/v1/query/shop/questions/countries?format=csv');
    expect([text, sql]).toEqual(['a\r\n1\r\n', ['shop: SELECT 1 AS a']]);
  });

  it('is of the times in its SQL, whatever time is given', async () => {
    const { world, sql } = await asked();
    await world.call('POST', QUESTIONS, { body: { ...TOP, query: 'sql', question: { sql: 'SELECT 1 AS a' } } });
    const { status, body } = await world.call(
      'GET',
      `/v1/query/shop/questions/countries?from=${RANGE.from}&to=${RANGE.to}`,
    );
    expect([status, body.rows, sql]).toEqual([200, [[1]], ['shop: SELECT 1 AS a']]);
  });

  it('is refused by name where there is none', async () => {
    const { world } = await asked();
    expect((await world.call('GET', '/v1/query/shop/questions/none')).body.error.code).toBe('question_unknown');
    expect((await world.call('GET', '/v1/query/other/questions/none')).body.error.code).toBe('site_unknown');
  });
});
