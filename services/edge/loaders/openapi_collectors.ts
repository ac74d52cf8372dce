import { Type } from 'typebox';
import type { DocumentedRoute } from '#pipelines/openapi/document.ts';
import type { EdgeErrorCode } from '../errors.ts';
import { failures } from '../openapi_failures.ts';
import { COLLECTORS, type CollectorPath } from './collector_paths.ts';

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

/** The routes that take platforms' hits; each is below the site's loader prefix too. `codes` are those of our own ingest. */
export function collectorRoutes(codes: readonly EdgeErrorCode[]): DocumentedRoute[] {
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
      params: null,
      query: fields.length === 0 ? null : Type.Object(Object.fromEntries(fields), { additionalProperties: true }),
      headers: null,
      responses: [
        {
          status: 204,
          description: 'Stored, apart from bots, what the site blocks and what is over the allowance',
          schema: null,
        },
        ...failures([...codes.filter((code) => !code.startsWith('key_')), ...OWN_ERRORS].filter(isFirst)),
      ],
      security: [],
    };
    const name = path.replaceAll('/', '_');
    const schema = typeof example === 'string' ? Type.String() : Type.Object({}, OPEN);
    const body = { contentTypes: [contentType], schema, example };
    const posted: DocumentedRoute = { ...shared, method: 'POST', operationId: `collect${name}`, body };
    const got: DocumentedRoute = { ...shared, method: 'GET', operationId: `collect${name}_get`, body: null };
    return path === '/t/e' ? [posted] : [posted, got];
  });
}

const OPEN = { additionalProperties: true };
const isFirst = (code: EdgeErrorCode, at: number, all: readonly EdgeErrorCode[]): boolean => all.indexOf(code) === at;
