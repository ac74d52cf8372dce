import { randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { afterEach, expect, test } from 'vitest';
import { startEdge, type TestEdge } from './edge.ts';
import { post } from './foreign.ts';
import { longestTurn } from './longest_turn.ts';

let edge: TestEdge;
afterEach(async () => {
  expect(edge.unknown).toEqual([]);
  await edge.close();
});

const MIB = 1024 * 1024;
/** No parse may take 50 ms; the rest is room for the busy machine of a test, whose client it is too. What this is about took 3,000 and more. */
const TURN_MS_MAX = 400;

const BRACKETS = Math.floor(2.6 * MIB);
const zipped = (text: string) => new Uint8Array(gzipSync(text));
const GZIP = { 'content-encoding': 'gzip', 'content-type': 'application/json' };

const SMALL_BUT_HEAVY: [name: string, text: string][] = [
  ['nested lists', '['.repeat(BRACKETS)],
  ['nested lists that end', '['.repeat(BRACKETS) + ']'.repeat(BRACKETS)],
  ['nested objects', '{"a":'.repeat(MIB)],
  ['empty lists', `[${'[],'.repeat(MIB)}[]]`],
  ['one text', `{"a":"${'x'.repeat(4 * MIB)}"}`],
  ['blanks', ' '.repeat(4 * MIB)],
];

test.each(SMALL_BUT_HEAVY)('six small bodies without a key that hold %s hold up nobody', async (_name, text) => {
  edge = await startEdge();
  const body = zipped(text);
  expect(body.length).toBeLessThan(16_000);
  const statuses: number[] = [];
  const longestMs = await longestTurn(async () => {
    const paths = ['/batch/', '/e/', '/v1/batch', '/batch/', '/flags/', '/capture/'];
    const answers = await Promise.all(paths.map((path) => post(edge, path, body, GZIP)));
    statuses.push(...answers.map(({ status }) => status));
  });
  expect(statuses.every((status) => [400, 401, 413].includes(status))).toBe(true);
  expect(longestMs).toBeLessThan(TURN_MS_MAX);
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

test.each(HEAVY)('a body by a key that holds %s is parsed in no long turn', async (_name, inner) => {
  edge = await startEdge();
  const body = zipped(`{"api_key":"${edge.serverKey}","batch":[${inner}]}`);
  const longestMs = await longestTurn(async () => {
    const answer = await post(edge, '/batch/', body, GZIP);
    expect([400, 413]).toContain(answer.status);
  });
  expect(longestMs).toBeLessThan(TURN_MS_MAX);
});

test('who sends many bodies without a key is told to wait, before they are looked at', async () => {
  edge = await startEdge({ strangersMax: 3 });
  const event = (key: string) => JSON.stringify({ event: 'Seen', distinct_id: 'p', api_key: key });
  for (let times = 1; times <= 4; times++) {
    expect(await post(edge, '/e/', event('guess'))).toMatchObject({ status: 403 });
  }
  const limited = await post(edge, '/batch/', event('guess'));
  expect(limited).toMatchObject({ status: 429, body: { type: 'throttled_error' } });
  expect(limited.headers.get('retry-after')).toMatch(/^\d+$/);
  expect(await post(edge, '/flags/', event(edge.browserKey))).toMatchObject({ status: 429 });
  // A key that is seen without the body is let in all the same.
  expect(await post(edge, `/e/?key=${edge.serverKey}`, event('guess'))).toMatchObject({ status: 200 });
});

test('valid keys in bodies are never counted', async () => {
  edge = await startEdge({ strangersMax: 1 });
  for (let times = 0; times < 20; times++) {
    const body = JSON.stringify({ batch: [{ event: 'Seen', distinct_id: 'p' }], sentAt: 'x', api_key: edge.serverKey });
    expect(await post(edge, '/batch/', body)).toMatchObject({ status: 200 });
  }
});

test('a stranger’s body may become no larger than 64 times what was sent', async () => {
  edge = await startEdge();
  const text = `{"batch":["${'x'.repeat(900_000)}"],"api_key":"${edge.serverKey}"}`;
  expect(await post(edge, '/batch/', zipped(text), GZIP)).toMatchObject({ status: 413 });
  expect(await post(edge, '/batch/', text)).toMatchObject({ status: 400, body: { code: 'events_rejected' } });
});

test('a large batch with its key at the end is taken whole', async () => {
  edge = await startEdge();
  const batch = Array.from({ length: 2_000 }, (_, n) => ({
    event: 'Seen',
    uuid: `id-${n}`,
    distinct_id: `p${n}`,
    properties: { text: `{"[,\\" ${randomBytes(400).toString('base64')}` },
  }));
  const body = JSON.stringify({ batch, sentAt: new Date().toISOString(), api_key: edge.serverKey });
  expect(body.length).toBeGreaterThan(MIB);
  expect(await post(edge, '/batch/', zipped(body), GZIP)).toMatchObject({ status: 200 });
  expect(edge.records.flat().map(({ event_id }) => event_id)).toEqual(batch.map(({ uuid }) => uuid));
});
