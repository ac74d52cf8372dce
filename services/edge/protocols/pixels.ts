// Hits of GA4's, Meta's and TikTok's tags on a verified domain, with their part of the OpenAPI document.

import { Type } from 'typebox';
import { clientAddress, type HttpRequestIn, type HttpServer, sentPath } from '#infra/http/http_server.ts';
import { eventsOfHits } from '#pipelines/intake/ga4/hit_event.ts';
import { HIT_KEYS_MAX } from '#pipelines/intake/ga4/hits.ts';
import { eventOfMetaHit, eventOfTiktokHit, metaPixelOf, tiktokPixelOf } from '#pipelines/intake/pixels.ts';
import type { DocumentedRoute } from '#pipelines/openapi.ts';
import { isObject } from '#pipelines/privacy/clean_properties.ts';
import { type RefusedCaller, siteCaller } from '#pipelines/settings/callers.ts';
import { metaPixels, vendorIds } from '#pipelines/settings/site_config.ts';
import type { SettingsTable } from '#pipelines/settings/table.ts';
import { visitorOf } from '#pipelines/tag/http.ts';
import type { ApiKey, Site } from '#schemas/setting.ts';
import { pageOrigin, requestSignals, servedSite } from '../auth.ts';
import { BODY_BYTES_MAX, isMultipart, readMultipart, sentBody, sentJson } from '../body.ts';
import { type EdgeContext, eventScope } from '../edge_context.ts';
import { type Answer, type EdgeErrorCode, PayloadError, sendAnswer } from '../errors.ts';
import { answerOfHits } from '../ingest.ts';
import type { IngestCaller } from '../ingest_service.ts';
import { BODY_ERRORS, failures } from '../openapi_shapes.ts';
import { sentHits } from './ga4.ts';

type HostCheck = ({ ok: true } & IngestCaller) | { ok: false; code: EdgeErrorCode; refused?: RefusedCaller };

/**
 * GET and POST /a/c and /s/p, POST /t/e: hits of GA4's, Meta's and TikTok's tags, on a verified domain. They end here: each
 * becomes an event of the site's, with the visitor's address, and is delivered like all others. The answer is 204 with
 * nothing in it, when Kafka holds what was accepted.
 *
 * @param secret Makes digests that nobody else can, for hits that have no id.
 */
export function mountCollectors(app: HttpServer, context: EdgeContext, secret: Buffer): void {
  const onRequest = context.requireCaller((request) => checkHost(context, request));
  const collect = async (request: HttpRequestIn, path: CollectorPath): Promise<Answer> => {
    const caller = context.callerOf(request);
    const { site, key } = caller;
    const visitor = site.mode === 'online' ? visitorOf(request.headers.cookie) : null;
    const events = await READERS[path](request, { table: context.table, site, key, visitor, secret });
    context.onKeyUsed(key.key_hash);
    const peer = { clientIp: clientAddress(request), isCrossOrigin: true, ...requestSignals(request) };
    return answerOfHits(await context.ingestService.accept(events, peer, caller), events.length);
  };

  eventScope(app, context, { bodies: ['*', BODY_BYTES_MAX] }, (scope) => {
    for (const path of COLLECTORS) {
      for (const url of COLLECTOR_PATHS[path].flatMap((one) => [one, `/:prefix${one}`])) {
        scope.route({
          method: path === '/t/e' ? ['POST'] : ['GET', 'POST'],
          url,
          onRequest,
          handler: async (request, reply) => sendAnswer(reply, await collect(request, path)),
        });
      }
    }
  });
}

/** Whose a hit is: that of the host's site, under the key that its pages would send. */
function checkHost({ table, nowMs }: EdgeContext, request: HttpRequestIn): HostCheck {
  const served = servedSite(table, request);
  const { prefix } = request.params as { prefix?: string };
  if (!served.ok) return { ok: false, code: prefix === undefined ? served.code : 'not_found' };
  if (prefix !== undefined && prefix !== served.site.loader_prefix) return { ok: false, code: 'not_found' };
  return siteCaller(table, served.site, pageOrigin(request), nowMs());
}

/** Where hits are taken on a verified domain: GA4's, Meta's and TikTok's. */
const COLLECTORS = ['/a/c', '/s/p', '/t/e'] as const;
type CollectorPath = (typeof COLLECTORS)[number];

/** Each path, and what its sender puts behind the address that it was given: gtag has its own path below `transport_url`. */
const COLLECTOR_PATHS: Readonly<Record<CollectorPath, readonly string[]>> = {
  '/a/c': ['/a/c', '/a/c/g/collect'],
  '/s/p': ['/s/p'],
  '/t/e': ['/t/e'],
};

/** Below a prefix as well. */
const COLLECTOR = /^(?:\/[a-z0-9]+)?\/(?:a\/c(?:\/g\/collect)?|s\/p|t\/e)$/;

export function isCollector(request: HttpRequestIn): boolean {
  return COLLECTOR.test(sentPath(request));
}

/** Whose hits are read, and what of them is not in the request. */
interface HitsOf {
  table: SettingsTable;
  site: Site;
  key: ApiKey;
  visitor: string | null;
  secret: Buffer;
}

/** The events of a request, in the form POST /v1/ingest takes them. Throws PayloadError where they cannot be read. */
type ReadHits = (request: HttpRequestIn, of: HitsOf) => Promise<unknown[]>;

const notOurs = (): PayloadError => new PayloadError('pixel_unknown');

/** How the hits of each collector are read; those of somebody else's pixel are refused. */
const READERS: Readonly<Record<CollectorPath, ReadHits>> = { '/a/c': readGa4, '/s/p': readMeta, '/t/e': readTiktok };

async function readGa4(request: HttpRequestIn, { table, site, key, secret }: HitsOf): Promise<unknown[]> {
  const hits = sentHits(request);
  const own = table.destination(site.site_id, 'ga4')?.settings['measurement_id'];
  if (own === undefined || !hits.every(({ fields }) => fields.get('tid') === own)) throw notOurs();
  return eventsOfHits(hits, { caller: key.caller, secret });
}

async function readMeta(request: HttpRequestIn, { table, site, visitor, secret }: HitsOf): Promise<unknown[]> {
  const hits = sentHits(request, await formText(request));
  const own = metaPixels(vendorIds(table, site));
  if (!hits.every((hit) => own.includes(metaPixelOf(hit)))) throw notOurs();
  return hits.map((hit) => eventOfMetaHit(hit, { visitor, secret }));
}

async function readTiktok(request: HttpRequestIn, { table, site, visitor, secret }: HitsOf): Promise<unknown[]> {
  const body = sentJson(request);
  const own = vendorIds(table, site).tiktok?.pixel_code;
  if (!isObject(body) || own === undefined || tiktokPixelOf(body) !== own) throw notOurs();
  return [eventOfTiktokHit(body, { visitor, secret })];
}

/** Meta's pixel sends a form: in the query, in a body of the same form, or by beacon as `multipart/form-data`. */
async function formText(request: HttpRequestIn): Promise<string> {
  const body = sentBody(request);
  const type = request.headers['content-type'] ?? '';
  if (!isMultipart(type)) return body.toString('utf8');
  const read = await readMultipart(body, type, HIT_KEYS_MAX);
  if (read.ok) return new URLSearchParams(read.fields).toString();
  throw new PayloadError(read.reason === 'too_many' ? 'hit_too_large' : 'request_malformed');
}

const OWN_ERRORS: EdgeErrorCode[] = [
  'domain_unverified',
  'browser_key_missing',
  'origin_not_allowed',
  'pixel_unknown',
  'hit_too_large',
  'parameters_too_many',
  'events_too_many',
  'events_rejected',
];

interface Described {
  summary: string;
  query: Record<string, string>;
  contentType: string;
  example: string | object;
}

const DESCRIBED: Readonly<Record<CollectorPath, Described>> = {
  '/a/c': {
    summary: "GA4's hits, as to /g/collect",
    query: { tid: "The site's measurement id", cid: 'Client id', en: 'Name of the event' },
    contentType: 'text/plain',
    example: 'tid=G-SHOP123&cid=1234567890.1732000000&en=page_view',
  },
  '/s/p': {
    summary: "Meta's hits, as its pixel sends them to /tr",
    query: { id: "A pixel of the site's", ev: 'Name of the event', eid: 'The eventID that the page gave' },
    contentType: 'application/x-www-form-urlencoded',
    example: 'id=123456789012345&ev=PageView&dl=https%3A%2F%2Fwww.shop.example%2F',
  },
  '/t/e': {
    summary: "TikTok's hits, as its pixel sends them",
    query: {},
    contentType: 'application/json',
    example: { event: 'AddToCart', event_id: 'e-1', context: { pixel: { code: 'CSHOP1234567890ABCDE' } } },
  },
};

/** The routes that take platforms' hits; each is below the site's loader prefix too. */
export function collectorDocs(): DocumentedRoute[] {
  return COLLECTORS.flatMap((path) => {
    const { summary, query, contentType, example } = DESCRIBED[path];
    const fields = Object.entries(query).map(([name, description]) => [
      name,
      Type.Optional(Type.String({ description })),
    ]);
    const shared = {
      path,
      tag: 'First-party domains',
      summary: `On a verified domain: ${summary}; below the site's loader prefix too`,
      query: fields.length === 0 ? null : Type.Object(Object.fromEntries(fields), { additionalProperties: true }),
      responses: [
        {
          status: 204,
          description: 'Stored, apart from bots, what the site blocks and what is over the allowance',
          schema: null,
        },
        ...failures([...BODY_ERRORS, 'rate_limited', ...OWN_ERRORS]),
      ],
    };
    const name = path.replaceAll('/', '_');
    const schema = typeof example === 'string' ? Type.String() : Type.Object({}, OPEN);
    const body = { contentTypes: [contentType], schema, example };
    const posted: DocumentedRoute = { ...shared, method: 'POST', operationId: `collect${name}`, body };
    const got: DocumentedRoute = { ...shared, method: 'GET', operationId: `collect${name}_get` };
    return path === '/t/e' ? [posted] : [posted, got];
  });
}

const OPEN = { additionalProperties: true };
