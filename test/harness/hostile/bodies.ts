import { randomUUID } from 'node:crypto';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import type { Chance } from './random.ts';
import { PLANTED, spoiled } from './values.ts';

export interface Keys {
  serverKey: string;
  browserKey: string;
}

/** A body, with the Content-Encoding it claims. */
export interface HostileBody {
  bytes: Buffer;
  encoding?: string;
}

const MIB = 1024 * 1024;
const at = '2026-11-20T10:00:00.000Z';

/** A well-formed body for a path, which the others are made from. */
export function goodBody(path: string, keys: Keys): object {
  const context = { ip: '203.0.113.9', userAgent: 'Mozilla/5.0', page: { url: 'https://a.example' }, traits: {} };
  const call = { type: 'track', event: 'Seen', userId: 'u', messageId: randomUUID(), timestamp: at, context };
  const captured = { event: 'Seen', uuid: randomUUID(), distinct_id: 'p', timestamp: at, properties: { $set: {} } };
  if (path === '/v1/ingest') return { events: [event(), event()] };
  if (path === '/v1/inventory') return { page: '/', url: 'https://a.example/', title: '', elements: [ELEMENT] };
  if (path.startsWith('/v1/batch')) return { batch: [call, { ...call, type: 'identify' }], sentAt: at };
  if (path.startsWith('/v1/')) return { ...call, groupId: 'g', previousId: 'q', anonymousId: 'a' };
  if (path.startsWith('/batch')) return { api_key: keys.serverKey, batch: [captured, captured], sent_at: at };
  return { ...captured, api_key: keys.browserKey, token: keys.browserKey };
}

const ELEMENT = { type: 'a', selector: '#a', text: 'A', href: '/', event_hint: 'h' };

function event(): object {
  const properties = { email: PLANTED, value: 1, currency: 'EUR', nested: { list: [1, { phone: '+16505550145' }] } };
  return { event: 'page_view', uuid: randomUUID(), distinct_id: 'v', timestamp: at, properties };
}

type Spoiler = (good: object, chance: Chance) => HostileBody;

const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value), 'utf8');

/** Ways to spoil a body. */
export const SPOILERS: Readonly<Record<string, Spoiler>> = {
  good: (good) => ({ bytes: json(good) }),
  spoiled: (good, chance) => ({ bytes: json(spoiled(good, chance)) }),
  very_spoiled: (good, chance) => ({ bytes: json(spoiled(good, chance, 0.5)) }),
  cut: (good, chance) => {
    const bytes = json(good);
    return { bytes: bytes.subarray(0, chance.below(bytes.length)) };
  },
  bytes_changed: (good, chance) => ({ bytes: scattered(json(good), chance) }),
  bad_utf8: (good, chance) => {
    const bytes = json(good);
    const place = chance.below(bytes.length);
    const bad = chance.one([[0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf8, 0x88, 0x80, 0x80, 0x80]]);
    return { bytes: Buffer.concat([bytes.subarray(0, place), Buffer.from(bad), bytes.subarray(place)]) };
  },
  deep_array: (good, chance) => ({ bytes: inside(good, '['.repeat(depth(chance)), ']'.repeat(0), chance) }),
  deep_closed: (good, chance) => {
    const levels = depth(chance);
    return { bytes: inside(good, '['.repeat(levels), ']'.repeat(levels), chance) };
  },
  deep_objects: (good, chance) => {
    const levels = Math.floor(depth(chance) / 4);
    return { bytes: inside(good, '{"a":'.repeat(levels), `1${'}'.repeat(levels)}`, chance) };
  },
  deep_text: (good, chance) => ({ bytes: json({ ...good, properties: jsonInJson(chance.below(14)) }) }),
  proto: (good, chance) => ({
    bytes: inside(good, chance.one(['{"__proto__":{"x":1}}', '{"constructor":{"prototype":{"x":1}}}']), '', chance),
  }),
  many: (good, chance) => {
    const count = chance.one([51, 300, 301, 2_500, 2_501, 20_000]);
    return { bytes: json(manyOf(good, count)) };
  },
  many_members: (good) => ({
    bytes: json({ ...good, ...Object.fromEntries(Array.from({ length: 10_000 }, (_, n) => [`m${n}`, n])) }),
  }),
  huge: (good, chance) => ({ bytes: json({ ...good, huge: 'x'.repeat(chance.one([200_000, 262_144, 600_000])) }) }),
  gzip: (good) => ({ bytes: gzipSync(json(good)), encoding: 'gzip' }),
  gzip_unsaid: (good) => ({ bytes: gzipSync(json(good)) }),
  gzip_cut: (good, chance) => {
    const bytes = gzipSync(json(good));
    return { bytes: bytes.subarray(0, chance.below(bytes.length)), encoding: 'gzip' };
  },
  gzip_not: (good) => ({ bytes: json(good), encoding: 'gzip' }),
  gzip_twice: (good) => ({ bytes: gzipSync(gzipSync(json(good))), encoding: 'gzip' }),
  bomb: (_good, chance) => ({ ...chance.one(BOMBS) }),
  other_encoding: (good, chance) => ({
    bytes: json(good),
    encoding: chance.one(['zstd', 'gzip, gzip', 'constructor', '__proto__', 'identity', '', 'GZIP ', 'x'.repeat(99)]),
  }),
  form: (good, chance) => ({
    bytes: Buffer.from(`data=${chance.one([json(good).toString('base64'), '%', '%00', '='.repeat(99), ''])}&v=1`),
  }),
  garbage: (_good, chance) => ({ bytes: garbage(chance, chance.below(2_000)) }),
  empty: () => ({ bytes: Buffer.alloc(0) }),
};

const ZEROS = Buffer.alloc(20 * MIB, 0x20);
const BOMBS: readonly HostileBody[] = [
  { bytes: gzipSync(ZEROS), encoding: 'gzip' },
  { bytes: deflateSync(ZEROS), encoding: 'deflate' },
  { bytes: brotliCompressSync(ZEROS), encoding: 'br' },
  { bytes: gzipSync(gzipSync(ZEROS)), encoding: 'gzip' },
  { bytes: gzipSync(ZEROS) },
];

function depth(chance: Chance): number {
  return chance.one([10, 17, 100, 1_000, 20_000, 100_000]);
}

function jsonInJson(levels: number): string {
  let text = '1';
  for (let level = 0; level < levels; level++) text = JSON.stringify({ a: text });
  return text;
}

/** Puts raw JSON text in the place of one of the body's values. */
function inside(good: object, opening: string, closing: string, chance: Chance): Buffer {
  const mark = '"@@here@@"';
  const members = Object.keys(good);
  const place = chance.one(members);
  const list = (good as Record<string, unknown>)[place];
  const inner = Array.isArray(list) && chance.is(0.7) ? [{ ...list[0], properties: { a: '@@here@@' } }] : '@@here@@';
  const text = JSON.stringify({ ...good, [place]: inner });
  return Buffer.from(text.replace(mark, () => opening + closing));
}

function manyOf(good: object, count: number): object {
  const members = Object.entries(good).map(([name, value]): [string, unknown] => [
    name,
    Array.isArray(value) ? Array.from({ length: count }, () => value[0]) : value,
  ]);
  return Object.fromEntries(members);
}

function scattered(bytes: Buffer, chance: Chance): Buffer {
  const changed = Buffer.from(bytes);
  for (let times = chance.below(6) + 1; times > 0; times--) changed[chance.below(changed.length)] = chance.below(256);
  return changed;
}

function garbage(chance: Chance, length: number): Buffer {
  return Buffer.from(Array.from({ length }, () => chance.below(256)));
}
