import type { Adapter, HttpRequest, RequestContext, SerializedEvent } from '#pipelines/delivery/contract.ts';
import { addressOf, joined, postJson } from '#pipelines/delivery/platform_http.ts';
import { authorisation } from './authorisation.ts';
import { classify } from './classify.ts';
import { mapEvent } from './map.ts';
import { DEFAULT_BASE_URL, GOOGLE_SCHEMA, type GoogleSettings } from './settings.ts';

const DAY_MS = 86_400_000;
/** Google Ads counts a conversion up to 90 days after the click. */
const AGE_MAX_MS = 90 * DAY_MS;
const ENVELOPE_BYTES_MAX = 500;

const account = (id: string): object => ({ accountType: 'GOOGLE_ADS', accountId: id.replaceAll('-', '') });

function destination(settings: GoogleSettings, conversionAction: string): object {
  const { customer_id, login_customer_id } = settings;
  return {
    operatingAccount: account(customer_id),
    ...(login_customer_id === undefined ? {} : { loginAccount: account(login_customer_id) }),
    productDestinationId: conversionAction,
  };
}

function request(pieces: readonly SerializedEvent[], context: RequestContext<GoogleSettings>): HttpRequest {
  const { settings, token, group } = context;
  const envelope = JSON.stringify({ destinations: [destination(settings, group)], encoding: 'HEX' });
  const forms = joined(pieces);
  const address = addressOf(context.baseUrl, settings.base_url, DEFAULT_BASE_URL);
  const body = `${envelope.slice(0, -1)},"events":[${forms}]}`;
  return postJson(address, '/v1/events:ingest', body, { authorization: `Bearer ${token}` });
}

/** Google Ads conversions through the Data Manager API. */
export const google: Adapter<GoogleSettings> = {
  name: 'google',
  title: 'Google Ads (Data Manager API)',
  schema: GOOGLE_SCHEMA,
  anonymousEvents: 'skip',
  advertising: 'restrictable',
  authorisation,
  limits: () => ({ batchEventsMax: 2000, batchBytesMax: 2_000_000, concurrencyMax: 4, timeoutMs: 15_000 }),
  ageMaxMs: () => AGE_MAX_MS,
  map: mapEvent,
  overheadBytes: () => ENVELOPE_BYTES_MAX,
  request,
  classify,
};
