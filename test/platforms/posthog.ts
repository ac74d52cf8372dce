import { isRecord, textOf } from '#services/local/platforms/standin.ts';
import { fieldFault, isText, missingFault } from './checks.ts';
import { jsonAnswer, jsonStandin, type Problem } from './json_platform.ts';

const isUuid = (value: unknown): boolean =>
  typeof value === 'string' && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(value);

const invalid = (detail: string) => jsonAnswer(400, { type: 'validation_error', code: 'invalid_payload', detail });

const WORDS: Record<Problem, [type: string, code: string]> = {
  path: ['invalid_request', 'not_found'],
  account: ['authentication_error', 'invalid_api_key'],
  token: ['authentication_error', 'invalid_api_key'],
  form: ['validation_error', 'invalid_payload'],
  size: ['validation_error', 'payload_too_large'],
  throttle: ['throttled_error', 'rate_limit_exceeded'],
};

/** The distinct ids that PostHog drops, as no person has them. */
const NOBODY = new Set(['', '0', 'null', 'undefined', 'none', 'anonymous', 'nil', '[object object]']);

function eventFault(event: Record<string, unknown>): string | null {
  const fault =
    fieldFault(event, {
      event: isText,
      uuid: isUuid,
      distinct_id: isText,
      timestamp: (value) => typeof value === 'string' && Number.isFinite(Date.parse(value)),
      properties: isRecord,
    }) ?? missingFault(event, ['event', 'distinct_id']);
  if (fault !== null) return fault;
  const distinctId = textOf(event['distinct_id']);
  return NOBODY.has(distinctId.toLowerCase()) || distinctId.length > 200 ? 'distinct_id is of nobody' : null;
}

/** A stand-in for PostHog's capture API: `POST /batch/`, the project's key in the body. */
export const standin = jsonStandin({
  keyWindowMs: Number.POSITIVE_INFINITY,
  path: /^\/batch\/$/,
  scopeOf: () => 'project',
  tokenOf: ({ body }) => textOf(body['api_key']),
  eventsOf: ({ body }) => (Array.isArray(body['batch']) ? body['batch'] : null),
  eventsMax: 100_000,
  bytesMax: 20_000_000,
  eventFault,
  identify: (event) => {
    const properties = isRecord(event['properties']) ? event['properties'] : {};
    const name = textOf(event['event']);
    return { key: [textOf(event['uuid'])], id: textOf(properties['$insert_id']), name };
  },
  accepted: () => jsonAnswer(200, { status: 'Ok' }),
  refusal: (status, detail, problem) => {
    const [type, code] = WORDS[problem];
    return jsonAnswer(problem === 'account' ? 401 : status, { type, code, detail });
  },
  refused: (faults) => invalid([...faults.values()].join(', ')),
});
