import type { Adapter, HttpRequest, RequestContext, SerializedEvent } from '#pipelines/delivery/contract.ts';
import { addressOf, envelope, postJson } from '#pipelines/delivery/platform_http.ts';
import { classify } from './classify.ts';
import { mapEvent } from './map.ts';
import { DEFAULT_BASE_URL, PINTEREST_SCHEMA, type PinterestSettings } from './settings.ts';

const DAY_MS = 86_400_000;
const AGE_MAX_MS = 7 * DAY_MS;
const BODY = envelope('{"data":[', ']}');

function request(pieces: readonly SerializedEvent[], context: RequestContext<PinterestSettings>): HttpRequest {
  const { settings } = context;
  const address = addressOf(context.baseUrl, settings.base_url, DEFAULT_BASE_URL);
  const headers = { authorization: `Bearer ${settings.access_token}` };
  return postJson(address, `/v5/ad_accounts/${context.group}/events`, BODY.around(pieces), headers);
}

/** Pinterest API for Conversions, version 5. */
export const pinterest: Adapter<PinterestSettings> = {
  name: 'pinterest',
  title: 'Pinterest API for Conversions',
  schema: PINTEREST_SCHEMA,
  anonymousEvents: 'skip',
  advertising: 'restrictable',
  limits: () => ({ batchEventsMax: 1000, batchBytesMax: 1_000_000, concurrencyMax: 4, timeoutMs: 10_000 }),
  ageMaxMs: () => AGE_MAX_MS,
  map: mapEvent,
  overheadBytes: () => BODY.bytes,
  request,
  classify,
};
