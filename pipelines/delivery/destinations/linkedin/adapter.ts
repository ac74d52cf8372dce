import type { Adapter, HttpRequest, RequestContext, SerializedEvent } from '#pipelines/delivery/contract.ts';
import { addressOf, envelope, postJson } from '#pipelines/delivery/platform_http.ts';
import { classify } from './classify.ts';
import { mapEvent } from './map.ts';
import { DEFAULT_BASE_URL, SCHEMA, type Settings } from './settings.ts';

const DAY_MS = 86_400_000;
const AGE_MAX_MS = 90 * DAY_MS;
const BODY = envelope('{"elements":[', ']}');

function request(pieces: readonly SerializedEvent[], { settings, baseUrl }: RequestContext<Settings>): HttpRequest {
  const address = addressOf(baseUrl, settings.base_url, DEFAULT_BASE_URL);
  return postJson(address, '/rest/conversionEvents', BODY.around(pieces), {
    authorization: `Bearer ${settings.access_token}`,
    'linkedin-version': settings.version,
    'x-restli-protocol-version': '2.0.0',
    'x-restli-method': 'BATCH_CREATE',
  });
}

/** LinkedIn Conversions API. */
export const linkedin: Adapter<Settings> = {
  name: 'linkedin',
  title: 'LinkedIn Conversions API',
  schema: SCHEMA,
  anonymousEvents: 'skip',
  advertising: 'unrestrictable',
  limits: () => ({ batchEventsMax: 5000, batchBytesMax: 2_000_000, concurrencyMax: 4, timeoutMs: 15_000 }),
  ageMaxMs: () => AGE_MAX_MS,
  map: mapEvent,
  overheadBytes: () => BODY.bytes,
  request,
  classify,
};
