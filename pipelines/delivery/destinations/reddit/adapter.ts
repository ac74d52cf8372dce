import type {
  Adapter,
  Answer,
  EventVerdict,
  HttpRequest,
  RequestContext,
  SerializedEvent,
  Verdict,
} from '#pipelines/delivery/contract.ts';
import {
  addressOf,
  classifyAnswer,
  DELIVERED,
  dead,
  doubtful,
  envelope,
  postJson,
  retry,
  split,
  throttle,
} from '#pipelines/delivery/platform_http.ts';
import { isRecord } from '#pipelines/events/vocabulary.ts';
import { DEFAULT_BASE_URL, mapEvent, REDDIT_SCHEMA, type RedditSettings } from './map.ts';

const DAY_MS = 86_400_000;
const AGE_MAX_MS = 7 * DAY_MS;
const BODY = envelope('{"data":{"events":[', ']}}');

function request(pieces: readonly SerializedEvent[], context: RequestContext<RedditSettings>): HttpRequest {
  const { settings } = context;
  const address = addressOf(context.baseUrl, settings.base_url, DEFAULT_BASE_URL);
  const headers = { authorization: `Bearer ${settings.access_token}` };
  return postJson(address, `/api/v3/pixels/${context.group}/conversion_events`, BODY.around(pieces), headers);
}

const INVALID_EVENT = dead('reddit_invalid_event');

const recordsIn = (value: unknown): Record<string, unknown>[] => (Array.isArray(value) ? value.filter(isRecord) : []);

/** Events that Reddit left out of a request it took; it repeats them, and their conversion id tells which they are. */
function classifyTaken(data: Record<string, unknown>, eventIds: readonly string[]): Verdict {
  const invalid = recordsIn(data['invalid_events']);
  if (invalid.length === 0) return DELIVERED;
  const ids = invalid.map((one) => {
    const event = isRecord(one['event']) ? one['event'] : {};
    return isRecord(event['metadata']) ? event['metadata']['conversion_id'] : undefined;
  });
  const known = new Set(ids.filter((id) => typeof id === 'string' && eventIds.includes(id)));
  if (known.size === 0) return split('reddit_invalid_event');
  const verdicts = eventIds.map((id): EventVerdict => (known.has(id) ? INVALID_EVENT : DELIVERED));
  return { kind: 'per_event', verdicts };
}

/** Places of the events that a refusal names by its fields, as in `data.events[3].type`. */
function refusedIndexesOf(error: unknown): number[] {
  const fields = isRecord(error) ? recordsIn(error['fields']) : [];
  return fields.flatMap(({ field }) => {
    const place = /\bevents\[(\d{1,6})\]/.exec(typeof field === 'string' ? field : '')?.[1];
    return place === undefined ? [] : [Number(place)];
  });
}

/** Seconds until the limit counts anew, where there is no Retry-After. */
function resetMs(headers: Record<string, string>): number | null {
  const seconds = headers['x-ratelimit-reset']?.trim() ?? '';
  return /^\d{1,6}(\.\d+)?$/.test(seconds) ? Math.ceil(Number(seconds)) * 1000 : null;
}

/** Reddit's answers: `data` for a request that was taken, `error` for one that was not, whose text repeats the event. */
const classify = (answer: Answer, eventIds: readonly string[]): Verdict =>
  classifyAnswer(answer, (body, { status, headers }, waitMs) => {
    if (status === 429) return throttle('http_429', waitMs ?? resetMs(headers));
    if (status === 400 && isRecord(body)) {
      const refusedIndexes = refusedIndexesOf(body['error']);
      return refusedIndexes.length > 0 ? split('reddit_400', '', refusedIndexes) : doubtful('reddit_400');
    }
    if (status !== 200) return null;
    const data = isRecord(body) ? body['data'] : undefined;
    return isRecord(data) ? classifyTaken(data, eventIds) : retry('unreadable_answer');
  });

/** Reddit Conversions API, version 3. */
export const reddit: Adapter<RedditSettings> = {
  name: 'reddit',
  title: 'Reddit Conversions API',
  schema: REDDIT_SCHEMA,
  anonymousEvents: 'skip',
  advertising: 'restrictable',
  limits: () => ({ batchEventsMax: 1000, batchBytesMax: 1_000_000, concurrencyMax: 4, timeoutMs: 10_000 }),
  ageMaxMs: () => AGE_MAX_MS,
  map: mapEvent,
  overheadBytes: () => BODY.bytes,
  request,
  classify,
};
