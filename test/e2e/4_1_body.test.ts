import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newEvent, postBody } from '#test/harness/ingest.ts';
import { sharedService } from '#test/harness/shared_service.ts';
import { makeSite, type TestSite } from '#test/harness/test_site.ts';

const service = sharedService();
const { edge } = service.ready;
const BOMB_BYTES = 64 * 1024 * 1024;

let site: TestSite;
beforeAll(async () => {
  site = await makeSite(service);
});
afterAll(() => site.close());

const json = (): string => JSON.stringify({ events: [newEvent()] });
const bytes = (buffer: Buffer): Uint8Array<ArrayBuffer> => new Uint8Array(buffer);

const TAKEN: [what: string, body: () => string | Uint8Array<ArrayBuffer>, headers: Record<string, string>][] = [
  ['application/json', json, { 'content-type': 'application/json' }],
  ['application/json with a charset', json, { 'content-type': 'application/json; charset=utf-8' }],
  ['text/plain, as sendBeacon sends it', json, { 'content-type': 'text/plain;charset=UTF-8' }],
  ['gzip', () => bytes(gzipSync(json())), { 'content-encoding': 'gzip' }],
  ['deflate', () => bytes(deflateSync(json())), { 'content-encoding': 'deflate' }],
  ['brotli', () => bytes(brotliCompressSync(json())), { 'content-encoding': 'br' }],
];

test.for(TAKEN)('%s is taken', async ([, body, headers]) => {
  expect(await postBody(edge, site.serverKey, body(), headers)).toMatchObject({ status: 200, body: { accepted: 1 } });
});

const bomb = (): Uint8Array<ArrayBuffer> => bytes(gzipSync(Buffer.alloc(BOMB_BYTES, 0x20)));

const REFUSED: [
  what: string,
  status: number,
  code: string,
  body: () => string | Uint8Array<ArrayBuffer>,
  headers: Record<string, string>,
][] = [
  [
    'a form',
    415,
    'content_type_unsupported',
    () => 'events=1',
    { 'content-type': 'application/x-www-form-urlencoded' },
  ],
  ['an unknown encoding', 415, 'content_encoding_unsupported', json, { 'content-encoding': 'compress' }],
  ['what is no gzip', 400, 'body_undecodable', json, { 'content-encoding': 'gzip' }],
  [
    'a gzip cut short',
    400,
    'body_undecodable',
    () => bytes(gzipSync(json()).subarray(0, 40)),
    { 'content-encoding': 'gzip' },
  ],
  ['a bomb', 413, 'body_too_large', bomb, { 'content-encoding': 'gzip' }],
  ['what is no JSON', 400, 'body_not_json', () => '{"events":[', {}],
  ['what is no UTF-8', 400, 'body_not_json', () => bytes(Buffer.from([0x22, 0xff, 0xfe, 0x22])), {}],
  ['an array', 400, 'body_not_object', () => '[]', {}],
  ['no events field', 400, 'events_missing', () => '{"event":[]}', {}],
  ['events that is no array', 400, 'events_not_array', () => '{"events":{}}', {}],
  ['no event', 400, 'events_empty', () => '{"events":[]}', {}],
];

test.for(REFUSED)('%s is refused with %i %s', async ([, status, code, body, headers]) => {
  const answer = await postBody(edge, site.serverKey, body(), headers);
  expect(answer).toMatchObject({ status, body: { error: { code, message: expect.any(String) } } });
});
