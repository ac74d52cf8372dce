import { brotliCompressSync, constants, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { decompress, parseJson } from '#services/edge/body.ts';
import { newEvent, postBody } from '#test/harness/ingest.ts';
import { controlWithShop } from '#test/unit/control/harness.ts';
import { startEdge, type TestEdge } from './edge.ts';
import { post } from './foreign.ts';

let edge: TestEdge;
beforeAll(async () => {
  edge = await startEdge();
});
afterAll(() => edge.close());

const MARK = '\ufeff';
const CODINGS: [name: string, coding: string, pack: (text: string) => Buffer][] = [
  ['gzip', 'gzip', gzipSync],
  ['deflate in zlib\u2019s form', 'deflate', deflateSync],
  ['raw deflate', 'deflate', deflateRawSync],
  ['brotli', 'br', brotliCompressSync],
  ['zstd', 'zstd', zstdCompressSync],
];

test.each(CODINGS)('%s is read by our route and by foreign ones, up to the limit', async (_name, coding, pack) => {
  const headers = { 'content-encoding': coding };
  const body = new Uint8Array(pack(JSON.stringify({ events: [newEvent()] })));
  expect(await postBody(edge.url, edge.serverKey, body, headers)).toMatchObject({ status: 200, body: { accepted: 1 } });
  const call = { event: 'Seen', userId: 'u', writeKey: edge.serverKey };
  expect(await post(edge, '/v1/track', new Uint8Array(pack(JSON.stringify(call))), headers)).toMatchObject({
    status: 200,
  });
  expect(decompress(pack('x'.repeat(1_001)), coding, 1_000)).toEqual({ ok: false, code: 'body_too_large' });
  expect(decompress(Buffer.from('no such thing'), coding, 1_000)).toEqual({ ok: false, code: 'body_undecodable' });
});

test('any deflate without a head is told from one with it', () => {
  for (let length = 0; length < 300; length++) {
    for (const level of [0, 1, 6, 9]) {
      const text = 'abc \u00e9 {}'.repeat(length).slice(0, length);
      for (const pack of [deflateSync, deflateRawSync]) {
        expect(decompress(pack(text, { level }), 'deflate', 10_000)).toEqual({ ok: true, value: Buffer.from(text) });
      }
    }
  }
});

test('zstd that asks for more memory than a body needs is refused', () => {
  const params = { [constants.ZSTD_c_windowLog]: 27, [constants.ZSTD_c_contentSizeFlag]: 0 };
  const wide = zstdCompressSync(Buffer.alloc(9 * 1024 * 1024), { params });
  expect(decompress(wide, 'zstd', 20 * 1024 * 1024)).toEqual({ ok: false, code: 'body_undecodable' });
});

test('of what stands behind a body nothing is left out unsaid', () => {
  for (const [name, coding, pack] of CODINGS) {
    const body = pack('{"events":[]}');
    const undecodable = { ok: false, code: 'body_undecodable' };
    expect(decompress(Buffer.concat([body, Buffer.from('zz')]), coding, 1_000), name).toEqual(undecodable);
    const both = decompress(Buffer.concat([body, pack(' ')]), coding, 1_000);
    const isOfParts = coding === 'gzip' || coding === 'zstd';
    expect(both, name).toEqual(isOfParts ? { ok: true, value: Buffer.from('{"events":[]} ') } : undecodable);
  }
});

test('zstd of several frames is read up to the limit of all, and of no more than so many', () => {
  const frames = (text: string, count: number) =>
    Buffer.concat(Array.from({ length: count }, () => zstdCompressSync(text)));
  expect(decompress(frames('abc', 16), 'zstd', 48)).toEqual({ ok: true, value: Buffer.from('abc'.repeat(16)) });
  expect(decompress(frames('abc', 16), 'zstd', 47)).toEqual({ ok: false, code: 'body_too_large' });
  expect(decompress(frames('', 17), 'zstd', 48)).toEqual({ ok: false, code: 'body_undecodable' });
});

test('a byte order mark is taken, and only at the front', async () => {
  const body = `${MARK}${JSON.stringify({ events: [newEvent()] })}`;
  expect(await postBody(edge.url, edge.serverKey, body)).toMatchObject({ status: 200, body: { accepted: 1 } });
  const call = `${MARK}${JSON.stringify({ event: 'Seen', userId: 'u', writeKey: edge.serverKey })}`;
  expect(await post(edge, '/v1/track', call)).toMatchObject({ status: 200 });
  expect(parseJson(Buffer.from(`${MARK}${MARK}{}`))).toEqual({ ok: false, code: 'body_not_json' });
  const { call: ask } = await controlWithShop();
  expect(await ask('PATCH', 'sites/shop', { body: `${MARK}{"name":"Shop"}`, ifMatch: '*' })).toMatchObject({
    status: 200,
  });
});
