import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { select } from '#test/harness/clickhouse.ts';
import { defineEngage, ENGAGE_PAGE } from '#test/harness/engage.ts';
import { sharedService } from '#test/harness/shared_service.ts';
import { makeSite, type TestSite } from '#test/harness/test_site.ts';
import { until } from '#test/harness/until.ts';

const service = sharedService();
const { edge, clickhouse } = service.ready;
const SPAM_OF_A_KIND = 200;
const HONEST = 1_000;
const AT_ONCE = 20;
const FORM = {
  id: 'quote',
  name: 'Quote',
  fields: [
    { name: 'email', type: 'email', label: 'E-mail', map: 'email' },
    { name: 'message', type: 'textarea', label: 'Message', max_length: 2000 },
  ],
};
/** What the definition takes by default, and a little more. */
const FILLING_IN_MS = 1_700;

let site: TestSite;
beforeAll(async () => {
  // Nobody sends so much under one key in so short a time, but this test.
  site = await makeSite(service, { browserKeyWords: ['--rate-limit', '100000'] });
  await defineEngage(site, edge, 'form', FORM);
});
afterAll(() => site.close());

interface Answer {
  accepted?: number;
  challenge?: object;
  items?: { token: string }[];
}

const addressOf = (person: number): string => `198.${18 + (person >> 16)}.${(person >> 8) & 255}.${person & 255}`;

/** A request of somebody with an address of his own, as behind a proxy. */
async function post(path: string, person: number, body: object): Promise<Answer> {
  const answer = await fetch(`${edge}${path}?key=${site.browserKey}`, {
    method: 'POST',
    headers: { 'content-type': 'text/plain', 'x-forwarded-for': addressOf(person) },
    body: JSON.stringify(body),
  });
  expect(answer.status).toBe(200);
  return (await answer.json()) as Answer;
}

async function each<Result>(count: number, work: (at: number) => Promise<Result>): Promise<Result[]> {
  const results: Result[] = [];
  for (let from = 0; from < count; from += AT_ONCE) {
    const some = Array.from({ length: Math.min(AT_ONCE, count - from) }, (_, at) => work(from + at));
    results.push(...(await Promise.all(some)));
  }
  return results;
}

let people = 0;
/** A token that the edge hands out. */
async function token(): Promise<string> {
  people += 1;
  const answer = await post('/v1/engage', people, { page: ENGAGE_PAGE, visitor: { distinct_id: randomUUID() } });
  return answer.items?.[0]?.token ?? '';
}

interface Sent {
  token: string;
  fields?: object;
}

function submit({ token: sent, fields = {} }: Sent): Promise<Answer> {
  people += 1;
  const own = { email: `person.${people}@mail.example`, message: `Please send me the price list, number ${people}.` };
  const body = { form_id: 'quote', version: 1, submission_id: randomUUID(), token: sent, page: ENGAGE_PAGE };
  return post('/v1/form', people, { ...body, fields: { ...own, ...fields } });
}

/** What becomes of so many posts that somebody took his time for. */
async function submitted(count: number, made: (token: string, at: number) => Sent): Promise<Answer[]> {
  const tokens = await each(count, token);
  await new Promise((resolve) => setTimeout(resolve, FILLING_IN_MS));
  return each(count, (at) => submit(made(tokens[at] ?? '', at)));
}

const acceptedOf = (answers: readonly Answer[]): number => answers.filter(({ accepted }) => accepted === 1).length;

async function leads(): Promise<number> {
  const query = `SELECT toInt32(count()) AS n FROM events WHERE site_id = {site:String} AND event = 'generate_lead'`;
  const [row] = await select<{ n: number }>(clickhouse, query, { site: site.site });
  return row?.n ?? 0;
}

/** A plain form, which brings no token, of somebody with an address of their own. */
async function submitPlain(fields: Record<string, string>): Promise<number> {
  people += 1;
  const body = new URLSearchParams({ _form_id: 'quote', email: `plain.${people}@mail.example`, ...fields });
  const headers = { 'x-forwarded-for': addressOf(people) };
  const answer = await fetch(`${edge}/v1/form?key=${site.browserKey}`, { method: 'POST', headers, body });
  await answer.text();
  return answer.status;
}

/** What comes without a token is limited for a form, from however many addresses it comes. */
const WITHOUT_TOKEN_MAX = 100;
const HONEST_PLAIN = 40;

test('of 1,000 spam posts of five kinds at most 5 are taken, of 1,000 honest ones 998', {
  timeout: 240_000,
}, async () => {
  const [shared = ''] = await each(1, token);
  const spam = [
    await each(SPAM_OF_A_KIND, async () => submit({ token: randomUUID() })),
    await each(SPAM_OF_A_KIND, async () => submit({ token: await token() })),
    await submitted(SPAM_OF_A_KIND, (own) => ({ token: own, fields: { website_2: 'https://pills.example' } })),
    await submitted(SPAM_OF_A_KIND, (own, at) => ({
      token: own,
      fields: { message: `Buy at https://a.example/${at} and www.b.example and http://c.example now` },
    })),
    await each(SPAM_OF_A_KIND, () => submit({ token: shared })),
  ];
  const taken = spam.map(acceptedOf);
  expect(spam.flat()).toHaveLength(1_000);
  expect(taken.reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(5);

  const honest = await submitted(HONEST, (own) => ({ token: own }));
  expect(acceptedOf(honest)).toBeGreaterThanOrEqual(998);
  expect(honest.filter(({ challenge }) => challenge !== undefined)).toEqual([]);

  const all = acceptedOf([...spam.flat(), ...honest]);
  expect(await until('every lead that was taken is a row', leads, (count) => count >= all, { timeoutMs: 60_000 })).toBe(
    all,
  );
});

test('of plain forms the honest are taken, and a flood of 200 addresses no further than a form takes without tokens', {
  timeout: 120_000,
}, async () => {
  const before = await leads();
  const honest = await each(HONEST_PLAIN, (at) => submitPlain({ message: `What do ${at} chairs cost, please?` }));
  expect(honest).toEqual(Array(HONEST_PLAIN).fill(200));
  const linked = await each(20, (at) => submitPlain({ message: `See https://pills.example/${at}` }));
  expect(linked).toEqual(Array(20).fill(400));
  const flood = await each(SPAM_OF_A_KIND, (at) => submitPlain({ message: `Cheap pills, offer ${at} of today only.` }));
  const taken = flood.filter((status) => status === 200).length;
  expect(taken).toBeLessThanOrEqual(WITHOUT_TOKEN_MAX - HONEST_PLAIN);
  expect(flood.filter((status) => status === 429)).toHaveLength(SPAM_OF_A_KIND - taken);
  const most = before + HONEST_PLAIN + taken;
  expect(
    await until('every lead that was taken is a row', leads, (count) => count >= most, { timeoutMs: 60_000 }),
  ).toBe(most);
});
