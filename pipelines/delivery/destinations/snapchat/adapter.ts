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
  DELIVERED,
  doubtful,
  envelope,
  postJson,
  retry,
  split,
} from '#pipelines/delivery/platform_http.ts';
import { isRecord } from '#pipelines/events/vocabulary.ts';
import { DEFAULT_BASE_URL, mapEvent, SNAPCHAT_SCHEMA, type SnapchatSettings } from './map.ts';

const DAY_MS = 86_400_000;
const AGE_MAX_MS = 37 * DAY_MS;
const BODY = envelope('{"data":[', ']}');

/** Snapchat takes the token in the address only. */
function request(pieces: readonly SerializedEvent[], context: RequestContext<SnapchatSettings>): HttpRequest {
  const { settings } = context;
  const path = `/v3/${context.group}/events?access_token=${encodeURIComponent(settings.access_token)}`;
  return postJson(addressOf(context.baseUrl, settings.base_url, DEFAULT_BASE_URL), path, BODY.around(pieces));
}

const TAKEN = new Set(['VALID', 'SUCCESS']);
const REFUSED = new Set(['INVALID', 'FAILED']);

/** Places of the records that an answer finds fault with. */
function refusedIndexesOf(body: Record<string, unknown>): number[] {
  const records: unknown[] = Array.isArray(body['error_records']) ? body['error_records'] : [];
  return records.filter(isRecord).flatMap((record) => {
    const indexes: unknown[] = Array.isArray(record['record_indexes']) ? record['record_indexes'] : [];
    return indexes.filter((place): place is number => Number.isInteger(place) && Number(place) >= 0);
  });
}

/** Snapchat's answers: a `status` word, and the records it refuses the request for. */
const classify = (answer: Answer): Verdict =>
  classifyAnswer(answer, (body, { status }) => {
    const word = isRecord(body) && typeof body['status'] === 'string' ? body['status'].toUpperCase() : '';
    const isRefusal = REFUSED.has(word) && (status === 200 || status === 400 || status === 422);
    if (isRefusal && isRecord(body)) {
      const refusedIndexes = refusedIndexesOf(body);
      const detail = `status ${status}`;
      return refusedIndexes.length > 0
        ? split('snapchat_invalid', detail, refusedIndexes)
        : doubtful('snapchat_invalid', detail);
    }
    if (status !== 200) return null;
    return TAKEN.has(word) ? DELIVERED : retry('unreadable_answer');
  });

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
