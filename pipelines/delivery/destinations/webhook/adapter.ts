import type {
  Adapter,
  Answer,
  ErasedPerson,
  HttpRequest,
  Limits,
  RequestContext,
  SerializedEvent,
  Verdict,
} from '#pipelines/delivery/contract.ts';
import {
  credentialsBroken,
  DELIVERED,
  doubtful,
  joined,
  retry,
  retryAfterMs,
  split,
  throttle,
} from '#pipelines/delivery/platform_http.ts';
import { mapEvent, messageId, sign, WEBHOOK_SCHEMA, type WebhookSettings } from './map.ts';

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
    context.destination,
    siteId,
    pieces.map((piece) => piece.entry.event.event_id),
  );
  return signedRequest(id, bodyOf(pieces, settings), context);
}

type SigningContext = Pick<RequestContext<WebhookSettings>, 'destination' | 'settings' | 'baseUrl' | 'nowMs'>;

function signedRequest(id: string, body: string, { settings, baseUrl, nowMs }: SigningContext): HttpRequest {
  const timestampS = Math.floor(nowMs / 1000);
  const secrets = [settings.secret, ...(settings.secret_previous === undefined ? [] : [settings.secret_previous])];
  return {
    method: 'POST',
    url: addressOf(settings.url, baseUrl),
    headers: {
      'content-type': 'application/json',
      'webhook-id': id,
      'webhook-timestamp': String(timestampS),
      'webhook-signature': secrets.map((secret) => sign(secret, id, timestampS, body)).join(' '),
    },
    body,
    trusted: baseUrl !== null,
  };
}

/** One message of its own kind, whatever the number of events in the others. */
function erasedRequest({ notice_id, erased_at, ...data }: ErasedPerson, context: SigningContext): HttpRequest {
  const id = messageId(context.destination, data.site_id, [notice_id]);
  const message = { type: 'person.erased', id, timestamp: new Date(erased_at).toISOString(), data };
  return signedRequest(id, JSON.stringify(message), context);
}

/** Answers about the body: the same bytes would be refused again, and all others too where the receiver is at fault. */
const BODY_REFUSED = new Set([400, 422]);

/**
 * A receiver's answer. By Standard Webhooks only 2xx is a success, 410 asks to stop sending, and everything else is a
 * failure to be repeated; redirects are not followed and count as failures. An address that the guard will not connect
 * to stops the site's webhook until its settings change, as 410 does.
 */
function classify(answer: Answer): Verdict {
  if (answer.kind === 'no_answer') {
    return answer.reason === 'address_refused' ? credentialsBroken('address_refused') : retry(answer.reason);
  }
  const { status } = answer;
  const waitMs = retryAfterMs(answer.headers);
  if (status >= 200 && status <= 299) return DELIVERED;
  if (status >= 300 && status <= 399) return retry('redirected', `status ${status}`);
  if (status === 410) return credentialsBroken('gone', 'the receiver asked to stop');
  if (BODY_REFUSED.has(status)) return doubtful(`http_${status}`);
  if (status === 413) return split(`http_${status}`);
  if (status === 429 || waitMs !== null) return throttle(`http_${status}`, waitMs);
  return retry(`http_${status}`);
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
  erasedRequest,
  classify,
};
