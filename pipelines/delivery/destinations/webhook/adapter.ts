import type { Adapter, HttpRequest, Limits, RequestContext, SerializedEvent } from '#pipelines/delivery/contract.ts';
import { joined } from '#pipelines/delivery/platform_http.ts';
import { classify } from './classify.ts';
import { mapEvent, messageId, sign } from './map.ts';
import { WEBHOOK_SCHEMA, type WebhookSettings } from './settings.ts';

/** Standard Webhooks advises payloads below 20 kB; lists are cut there, and a larger single event still goes. */
const BODY_BYTES_ADVISED = 20_000;

const LIST_OPEN = '{"type":"events","data":[';
const LIST_CLOSE = ']}';

const isList = (settings: WebhookSettings): boolean => settings.batch_events_max !== '1';

const limits = (settings: WebhookSettings): Limits => ({
  batchEventsMax: Number(settings.batch_events_max),
  batchBytesMax: BODY_BYTES_ADVISED,
  concurrencyMax: 8,
  timeoutMs: 15_000,
});

function bodyOf(pieces: readonly SerializedEvent[], settings: WebhookSettings): string {
  const forms = joined(pieces);
  return isList(settings) ? LIST_OPEN + forms + LIST_CLOSE : forms;
}

/** An override takes the place of the host and leaves the path, so that one stand-in can tell sites apart. */
function addressOf(url: string, baseUrl: string | null): string {
  if (baseUrl === null || !URL.canParse(url)) return url;
  const { pathname, search } = new URL(url);
  return baseUrl.replace(/\/+$/, '') + pathname + search;
}

function request(pieces: readonly SerializedEvent[], context: RequestContext<WebhookSettings>): HttpRequest {
  const { settings } = context;
  const siteId = pieces[0]?.entry.event.site_id ?? '';
  const id = messageId(
    siteId,
    pieces.map((piece) => piece.entry.event.event_id),
  );
  const timestampS = Math.floor(context.nowMs / 1000);
  const body = bodyOf(pieces, settings);
  const secrets = [settings.secret, ...(settings.secret_previous === undefined ? [] : [settings.secret_previous])];
  return {
    method: 'POST',
    url: addressOf(settings.url, context.baseUrl),
    headers: {
      'content-type': 'application/json',
      'webhook-id': id,
      'webhook-timestamp': String(timestampS),
      'webhook-signature': secrets.map((secret) => sign(secret, id, timestampS, body)).join(' '),
    },
    body,
    trusted: context.baseUrl !== null,
  };
}

/** Signed webhook by Standard Webhooks, to an address of the customer's. */
export const webhook: Adapter<WebhookSettings> = {
  name: 'webhook',
  title: 'Signed webhook',
  schema: WEBHOOK_SCHEMA,
  anonymousEvents: 'send',
  advertising: 'none',
  limits,
  ageMaxMs: () => null,
  map: mapEvent,
  overheadBytes: () => LIST_OPEN.length + LIST_CLOSE.length,
  request,
  classify,
};
