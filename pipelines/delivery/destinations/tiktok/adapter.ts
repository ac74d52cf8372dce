import type { Adapter, HttpRequest, RequestContext, SerializedEvent } from '#pipelines/delivery/contract.ts';
import { addressOf, joined, postJson } from '#pipelines/delivery/platform_http.ts';
import { classify } from './classify.ts';
import { ageMaxMs, mapEvent, sourceOfGroup } from './map.ts';
import { DEFAULT_BASE_URL, TIKTOK_SCHEMA, type TiktokSettings } from './settings.ts';

const PATH = '/open_api/v1.3/event/track/';
/** Room for the longest source, its id and a test event code. */
const ENVELOPE_BYTES_MAX = 300;

function request(pieces: readonly SerializedEvent[], context: RequestContext<TiktokSettings>): HttpRequest {
  const { settings } = context;
  const { test_event_code } = settings;
  const envelope = { ...sourceOfGroup(context.group), ...(test_event_code === undefined ? {} : { test_event_code }) };
  const forms = joined(pieces);
  const body = `${JSON.stringify(envelope).slice(0, -1)},"data":[${forms}]}`;
  const address = addressOf(context.baseUrl, settings.base_url, DEFAULT_BASE_URL);
  return postJson(address, PATH, body, { 'access-token': settings.access_token });
}

/** TikTok Events API 2.0. */
export const tiktok: Adapter<TiktokSettings> = {
  name: 'tiktok',
  title: 'TikTok Events API',
  schema: TIKTOK_SCHEMA,
  anonymousEvents: 'skip',
  advertising: 'restrictable',
  limits: ({ test_event_code }) => ({
    // Test events are shown one to a request.
    batchEventsMax: test_event_code === undefined ? 1000 : 1,
    batchBytesMax: 1_000_000,
    concurrencyMax: 4,
    timeoutMs: 10_000,
  }),
  ageMaxMs,
  map: mapEvent,
  overheadBytes: () => ENVELOPE_BYTES_MAX,
  request,
  classify,
};
