import type { Adapter, HttpRequest, RequestContext, SerializedEvent } from '#pipelines/delivery/contract.ts';
import { addressOf, envelope, postJson } from '#pipelines/delivery/platform_http.ts';
import { classify } from './classify.ts';
import { mapEvent } from './map.ts';
import { DEFAULT_BASE_URL, REDDIT_SCHEMA, type RedditSettings } from './settings.ts';

const DAY_MS = 86_400_000;
const AGE_MAX_MS = 7 * DAY_MS;
const BODY = envelope('{"data":{"events":[', ']}}');

function request(pieces: readonly SerializedEvent[], context: RequestContext<RedditSettings>): HttpRequest {
  const { settings } = context;
  const address = addressOf(context.baseUrl, settings.base_url, DEFAULT_BASE_URL);
  const headers = { authorization: `Bearer ${settings.access_token}` };
  return postJson(address, `/api/v3/pixels/${context.group}/conversion_events`, BODY.around(pieces), headers);
}

/** Reddit Conversions API, version 3. */
export const reddit: Adapter<RedditSettings> = {
  name: 'reddit',
  title: 'Reddit Conversions API',
  schema: REDDIT_SCHEMA,
  anonymousEvents: 'skip',
  advertising: 'restrictable',
  limits: () => ({ batchEventsMax: 1000, batchBytesMax: 1_000_000, concurrencyMax: 4, timeoutMs: 10_000 }),
  ageMaxMs: () => AGE_MAX_MS,
  map: mapEvent,
  overheadBytes: () => BODY.bytes,
  request,
  classify,
};
