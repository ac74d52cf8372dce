import type { Adapter, HttpRequest, RequestContext, SerializedEvent } from '#pipelines/delivery/contract.ts';
import { addressOf, joined, postJson } from '#pipelines/delivery/platform_http.ts';
import { classify } from './classify.ts';
import { mapEvent } from './map.ts';
import { CLOUD_URLS, POSTHOG_SCHEMA, type PosthogSettings } from './settings.ts';

function request(pieces: readonly SerializedEvent[], context: RequestContext<PosthogSettings>): HttpRequest {
  const { api_key, base_url } = context.settings;
  const cloud = CLOUD_URLS.find((url) => url === base_url) ?? '';
  const forms = joined(pieces);
  const body = `${JSON.stringify({ api_key }).slice(0, -1)},"batch":[${forms}]}`;
  return postJson(addressOf(context.baseUrl, base_url, cloud), '/batch/', body);
}

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
