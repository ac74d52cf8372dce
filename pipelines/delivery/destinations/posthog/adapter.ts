import type {
  Adapter,
  Answer,
  HttpRequest,
  RequestContext,
  SerializedEvent,
  Verdict,
} from '#pipelines/delivery/contract.ts';
import { addressOf, classifyAnswer, joined, postJson, throttle } from '#pipelines/delivery/platform_http.ts';
import { isRecord } from '#pipelines/events/vocabulary.ts';
import { CLOUD_URLS, mapEvent, POSTHOG_SCHEMA, type PosthogSettings } from './map.ts';

function request(pieces: readonly SerializedEvent[], context: RequestContext<PosthogSettings>): HttpRequest {
  const { api_key, base_url } = context.settings;
  const cloud = CLOUD_URLS.find((url) => url === base_url) ?? '';
  const forms = joined(pieces);
  const body = `${JSON.stringify({ api_key }).slice(0, -1)},"batch":[${forms}]}`;
  return postJson(addressOf(context.baseUrl, base_url, cloud), '/batch/', body);
}

/** A project over its quota stays so until its month ends or somebody pays. */
const QUOTA_WAIT_MS = 3_600_000;

/** PostHog's answers go by status, but that events over the project's quota are dropped with status 200. */
const classify = (answer: Answer): Verdict =>
  classifyAnswer(answer, (body, { status }) => {
    const limited = isRecord(body) && status === 200 ? body['quota_limited'] : undefined;
    return Array.isArray(limited) && limited.includes('events')
      ? throttle('posthog_quota_limited', QUOTA_WAIT_MS)
      : null;
  });

/** PostHog, by its capture API. */
export const posthog: Adapter<PosthogSettings> = {
  name: 'posthog',
  title: 'PostHog',
  schema: POSTHOG_SCHEMA,
  anonymousEvents: 'send',
  advertising: 'none',
  // PostHog takes about 20 MB; a smaller request costs less when it has to go again.
  limits: () => ({ batchEventsMax: 1000, batchBytesMax: 2_000_000, concurrencyMax: 4, timeoutMs: 15_000 }),
  ageMaxMs: () => null,
  map: mapEvent,
  overheadBytes: ({ api_key }) => Buffer.byteLength(JSON.stringify({ api_key, batch: [] })),
  request,
  classify,
};
