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
  doubtful,
  type Envelope,
  envelope,
  postJson,
  retry,
  split,
  takenOf,
  throttle,
} from '#pipelines/delivery/platform_http.ts';
import { isRecord } from '#pipelines/events/vocabulary.ts';
import type { Event } from '#schemas/event.ts';
import { DEFAULT_BASE_URL, META_SCHEMA, type MetaSettings, mapEvent } from './map.ts';

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

/** Errors of Meta's own side, or that pass by themselves (unknown error, service away, limits of the moment). */
const RETRY_CODES = new Set([1, 2, 341, 368, 5000, 21009]);
const THROTTLE_CODES = new Set([4, 17, 32, 613, 80003, 80004]);
/**
 * About the application, the token or the address of every request, whatever is in it: no such capability (3), a caller
 * that is not allowed (5), a version that has ended (12, 2635), permission never given (10, and 200 to 299), no such
 * application (101), a session or token that has ended (102, 190, 463), a wrong proof of the application's secret (104),
 * no such object (803), no such path (2500).
 */
const DESTINATION_CODES = new Set([3, 5, 10, 12, 101, 102, 104, 190, 463, 803, 2500, 2635]);
/** Code 100 with this subcode: no such pixel, or no right to it. */
const NO_SUCH_OBJECT = 33;
/** Of a token that has ended, under whatever code: the application removed, the password changed, the session over. */
const TOKEN_SUBCODES = { first: 458, last: 467 } as const;
/** Of the Conversions API's checks of an event, as too old (2804003) or without a field. Code 100 alone may be anything. */
const EVENT_SUBCODES = { first: 2_804_000, last: 2_804_999 } as const;

const isIn = (subcode: number | null, { first, last }: { first: number; last: number }): boolean =>
  subcode !== null && subcode >= first && subcode <= last;

interface GraphError {
  code: number;
  subcode: number | null;
  isTransient: boolean;
  traceId: string;
}

const traceOf = (body: Record<string, unknown>): string => {
  const { fbtrace_id: traceId } = body;
  return typeof traceId === 'string' && /^[\w-]{1,40}$/.test(traceId) ? traceId : '';
};

function readError(body: unknown): GraphError | null {
  const error = isRecord(body) ? body['error'] : undefined;
  if (!isRecord(error) || typeof error['code'] !== 'number') return null;
  const { code, error_subcode: subcode } = error;
  return {
    code: Number(code),
    subcode: typeof subcode === 'number' ? subcode : null,
    isTransient: error['is_transient'] === true,
    traceId: traceOf(error),
  };
}

function classifyError(error: GraphError, status: number, waitMs: number | null): Verdict {
  const { code, subcode } = error;
  const reason = subcode === null ? `meta_${code}` : `meta_${code}_${subcode}`;
  const detail = `status ${status} fbtrace_id ${error.traceId}`;
  if (THROTTLE_CODES.has(code) || status === 429) return throttle(reason, waitMs, detail);
  if (error.isTransient) return retry(reason, detail);
  if (isOfDestination(code, subcode)) return credentialsBroken(reason, detail);
  if (RETRY_CODES.has(code) || status >= 500) return retry(reason, detail);
  return isIn(subcode, EVENT_SUBCODES) ? split(reason, detail) : doubtful(reason, detail);
}

function isOfDestination(code: number, subcode: number | null): boolean {
  if (DESTINATION_CODES.has(code) || (code >= 200 && code <= 299)) return true;
  return isIn(subcode, TOKEN_SUBCODES) || (code === 100 && subcode === NO_SUCH_OBJECT);
}

/**
 * Meta's answers. A request with one event it refuses is refused as a whole, so what is wrong with an event splits the
 * batch; one that was taken says how many events were. The text of an error may repeat what was sent and is left out.
 */
const classify = (answer: Answer, sentIds: readonly string[]): Verdict =>
  classifyAnswer(answer, (body, { status }, waitMs) => {
    const error = readError(body);
    if (error !== null) return classifyError(error, status, waitMs);
    if (status !== 200) return null;
    if (!isRecord(body) || typeof body['events_received'] !== 'number') return retry('unreadable_answer');
    const { events_received: received } = body;
    const detail = `${received} of ${sentIds.length} received, fbtrace_id ${traceOf(body)}`;
    return takenOf(received, sentIds.length, 'meta_none_received', detail);
  });

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
