import { addressOf, postJson } from '#pipelines/delivery/address.ts';
import type { Adapter, HttpRequest, Piece, RequestContext } from '#pipelines/delivery/contract.ts';
import type { Event } from '#schemas/event.ts';
import { classify } from './classify.ts';
import { mapEvent } from './map.ts';
import { DEFAULT_BASE_URL, META_SCHEMA, type MetaSettings } from './settings.ts';

const DAY_MS = 86_400_000;

/** Meta takes events up to 7 days back, those of a physical store up to 62. */
const ageMaxMs = (event: Event): number => (event.action_source === 'physical_store' ? 62 : 7) * DAY_MS;

/** The body around the forms. The token goes here and not into the URL, which proxies and logs keep. */
function envelope(settings: MetaSettings): [before: string, after: string] {
  const { access_token, test_event_code } = settings;
  const rest = JSON.stringify({ access_token, ...(test_event_code === undefined ? {} : { test_event_code }) });
  return ['{"data":[', `],${rest.slice(1)}`];
}

function request(pieces: readonly Piece[], context: RequestContext<MetaSettings>): HttpRequest {
  const { settings } = context;
  const [before, after] = envelope(settings);
  const address = addressOf(context.baseUrl, settings.base_url, DEFAULT_BASE_URL);
  const body = before + pieces.map((piece) => piece.json).join(',') + after;
  return postJson(address, `/${settings.version}/${context.group}/events`, body);
}

/** Meta Conversions API. */
export const meta: Adapter<MetaSettings> = {
  name: 'meta',
  title: 'Meta Conversions API',
  schema: META_SCHEMA,
  anonymousEvents: 'skip',
  limits: () => ({ batchEventsMax: 1000, batchBytesMax: 1_000_000, concurrencyMax: 4, timeoutMs: 10_000 }),
  ageMaxMs,
  map: mapEvent,
  overheadBytes: (settings) => Buffer.byteLength(envelope(settings).join('')),
  request,
  classify,
};
