// PostHog's capture API, with the flags and remote configuration that its libraries ask for.

import { clientAddress, type HttpReply, type HttpRequestIn, type HttpServer } from '#infra/http/http_server.ts';
import { mapPosthogEvent } from '#pipelines/intake/compat/posthog.ts';
import { type KeyPlaces, objectOr } from '#pipelines/intake/json_text.ts';
import { readSentAt } from '#pipelines/intake/timestamp.ts';
import { isObject } from '#pipelines/privacy/clean_properties.ts';
import type { Limited } from '#pipelines/quota/limits.ts';
import { checkKey } from '#pipelines/settings/callers.ts';
import { pageOrigin } from '../auth.ts';
import { type EdgeContext, eventScope } from '../edge_context.ts';
import {
  type Answer,
  type EdgeErrorCode,
  errorAnswer,
  limitedHeaders,
  PayloadError,
  retryAfterOf,
  sendAnswer,
} from '../errors.ts';
import {
  type CompatProtocol,
  type ProtocolAnswer,
  type ProtocolRequest,
  type RefusedCall,
  readBodyText,
} from './compat.ts';

/** PostHog takes 20 MB; its libraries send up to 5 MiB, and posthog-node halves its batches when told that one is too large. */
const BODY_BYTES_MAX = 5 * 1024 * 1024;
const CALLS_MAX = 2_500;

/** The project's key: beside the events, or in the properties of the first as the browser library has it. */
const POSTHOG_KEY_PLACES: KeyPlaces = [['api_key'], ['token'], ['properties', 'token']];

export const posthog: CompatProtocol = {
  paths: ['/batch', '/batch/', '/e', '/e/', '/capture', '/capture/', '/i/v0/e', '/i/v0/e/', '/track', '/track/'],
  bodyBytesMax: BODY_BYTES_MAX,
  callsMax: CALLS_MAX,
  keyOfHeaders: () => null,
  keyPlaces: POSTHOG_KEY_PLACES,
  read: readRequest,
  accepted: ({ dropped }) => ({
    status: 200,
    body: dropped === 0 ? { status: 1 } : { status: 1, quota_limited: ['events'] },
  }),
  refused: (code, calls) => posthogRefusal(code, calls),
};

function readRequest(_path: string, body: unknown, query: Readonly<Record<string, unknown>>): ProtocolRequest {
  const calls = callsOf(body);
  if (calls === null || calls.length === 0) throw new PayloadError('body_not_calls');
  const { sent_at: sentAt, historical_migration: historical } = objectOr(body);
  return { calls, sentAtMs: readSentAt(sentAt) ?? querySentAt(query), historical, map: mapPosthogEvent };
}

function callsOf(body: unknown): readonly unknown[] | null {
  if (Array.isArray(body)) return body;
  if (!isObject(body)) return null;
  if (Array.isArray(body['batch'])) return body['batch'];
  return body['event'] === undefined ? null : [body];
}

/** The browser library says when it sent in the query, in milliseconds. */
function querySentAt(query: Readonly<Record<string, unknown>>): number | null {
  const sent = query['_'];
  return typeof sent === 'string' && /^\d{1,14}$/.test(sent) ? readSentAt(Number(sent)) : null;
}

const TYPES: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  403: 'authentication_error',
  429: 'throttled_error',
  500: 'server_error',
  503: 'server_error',
};

function posthogRefusal(code: EdgeErrorCode, calls: readonly RefusedCall[]): ProtocolAnswer {
  const { status, body } = errorAnswer(code);
  const { message: detail } = body.error;
  return {
    status,
    body: {
      type: TYPES[status] ?? 'validation_error',
      code,
      detail,
      attr: null,
      ...(calls.length === 0 ? {} : { rejected: calls }),
    },
  };
}

export const FLAGS_PATHS = ['/flags', '/flags/', '/decide', '/decide/'];
const FLAGS_BODY_BYTES_MAX = 256 * 1024;

/** There are no feature flags here: PostHog's libraries ask for them at start and go on when told so. */
const NO_FLAGS = {
  flags: {},
  featureFlags: {},
  featureFlagPayloads: {},
  errorsWhileComputingFlags: false,
  sessionRecording: false,
  supportedCompression: ['gzip', 'gzip-js', 'base64'],
};

function flagsLimited(limited: Limited): Answer {
  return { ...posthogRefusal('rate_limited', []), ...limitedHeaders(limited) };
}

export function mountFlags(app: HttpServer, context: EdgeContext): void {
  const shaped = (code: EdgeErrorCode): Answer => {
    const answer = posthogRefusal(code, []);
    return { ...answer, ...retryAfterOf(answer.status) };
  };
  const bodies: [string, number] = ['*', FLAGS_BODY_BYTES_MAX];
  eventScope(app, context, { bodies, shaped, refused: async (_request, code) => shaped(code) }, (scope) => {
    const handle = async (request: HttpRequestIn, reply: HttpReply): Promise<HttpReply> => {
      const address = clientAddress(request);
      const limited = context.anonymousLimiter.limited(address);
      if (limited !== null) return sendAnswer(reply, flagsLimited(limited));
      const text = await readBodyText(request, POSTHOG_KEY_PLACES, FLAGS_BODY_BYTES_MAX);
      const key = text.ok ? text.value.outline.key : null;
      const check = checkKey(context.table, key, pageOrigin(request), context.nowMs());
      if (check.ok) {
        const over =
          context.ingestService.limited(address, check) ??
          (await context.ingestService.countRefused(address, check, null));
        return over === null ? reply.send(NO_FLAGS) : sendAnswer(reply, flagsLimited(over));
      }
      context.anonymousLimiter.record(address);
      return sendAnswer(reply, shaped(text.ok ? check.code : text.code));
    };
    for (const path of FLAGS_PATHS) scope.post(path, handle);
  });
}

/** Where PostHog's browser library asks how to behave: first by a script of this name, then in JSON. */
export const REMOTE_CONFIG_PATHS = ['/array/:key/config.js', '/array/:key/config'] as const;
const CONFIG_CACHE = 'public, max-age=300';

/** Events are taken and nothing else is there: no recordings, surveys, flags, heat maps or apps. */
const REMOTE_CONFIG = {
  supportedCompression: ['gzip', 'gzip-js', 'base64'],
  analytics: { endpoint: '/i/v0/e/' },
  hasFeatureFlags: false,
  sessionRecording: false,
  surveys: false,
  heatmaps: false,
  captureDeadClicks: false,
  capturePerformance: false,
  autocaptureExceptions: false,
  elementsChainAsString: true,
  defaultIdentifiedOnly: true,
  toolbarParams: {},
  isAuthenticated: false,
  siteApps: [],
};

export function mountRemoteConfig(app: HttpServer, { table, nowMs }: EdgeContext): void {
  const keyOf = (request: HttpRequestIn): string => (request.params as { key: string }).key;
  const answerWith = (type: string, textOf: (key: string) => string) => {
    return (request: HttpRequestIn, reply: HttpReply): HttpReply => {
      const check = checkKey(table, keyOf(request), request.headers.origin ?? null, nowMs());
      if (!check.ok || check.key.caller === 'server') {
        const { status, body } = posthogRefusal(check.ok ? 'key_not_for_browsers' : check.code, []);
        return reply.code(status).send(body);
      }
      return reply
        .header('cache-control', CONFIG_CACHE)
        .header('vary', 'Origin')
        .type(type)
        .send(textOf(keyOf(request)));
    };
  };
  const [script, json] = REMOTE_CONFIG_PATHS;
  app.get(script, answerWith('text/javascript; charset=utf-8', configScript));
  app.get(
    json,
    answerWith('application/json; charset=utf-8', (key) => JSON.stringify({ token: key, ...REMOTE_CONFIG })),
  );
}

function configScript(key: string): string {
  const config = JSON.stringify({ config: { token: key, ...REMOTE_CONFIG }, siteApps: [] });
  return `(function(w){(w._POSTHOG_REMOTE_CONFIG=w._POSTHOG_REMOTE_CONFIG||{})[${JSON.stringify(key)}]=${config}})(window);\n`;
}
