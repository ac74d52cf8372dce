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
  envelope,
  postJson,
  retry,
} from '#pipelines/delivery/platform_http.ts';
import { firstNumber, isRecord } from '#pipelines/events/vocabulary.ts';
import { DEFAULT_BASE_URL, mapEvent, SCHEMA, type Settings } from './map.ts';

const DAY_MS = 86_400_000;
const AGE_MAX_MS = 90 * DAY_MS;
const BODY = envelope('{"elements":[', ']}');

function request(pieces: readonly SerializedEvent[], { settings, baseUrl }: RequestContext<Settings>): HttpRequest {
  const address = addressOf(baseUrl, settings.base_url, DEFAULT_BASE_URL);
  return postJson(address, '/rest/conversionEvents', BODY.around(pieces), {
    authorization: `Bearer ${settings.access_token}`,
    'linkedin-version': settings.version,
    'x-restli-protocol-version': '2.0.0',
    'x-restli-method': 'BATCH_CREATE',
  });
}

/** Of a conversion rule that does not exist, is not ours or is switched off, as well as of an event. */
const MAYBE_THE_RULE = new Set([400, 403, 404]);

function verdictOf(element: unknown): EventVerdict {
  const status = isRecord(element) ? (firstNumber(element, ['status']) ?? Number.NaN) : Number.NaN;
  if (status >= 200 && status <= 299) return DELIVERED;
  if (status === 401) return credentialsBroken('linkedin_event_401');
  if (status === 429 || status >= 500 || Number.isNaN(status)) return retry('linkedin_event_delayed');
  const reason = `linkedin_event_${status}`;
  return MAYBE_THE_RULE.has(status) ? { kind: 'dead', reason, detail: '', isDoubtful: true } : dead(reason);
}

/** LinkedIn's answers to a batch: a status for each event, in the order sent; else the request's own status. */
const classify = (answer: Answer, eventIds: readonly string[]): Verdict =>
  classifyAnswer(answer, (body, { status }) => {
    if (status !== 200 && status !== 201) return null;
    const elements = isRecord(body) ? body['elements'] : undefined;
    if (!Array.isArray(elements)) return retry('unreadable_answer');
    const verdicts = elements.map(verdictOf);
    if (verdicts.length === eventIds.length) return { kind: 'per_event', verdicts };
    const taken = verdicts.filter(({ kind }) => kind === 'delivered').length;
    if (taken === 0) return retry('unreadable_answer');
    return { kind: 'taken_in_part', taken, detail: `${taken} of ${eventIds.length} taken` };
  });

/** LinkedIn Conversions API. */
export const linkedin: Adapter<Settings> = {
  name: 'linkedin',
  title: 'LinkedIn Conversions API',
  schema: SCHEMA,
  anonymousEvents: 'skip',
  advertising: 'unrestrictable',
  limits: () => ({ batchEventsMax: 5000, batchBytesMax: 2_000_000, concurrencyMax: 4, timeoutMs: 15_000 }),
  ageMaxMs: () => AGE_MAX_MS,
  map: mapEvent,
  overheadBytes: () => BODY.bytes,
  request,
  classify,
};
