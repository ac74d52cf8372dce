import { goodBody, type HostileBody, type Keys, SPOILERS } from './bodies.ts';
import type { Chance } from './random.ts';
import { PLANTED } from './values.ts';

/** One request as bytes, and how they are sent. */
export interface HostileRequest {
  /** What was done to it, as a report names it. */
  what: string;
  head: Buffer;
  body: Buffer;
  manner: 'at_once' | 'slowly' | 'gone_in_the_middle';
}

export const POSTS = [
  '/v1/ingest',
  '/v1/ingest',
  '/v1/ingest',
  '/v1/inventory',
  '/v1/batch',
  '/v1/track',
  '/v1/alias',
  '/batch/',
  '/e/',
  '/capture/',
  '/i/v0/e/',
  '/flags/',
];
export const OTHERS = [
  'GET /v1/config',
  'HEAD /v1/config',
  'GET /v1/health',
  'GET /v1/tls-check?domain=shop.example',
  `GET /v1/tls-check?domain=${'a.'.repeat(200)}`,
  'GET /v1/tls-check?domain=%00&domain=x',
  'GET /v1/tls-check?domain[__proto__]=x',
  'GET /v1/config?key[]=x&key=y',
  'OPTIONS /v1/ingest',
  'OPTIONS *',
  'PUT /v1/ingest',
  'DELETE /batch/',
  'PATCH /v1/config',
  'TRACE /',
  'QUERY /v1/config',
  'QUERY /',
  'PROPFIND /v1/ingest',
  'M-SEARCH *',
  'GET /%',
  'GET /%zz',
  'GET //evil.example/',
  'GET /../../etc/passwd',
  'GET /v1/%69ngest',
  `GET /${'x'.repeat(9_000)}`,
  'POST /v1/',
  'POST /__proto__',
  'BREW /v1/ingest',
];
const TYPES = [
  'application/json',
  'application/json; charset=utf-8',
  'text/plain',
  'text/plain;charset=UTF-8',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=x',
  'application/octet-stream',
  'constructor/__proto__',
  'json',
  ';;;',
  '',
];
const ORIGINS = ['https://shop.example', 'null', 'https://evil.example', '', 'javascript:alert(1)', 'x'.repeat(500)];
const AGENTS = ['Mozilla/5.0 Chrome/130', 'Googlebot/2.1', '', 'node', '\u00ff'.repeat(50), PLANTED, '('.repeat(2_000)];
/** Heads that a server must survive, put before the rest. */
const ODD_LINES = [
  'Content-Length: 5',
  'Content-Length: -1',
  'Content-Length: 99999999999999999999',
  'Transfer-Encoding: chunked',
  'Transfer-Encoding: gzip, chunked',
  'Content-Type: text/plain',
  'X-Svc-Key: guess',
  'X-Svc-Key: guess\r\nX-Svc-Key: guess',
  'Origin: https://a.example\r\nOrigin: https://b.example',
  'Content-Encoding: gzip\r\nContent-Encoding: br',
  'Authorization: Basic Og==\r\nAuthorization: Basic Og==',
  'Host: evil.example',
  'X-Forwarded-For: 6.6.6.6, , ,,unknown,[::1]:99',
  'Authorization: Basic %%%',
  'Authorization: Basic Og==',
  `Authorization: Bearer ${'x'.repeat(300)}`,
  'No-Colon',
  ': no name',
  `X-Long: ${'x'.repeat(20_000)}`,
  'X-Control: a\u0001b',
  'Purpose: prefetch',
  'Sec-Fetch-Mode: cors',
  'Referer: %%%',
];

/** A request made by chance, from one that would be taken. */
export function hostileRequest(chance: Chance, keys: Keys): HostileRequest {
  if (chance.is(0.15)) return other(chance, keys);
  const path = chance.one(POSTS);
  const how = chance.one(Object.keys(SPOILERS));
  const made = SPOILERS[how]?.(goodBody(path, keys), chance) ?? { bytes: Buffer.alloc(0) };
  const manner = chance.is(0.05) ? 'gone_in_the_middle' : chance.is(0.05) ? 'slowly' : 'at_once';
  const keyed = credential(chance, keys, path);
  const lines = [
    `POST ${path}${keyed.query} HTTP/1.1`,
    'Host: edge',
    'Connection: close',
    ...keyed.lines,
    ...typeAndLength(made, chance),
    ...dressing(chance),
  ];
  return { what: `POST ${path} ${how} ${manner}`, head: headOf(lines), body: made.bytes, manner };
}

function other(chance: Chance, keys: Keys): HostileRequest {
  const line = chance.one(OTHERS);
  const keyed = credential(chance, keys, '');
  const lines = [`${line} HTTP/1.1`, 'Host: edge', 'Connection: close', ...keyed.lines, ...dressing(chance)];
  return { what: line.slice(0, 60), head: headOf(lines), body: Buffer.alloc(0), manner: 'at_once' };
}

function headOf(lines: readonly string[]): Buffer {
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
}

function typeAndLength({ bytes, encoding }: HostileBody, chance: Chance): string[] {
  const type = chance.is(0.8) ? 'application/json' : chance.one(TYPES);
  return [
    ...(type === '' ? [] : [`Content-Type: ${type}`]),
    ...(encoding === undefined ? [] : [`Content-Encoding: ${encoding}`]),
    `Content-Length: ${bytes.length}`,
  ];
}

function credential(chance: Chance, keys: Keys, path: string): { query: string; lines: string[] } {
  const key = chance.is(0.8) ? chance.one([keys.serverKey, keys.browserKey]) : unknownKey(chance);
  const basic = `Authorization: Basic ${Buffer.from(`${key}:`).toString('base64')}`;
  if (path.startsWith('/v1/') && chance.is(0.3)) return { query: '', lines: [basic] };
  if (path !== '' && chance.is(0.2)) return { query: `?key=${encodeURIComponent(key)}`, lines: [] };
  return { query: '', lines: chance.is(0.05) ? [] : [`X-Svc-Key: ${key}`] };
}

/** One of ever so many keys that nobody was given. */
function unknownKey(chance: Chance): string {
  const made = `svc_${chance.one(['pk', 'sk'])}_${String(chance.below(10_000)).padStart(32, '0')}`;
  return chance.one([made, made, made, 'guess', '__proto__', 'x'.repeat(3_000), PLANTED]);
}

function dressing(chance: Chance): string[] {
  return [
    ...(chance.is(0.3) ? [`Origin: ${chance.one(ORIGINS)}`] : []),
    ...(chance.is(0.5) ? [`User-Agent: ${chance.one(AGENTS)}`] : []),
    ...(chance.is(0.5) ? [`X-Forwarded-For: 203.0.${chance.below(256)}.${chance.below(256)}`] : []),
    ...(chance.is(0.15) ? [chance.one(ODD_LINES)] : []),
  ];
}
