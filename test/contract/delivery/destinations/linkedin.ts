import { linkedin } from '#pipelines/delivery/destinations/linkedin/adapter.ts';
import { isCurrency } from '#services/local/platforms/meta.ts';
import { isRecord, startPlatform } from '#services/local/platforms/standin.ts';
import type { Subject } from '#test/contract/delivery/subject.ts';
import {
  type Check,
  fieldFault,
  isDecimalText,
  isDigest,
  isListOf,
  isObjectOf,
  isText,
  isWhole,
  missingFault,
} from '#test/platforms/checks.ts';
import { bearerToken, byNameAndId, jsonAnswer, jsonStandin } from '#test/platforms/json_platform.ts';
import { linkedinAnswers } from './linkedin_answers.ts';
import { linkedinCases } from './linkedin_cases.ts';

const DAY_MS = 86_400_000;

const isUserId: Check = (value) => {
  if (!isRecord(value) || Object.keys(value).length !== 2) return false;
  if (value['idType'] === 'SHA256_EMAIL') return isDigest(value['idValue']);
  return value['idType'] === 'LINKEDIN_FIRST_PARTY_ADS_TRACKING_UUID' && isText(value['idValue']);
};

/** What LinkedIn's page on the conversion events API says of each field. */
const EVENT: Record<string, Check> = {
  conversion: (value) => typeof value === 'string' && /^urn:lla:llaPartnerConversion:\d+$/.test(value),
  conversionHappenedAt: isWhole,
  conversionValue: isObjectOf({ currencyCode: isCurrency, amount: isDecimalText }),
  eventId: isText,
  user: isObjectOf({ userIds: isListOf(isUserId) }),
};

function eventFault(event: Record<string, unknown>, nowMs: number): string | null {
  const fault = fieldFault(event, EVENT) ?? missingFault(event, ['conversion', 'conversionHappenedAt', 'user']);
  if (fault !== null) return fault;
  const ageMs = nowMs - Number(event['conversionHappenedAt']);
  return ageMs > 90 * DAY_MS || ageMs < -60_000 ? 'conversionHappenedAt is out of range' : null;
}

/** A stand-in for `POST /rest/conversionEvents`, which judges each event of a batch by itself. */
const standin = jsonStandin({
  keyWindowMs: Number.POSITIVE_INFINITY,
  path: /^\/rest\/conversionEvents$/,
  scopeOf: () => 'linkedin',
  tokenOf: bearerToken,
  eventsOf: ({ body, request }) => {
    const isBatch = request.headers['x-restli-method'] === 'BATCH_CREATE';
    const isVersioned = /^\d{6}$/.test(request.headers['linkedin-version'] ?? '');
    return isBatch && isVersioned && Array.isArray(body['elements']) ? body['elements'] : null;
  },
  eventsMax: 5000,
  bytesMax: 10_000_000,
  eventFault: (event, _request, nowMs) => eventFault(event, nowMs),
  identify: byNameAndId('conversion', 'eventId'),
  accepted: (count) => jsonAnswer(200, { elements: Array.from({ length: count }, () => ({ status: 201 })) }),
  refusal: (usual, message, problem) => {
    const status = problem === 'account' ? 403 : usual;
    return jsonAnswer(status, { status, message });
  },
  refused: (faults, count) => {
    const refusal = (message: string | undefined) => ({ status: 422, error: { status: 422, message } });
    const elements = Array.from({ length: count }, (_, place) =>
      faults.has(place) ? refusal(faults.get(place)) : { status: 201 },
    );
    return jsonAnswer(200, { elements });
  },
  takesOthers: true,
});

export const subject: Subject = {
  adapter: linkedin,
  start: (options) => startPlatform(standin, { ...options, accounts: { linkedin: ['token-good'] } }),
  settings: ({ url }) => ({ event_names: 'purchase=111,generate_lead=222,quiz_done=333', base_url: url }),
  secrets: { access_token: 'token-good' },
  brokenSecrets: { access_token: 'token-revoked' },
  brokenRule: null,
  baseUrl: () => null,
  forbidden: ['onderburg', 'idtjylland', 'QX77', '198.51.100.77', 'cdcdcd', 'efefef'],
  casesMin: 15,
  cases: linkedinCases,
  answers: linkedinAnswers,
};
