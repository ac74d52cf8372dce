import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { startEdge, type TestEdge } from '#test/unit/edge/edge.ts';
import { openShopWindow, PAGE } from '#test/unit/edge/engage/shop_window.ts';
import { post } from '#test/unit/edge/foreign.ts';
import { FORM } from '#test/unit/engage/samples.ts';
import { CHROME } from '#test/unit/intake/context.ts';
import { longestTurn } from './longest_turn.ts';
import { expectAsRecorded } from './recorded.ts';

let edge: TestEdge;
beforeEach(async () => {
  edge = await startEdge();
});
afterEach(() => edge.close());

/** Names that no request had before, of letters alone: digits make a name cheaper, as few of those are kept. */
function names(count: number, from: number, mark: string): string[] {
  return Array.from({ length: count }, (_, at) => `${deadLettersOf(from + at)}${mark}`);
}

function deadLettersOf(number: number): string {
  return number.toString().replaceAll(/\d/g, (digit) => 'abcdefghij'.charAt(Number(digit)));
}

const properties = (count: number, from: number, mark: string): string =>
  `{${names(count, from, mark)
    .map((name) => `"${name}":1`)
    .join(',')}}`;
const many = (count: number, one: (at: number) => string, by = ','): string =>
  Array.from({ length: count }, (_, at) => one(at)).join(by);

interface Sent {
  path: string;
  body: string | Buffer<ArrayBuffer>;
  headers?: Record<string, string>;
}

const JSON_TYPE = { 'content-type': 'application/json' };
const GZIP = { ...JSON_TYPE, 'content-encoding': 'gzip' };

/** By name: what makes a request whose names begin with `mark`, and what it is answered. */
const WORST: [name: string, make: (of: TestEdge, mark: string) => Sent, status: number][] = [
  [
    'events of many names',
    ({ browserKey }, mark) => ({
      path: `/v1/ingest?key=${browserKey}`,
      headers: JSON_TYPE,
      body: `{"events":[${many(24, (at) => `{"event":"a","properties":${properties(900, at * 900, mark)}}`)}]}`,
    }),
    200,
  ],
  [
    'hits of many parameters',
    ({ browserKey }, mark) => ({
      path: `/g/collect?key=${browserKey}`,
      body: many(
        24,
        (at) =>
          `en=a${names(850, at * 850, mark)
            .map((name) => `&ep.${name}=`)
            .join('')}`,
        '\r\n',
      ),
    }),
    413,
  ],
  [
    'hits of JSON in one value',
    ({ browserKey }, mark) => ({
      path: `/g/collect?key=${browserKey}`,
      body: many(4, (at) => `en=a&ep.x=${properties(4_900, at * 4_900, mark)}`, '\r\n'),
    }),
    413,
  ],
  [
    'measurements with many properties of their user',
    ({ serverKey }, mark) => ({
      path: `/mp/collect?api_secret=${serverKey}`,
      body: `{"client_id":"1.2","user_properties":${properties(4_000, 0, mark)},"events":[${many(25, () => '{"name":"a"}')}]}`,
    }),
    413,
  ],
  [
    'calls of Segment’s',
    ({ browserKey }, mark) => ({
      path: '/v1/batch',
      headers: JSON_TYPE,
      body: `{"writeKey":"${browserKey}","batch":[${many(40, (at) => `{"type":"track","event":"a","userId":"u","properties":${properties(900, at * 900, mark)}}`)}]}`,
    }),
    200,
  ],
  [
    'events of PostHog’s',
    ({ serverKey }, mark) => ({
      path: '/batch/',
      headers: GZIP,
      body: gzipSync(
        `{"api_key":"${serverKey}","batch":[${many(1_000, (at) => `{"event":"a","distinct_id":"u","properties":${properties(80, at * 80, mark)}}`)}]}`,
      ) as Buffer<ArrayBuffer>,
    }),
    200,
  ],
];

test.each(WORST)('%s hold up nobody for long', async (name, make, status) => {
  const answer = async ({ path, body, headers = {} }: Sent): Promise<number> => {
    const sent = { method: 'POST', body, headers: { 'user-agent': CHROME, ...headers } };
    return (await fetch(`${edge.url}${path}`, sent)).status;
  };
  // The first of a kind also compiles what it runs.
  expect(await answer(make(edge, 'x'))).toBe(status);
  const longestMs: number[] = [];
  // What the machine does beside it makes a turn longer, never shorter.
  for (const mark of ['y', 'z', 'w']) {
    edge.records.length = 0;
    const sent = make(edge, mark);
    longestMs.push(await longestTurn(async () => expect(await answer(sent)).toBe(status)));
  }
  expectAsRecorded(name, Math.min(...longestMs));
});

const MIB = 1024 * 1024;
const BRACKETS = Math.floor(2.6 * MIB);
const zipped = (text: string) => new Uint8Array(gzipSync(text));
const SMALL_BUT_HEAVY: [name: string, text: string][] = [
  ['nested lists', '['.repeat(BRACKETS)],
  ['nested lists that end', '['.repeat(BRACKETS) + ']'.repeat(BRACKETS)],
  ['nested objects', '{"a":'.repeat(MIB)],
  ['empty lists', `[${'[],'.repeat(MIB)}[]]`],
  ['one text', `{"a":"${'x'.repeat(4 * MIB)}"}`],
  ['blanks', ' '.repeat(4 * MIB)],
];

test.each(SMALL_BUT_HEAVY)('six small bodies without a key that hold %s hold up nobody', async (name, text) => {
  const body = zipped(text);
  expect(body.length).toBeLessThan(16_000);
  const paths = ['/batch/', '/e/', '/v1/batch', '/batch/', '/flags/', '/capture/'];
  const longestMs = await longestTurn(async () => {
    const answers = await Promise.all(paths.map((path) => post(edge, path, body, GZIP)));
    expect(answers.every(({ status }) => [400, 401, 413].includes(status))).toBe(true);
  });
  expectAsRecorded(`six bodies of ${name}`, longestMs);
});

const HEAVY: [name: string, text: string][] = [
  ['lists in lists', `[${'['.repeat(MIB)}`],
  [
    'many small objects',
    Array(Math.floor((4.5 * MIB) / 12))
      .fill('{"ab":{}}')
      .join(','),
  ],
  ['many names', `{${Array.from({ length: 300_000 }, (_, n) => `"${n.toString(36)}":1`).join(',')}}`],
];

test.each(HEAVY)('a body by a key that holds %s is parsed in no long turn', async (name, inner) => {
  const body = zipped(`{"api_key":"${edge.serverKey}","batch":[${inner}]}`);
  const longestMs = await longestTurn(async () => {
    const answer = await post(edge, '/batch/', body, GZIP);
    expect([400, 413]).toContain(answer.status);
  });
  expectAsRecorded(`a body of ${name}`, longestMs);
});

const NAMES = Array.from({ length: 6_700 }, (_, at) => at.toString(36));
const MANY = Object.fromEntries(NAMES.slice(0, 3_500).map((name) => [name, 0]));

test.each([
  ['a form by a script', '/v1/form', { form_id: 'quote', fields: MANY }],
  ['a survey', '/v1/surveys/respond', { answers: NAMES.map(() => 1) }],
  ['promos', '/v1/promos/track', { events: NAMES.map(() => 1) }],
  ['a visitor', '/v1/engage', { page: PAGE, seen: MANY }],
])('more fields in %s than any has are refused in no long turn', async (name, path, body) => {
  const shop = await openShopWindow();
  shop.define('form', FORM);
  const longestMs: number[] = [];
  for (let time = 0; time < 3; time += 1) {
    longestMs.push(await longestTurn(async () => expect(await shop.post(path, body)).toMatchObject({ status: 400 })));
  }
  expectAsRecorded(`too many fields in ${name}`, Math.min(...longestMs));
  await shop.close();
});

test('names of strangers at the check of certificates cost no more than any request does', async () => {
  const cpuMsOf = async (path: (at: number) => string, status: number): Promise<number> => {
    const before = process.cpuUsage();
    for (let at = 0; at < 1_000; at += 1) {
      const answer = await fetch(`${edge.url}${path(at)}`);
      expect(answer.status).toBe(status);
      await answer.text();
    }
    return process.cpuUsage(before).user / 1000;
  };
  await cpuMsOf(() => '/v1/health', 200);
  const plainMs = await cpuMsOf(() => '/v1/health', 200);
  expect(await cpuMsOf((at) => `/v1/tls-check?domain=stranger-${at}.example`, 404)).toBeLessThan(3 * plainMs);
});
