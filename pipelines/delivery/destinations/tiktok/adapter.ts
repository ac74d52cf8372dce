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
  credentialsBroken,
  DELIVERED,
  dead,
  doubtful,
  joined,
  postJson,
  retry,
  split,
  throttle,
} from '#pipelines/delivery/platform_http.ts';
import { isRecord } from '#pipelines/events/vocabulary.ts';
import { ageMaxMs, DEFAULT_BASE_URL, mapEvent, sourceOfGroup, TIKTOK_SCHEMA, type TiktokSettings } from './map.ts';

const PATH = '/open_api/v1.3/event/track/';
/** Room for the longest source, its id and a test event code. */
const ENVELOPE_BYTES_MAX = 300;

function request(pieces: readonly SerializedEvent[], context: RequestContext<TiktokSettings>): HttpRequest {
  const { settings } = context;
  const { test_event_code } = settings;
  const envelope = { ...sourceOfGroup(context.group), ...(test_event_code === undefined ? {} : { test_event_code }) };
  const forms = joined(pieces);
  const body = `${JSON.stringify(envelope).slice(0, -1)},"data":[${forms}]}`;
  const address = addressOf(context.baseUrl, settings.base_url, DEFAULT_BASE_URL);
  return postJson(address, PATH, body, { 'access-token': settings.access_token });
}

const OK = 0;
const PARTIAL_SUCCESS = 20_001;
const THROTTLED = 40_100;
/** No permission (40001), no such object (40007), token that has ended or is none (40102, 40104, 40105). */
const CREDENTIAL_CODES = new Set([40_001, 40_007, 40_102, 40_104, 40_105]);

/** Places of the events that a partial success names, from 0; null when it names none that can be read. */
function failedPlaces(data: unknown, count: number): Set<number> | null {
  const failed = isRecord(data) ? data['failed_events'] : undefined;
  if (!Array.isArray(failed) || failed.length === 0) return null;
  const places = failed.map((one: unknown) => (isRecord(one) ? one['order_in_batch'] : undefined));
  const isPlace = (place: unknown): place is number => Number.isInteger(place) && Number(place) < count;
  return places.every(isPlace) && places.every((place) => place >= 0) ? new Set(places) : null;
}

/**
 * The events of a partial success: those that failed are named by their place. Where they are not, the batch is sent
 * again in parts; TikTok drops what it has already by event and id.
 */
function classifyPartial(data: unknown, count: number, detail: string): Verdict {
  const reason = `tiktok_${PARTIAL_SUCCESS}`;
  const failed = failedPlaces(data, count);
  if (failed === null) return split(reason, detail);
  const verdicts = Array.from(
    { length: count },
    (_, place): EventVerdict => (failed.has(place) ? dead(reason, detail) : DELIVERED),
  );
  return { kind: 'per_event', verdicts };
}

function classifyCode(body: Record<string, unknown>, code: number, count: number, waitMs: number | null): Verdict {
  const requestId = body['request_id'];
  const isId = typeof requestId === 'string' && /^[A-Za-z0-9]{1,64}$/.test(requestId);
  const detail = isId ? `request_id ${requestId}` : '';
  const reason = `tiktok_${code}`;
  if (code === OK) return DELIVERED;
  if (code === PARTIAL_SUCCESS) return classifyPartial(body['data'], count, detail);
  if (code === THROTTLED) return throttle(reason, waitMs, detail);
  if (CREDENTIAL_CODES.has(code)) return credentialsBroken(reason, detail);
  // 40002 is a wrong parameter, which an unknown pixel is as well as a field of an event.
  return code >= 50_000 ? retry(reason, detail) : doubtful(reason, detail);
}

/**
 * TikTok's answers, which come with HTTP status 200 whatever they say: the body's `code` tells. Its message may repeat what
 * was sent and is left out.
 */
const classify = (answer: Answer, eventIds: readonly string[]): Verdict =>
  classifyAnswer(answer, (body, { status }, waitMs) => {
    if (isRecord(body) && typeof body['code'] === 'number')
      return classifyCode(body, body['code'], eventIds.length, waitMs);
    return status === 200 ? retry('unreadable_answer') : null;
  });

/** TikTok Events API 2.0. */
export const tiktok: Adapter<TiktokSettings> = {
  name: 'tiktok',
  title: 'TikTok Events API',
  schema: TIKTOK_SCHEMA,
  anonymousEvents: 'skip',
  advertising: 'restrictable',
  limits: ({ test_event_code }) => ({
    // Test events are shown one to a request.
    batchEventsMax: test_event_code === undefined ? 1000 : 1,
    batchBytesMax: 1_000_000,
    concurrencyMax: 4,
    timeoutMs: 10_000,
  }),
  ageMaxMs,
  map: mapEvent,
  overheadBytes: () => ENVELOPE_BYTES_MAX,
  request,
  classify,
};
