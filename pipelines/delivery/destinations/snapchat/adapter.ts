import type { Adapter, HttpRequest, RequestContext, SerializedEvent } from '#pipelines/delivery/contract.ts';
import { addressOf, envelope, postJson } from '#pipelines/delivery/platform_http.ts';
import { classify } from './classify.ts';
import { mapEvent } from './map.ts';
import { DEFAULT_BASE_URL, SNAPCHAT_SCHEMA, type SnapchatSettings } from './settings.ts';

const DAY_MS = 86_400_000;
const AGE_MAX_MS = 37 * DAY_MS;
const BODY = envelope('{"data":[', ']}');

/** Snapchat takes the token in the address only. */
function request(pieces: readonly SerializedEvent[], context: RequestContext<SnapchatSettings>): HttpRequest {
  const { settings } = context;
  const path = `/v3/${context.group}/events?access_token=${encodeURIComponent(settings.access_token)}`;
  return postJson(addressOf(context.baseUrl, settings.base_url, DEFAULT_BASE_URL), path, BODY.around(pieces));
}

/** Snapchat Conversions API, version 3. */
export const snapchat: Adapter<SnapchatSettings> = {
  name: 'snapchat',
  title: 'Snapchat Conversions API',
  schema: SNAPCHAT_SCHEMA,
  anonymousEvents: 'skip',
  advertising: 'restrictable',
  limits: () => ({ batchEventsMax: 2000, batchBytesMax: 2_000_000, concurrencyMax: 4, timeoutMs: 10_000 }),
  ageMaxMs: () => AGE_MAX_MS,
  map: mapEvent,
  overheadBytes: () => BODY.bytes,
  request,
  classify,
};
