import type { Adapter, HttpRequest, RequestContext, SerializedEvent } from '#pipelines/delivery/contract.ts';
import { addressOf, type Envelope, envelope, postJson } from '#pipelines/delivery/platform_http.ts';
import type { Event } from '#schemas/event.ts';
import { classify } from './classify.ts';
import { mapEvent } from './map.ts';
import { DEFAULT_BASE_URL, META_SCHEMA, type MetaSettings } from './settings.ts';

const DAY_MS = 86_400_000;

/** Meta takes events up to 7 days back, those of a physical store up to 62. */
const ageMaxMs = (event: Event): number => (event.action_source === 'physical_store' ? 62 : 7) * DAY_MS;

/** The body around the forms. The token goes here and not into the URL, which proxies and logs keep. */
function bodyOf(settings: MetaSettings): Envelope {
  const { access_token, test_event_code } = settings;
  const rest = JSON.stringify({ access_token, ...(test_event_code === undefined ? {} : { test_event_code }) });
  return envelope('{"data":[', `],${rest.slice(1)}`);
}

function request(pieces: readonly SerializedEvent[], context: RequestContext<MetaSettings>): HttpRequest {
  const { settings } = context;
  const address = addressOf(context.baseUrl, settings.base_url, DEFAULT_BASE_URL);
  return postJson(address, `/${settings.version}/${context.group}/events`, bodyOf(settings).around(pieces));
}

/** Meta Conversions API. */
export const meta: Adapter<MetaSettings> = {
  name: 'meta',
  title: 'Meta Conversions API',
  schema: META_SCHEMA,
  anonymousEvents: 'skip',
  advertising: 'restrictable',
  limits: () => ({ batchEventsMax: 1000, batchBytesMax: 1_000_000, concurrencyMax: 4, timeoutMs: 10_000 }),
  ageMaxMs,
  map: mapEvent,
  overheadBytes: (settings) => bodyOf(settings).bytes,
  request,
  classify,
};
