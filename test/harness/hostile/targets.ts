import { gzipSync } from 'node:zlib';
import { ROUTES } from '#services/control/routes.ts';
import { newEvent } from '#test/harness/ingest.ts';
import { goodBody, type Keys } from './bodies.ts';
import type { Wanted } from './connections.ts';
import type { Chance } from './random.ts';
import { OTHERS, POSTS } from './requests.ts';

const NOTHING = Buffer.alloc(0);

/** A request for any route of the edge, most of them ones that are taken. */
export function edgeRequest(chance: Chance, keys: Keys): Wanted {
  const key = `X-Svc-Key: ${chance.is(0.9) ? chance.one([keys.serverKey, keys.browserKey]) : 'guess'}`;
  if (chance.is(0.15)) return { line: chance.one(OTHERS), headers: [key], body: NOTHING, ids: [] };
  if (chance.is(0.5)) return ingestRequest(chance, keys);
  const path = chance.one(POSTS);
  const plain = Buffer.from(JSON.stringify(goodBody(path, keys)));
  const isZipped = chance.is(0.3);
  return {
    line: `POST ${path}`,
    headers: [
      ...(chance.is(0.6) ? [key] : []),
      'Content-Type: application/json',
      ...(isZipped ? ['Content-Encoding: gzip'] : []),
    ],
    body: isZipped ? gzipSync(plain) : plain,
    ids: [],
  };
}

/** Events by a server key, whose 200 promises that each of them is stored. */
function ingestRequest(chance: Chance, { serverKey }: Keys): Wanted {
  const events = Array.from({ length: chance.below(5) + 1 }, () => newEvent());
  return {
    line: 'POST /v1/ingest',
    headers: [`X-Svc-Key: ${serverKey}`, 'Content-Type: application/json'],
    body: Buffer.from(JSON.stringify({ events })),
    ids: events.map(({ uuid }) => uuid),
  };
}

/** A request for any route of the control service: its own, and some that it does not have. */
export function controlRequest(chance: Chance, token: string): Wanted {
  const headers = chance.is(0.9) ? [`Authorization: Bearer ${token}`] : [];
  if (chance.is(0.15)) return { line: chance.one([...OTHERS, ...PUBLIC]), headers, body: NOTHING, ids: [] };
  const route = chance.one(ROUTES);
  const path = route.path.replaceAll(/\{\w+\}/g, () => chance.one(UNKNOWN));
  if (route.body === null) return { line: `${route.method} ${path}`, headers, body: NOTHING, ids: [] };
  const body = Buffer.from(JSON.stringify({ name: 'x'.repeat(chance.below(300)), nested: { list: [1, {}] } }));
  return {
    line: `${route.method} ${path}`,
    headers: [...headers, 'Content-Type: application/json', 'If-Match: *'],
    body,
    ids: [],
  };
}

/** Whatever runs must not be changed. */
const UNKNOWN = ['none', 'nobody', '%00', 'a%2Fb'];

const PUBLIC = ['GET /docs', 'GET /docs/openapi.json', 'GET /v1/admin/health'];

/** Statuses that the control service may answer to such requests. */
export const CONTROL_DOCUMENTED = new Set([
  200, 201, 204, 400, 401, 403, 404, 405, 408, 409, 412, 413, 415, 421, 422, 428, 429, 431, 501, 503,
]);
