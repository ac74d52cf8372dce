import type {
  Adapter,
  Answer,
  HttpRequest,
  RequestContext,
  SerializedEvent,
  Verdict,
} from '#pipelines/delivery/contract.ts';
import {
  addressOf,
  classifyAnswer,
  credentialsBroken,
  DELIVERED,
  dead,
  doubtful,
  envelope,
  postJson,
  retry,
  safeWord,
  takenOf,
  throttle,
} from '#pipelines/delivery/platform_http.ts';
import { isRecord } from '#pipelines/events/vocabulary.ts';
import { DEFAULT_BASE_URL, mapEvent, PINTEREST_SCHEMA, type PinterestSettings } from './map.ts';

const DAY_MS = 86_400_000;
const AGE_MAX_MS = 7 * DAY_MS;
const BODY = envelope('{"data":[', ']}');

function request(pieces: readonly SerializedEvent[], context: RequestContext<PinterestSettings>): HttpRequest {
  const { settings } = context;
  const address = addressOf(context.baseUrl, settings.base_url, DEFAULT_BASE_URL);
  const headers = { authorization: `Bearer ${settings.access_token}` };
  return postJson(address, `/v5/ad_accounts/${context.group}/events`, BODY.around(pieces), headers);
}

const EVENT_FAILED = dead('pinterest_event_failed');

/** The words for what became of each event, in the order sent; null where there are none, or others than are known. */
function statusesOf(body: unknown): string[] | null {
  const inner = isRecord(body) && isRecord(body['details']) ? body['details'] : body;
  const events = isRecord(inner) ? inner['events'] : undefined;
  if (!Array.isArray(events)) return null;
  const statuses = events.map((event: unknown) => (isRecord(event) ? event['status'] : undefined));
  return statuses.every((status) => status === 'processed' || status === 'failed') ? statuses : null;
}

/** A verdict for each event, or where they cannot be told apart one by how many were processed. */
function classifyStatuses(statuses: readonly string[], sent: number): Verdict {
  const verdicts = statuses.map((status) => (status === 'processed' ? DELIVERED : EVENT_FAILED));
  if (verdicts.length === sent) return { kind: 'per_event', verdicts };
  const taken = verdicts.filter((verdict) => verdict === DELIVERED).length;
  return takenOf(taken, sent, 'pinterest_none_processed', `${taken} of ${sent} processed`);
}

/** The wait until the limit counts anew, in seconds; Pinterest sends it in place of Retry-After. */
function resetMs(headers: Record<string, string>): number | null {
  const seconds = headers['x-ratelimit-reset']?.trim() ?? '';
  return /^\d{1,6}$/.test(seconds) ? Number(seconds) * 1000 : null;
}

/**
 * Pinterest's answers: a verdict for each event, with status 200 when all were processed and 422 when some were not;
 * `{code, message}` for what is wrong with the request. Where it judges another number of events than were sent those it
 * processed are counted.
 */
const classify = (answer: Answer, eventIds: readonly string[]): Verdict =>
  classifyAnswer(answer, (body, { status, headers }, waitMs) => {
    const statuses = status === 200 || status === 422 ? statusesOf(body) : null;
    if (statuses !== null) return classifyStatuses(statuses, eventIds.length);
    const code = isRecord(body) ? safeWord(body['code']) : '';
    const reason = /^\d+$/.test(code) ? `pinterest_${code}` : `http_${status}`;
    if (status === 429) return throttle(reason, waitMs ?? resetMs(headers));
    if (status === 401 || status === 403 || status === 404) return credentialsBroken(reason);
    if (status === 400 || status === 422) return doubtful(reason);
    return status === 200 ? retry('unreadable_answer') : null;
  });

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
