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
  doubtful,
  joined,
  postJson,
  retry,
  safeWord,
  split,
  throttle,
} from '#pipelines/delivery/platform_http.ts';
import { firstText, isRecord } from '#pipelines/events/vocabulary.ts';
import { authorisation } from './authorisation.ts';
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

interface Violation {
  field: string;
  reason: string;
}

const detailsOf = (error: Record<string, unknown>): Record<string, unknown>[] =>
  Array.isArray(error['details']) ? error['details'].filter(isRecord) : [];

function violationsOf(error: Record<string, unknown>): Violation[] {
  return detailsOf(error).flatMap((detail) => {
    const violations: unknown[] = Array.isArray(detail['fieldViolations']) ? detail['fieldViolations'] : [];
    return violations
      .filter(isRecord)
      .map((one) => ({ field: firstText(one, ['field']) ?? '', reason: safeWord(one['reason']) }));
  });
}

/** The wait of a RetryInfo, a duration such as `30s`. */
function retryDelayMs(error: Record<string, unknown>): number | null {
  const delays = detailsOf(error).map((detail) => /^(\d{1,6})(\.\d+)?s$/.exec(firstText(detail, ['retryDelay']) ?? ''));
  const seconds = delays.find((match) => match !== null)?.[1];
  return seconds === undefined ? null : Number(seconds) * 1000;
}

const placeOf = ({ field }: Violation): number | null => {
  const index = /\bevents\[(\d+)\]/.exec(field)?.[1];
  return index === undefined ? null : Number(index);
};

/** A request is refused as a whole: for its events, which are named, or for the account or conversion action it goes to. */
function classifyInvalid(error: Record<string, unknown>, reason: string): Verdict {
  const violations = violationsOf(error);
  const detail = violations[0]?.reason ?? '';
  const refusedIndexes = violations.map(placeOf).filter((place) => place !== null);
  const isOfDestination = violations.length > 0 && violations.every(({ field }) => /\bdestinations\b/.test(field));
  if (isOfDestination) return credentialsBroken('google_destination_invalid', detail);
  return refusedIndexes.length > 0 ? split(reason, detail, refusedIndexes) : doubtful(reason, detail);
}

function classifyError(error: Record<string, unknown>, status: number, waitMs: number | null): Verdict {
  const word = safeWord(error['status']).toLowerCase();
  const reason = `google_${word === '' ? status : word}`;
  if (status === 429) return throttle(reason, waitMs ?? retryDelayMs(error));
  if (status === 401 || status === 403 || status === 404) return credentialsBroken(reason);
  return status === 400 ? classifyInvalid(error, reason) : retry(reason);
}

/**
 * Google's answers: a request id, or a google.rpc.Status as `error`. That a request was taken means that it passed the
 * first checks; Google matches its events later.
 */
const classify = (answer: Answer): Verdict =>
  classifyAnswer(answer, (body, { status }, waitMs) => {
    if (isRecord(body) && isRecord(body['error'])) return classifyError(body['error'], status, waitMs);
    if (status !== 200) return null;
    return isRecord(body) && typeof body['requestId'] === 'string' ? DELIVERED : retry('unreadable_answer');
  });

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
