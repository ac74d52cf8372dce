import { holdsPersonalText } from '#pipelines/privacy/redact_text.ts';
import type { Account, ApiKey, Destination } from '#schemas/setting.ts';
import { ID_PATTERN } from './id_pattern.ts';
import { newProblems } from './inherited.ts';
import { listProblems, type Problem, problem, unless } from './problem.ts';
import type { SettingsTable } from './table.ts';
import { isPlainText, isReservedName } from './text_rules.ts';
import { canonicalAllowedOrigin } from './web_names.ts';

const ALLOWANCE_MAX = 1_000_000_000_000;
/** Requests in 10 seconds: more than one edge takes. */
export const KEY_RATE_LIMIT_MAX = 1_000_000;
const ORIGINS_MAX = 100;
const SETTING_CHARACTERS_MAX = 10_000;
const HASH_PATTERN = /^[0-9a-f]{64}$/;
const SEALED_PATTERN = /^[A-Za-z0-9_-]{1,64}\.[A-Za-z0-9_-]{16}\.[A-Za-z0-9_-]+$/;

/** Checks an account before it is written over `before`; no problem: it may be. */
export function accountProblems(account: Account, before: Account | null = null): Problem[] {
  const allowance = account.monthly_allowance;
  const allowanceFits = Number.isSafeInteger(allowance) && allowance >= 0 && allowance <= ALLOWANCE_MAX;
  const problems = [
    ...idProblems(account.account_id, 'account_id'),
    ...nameProblems(account.name),
    ...unless(allowanceFits, 'allowance_malformed', 'monthly_allowance', `is a whole number up to ${ALLOWANCE_MAX}`),
  ];
  return newProblems(problems, before, account);
}

/** Checks a key before it is written over, or in place of, `before`. A key that has already expired may be written again, as when it is revoked. */
export function keyProblems(key: ApiKey, table: SettingsTable, before: ApiKey | null = null): Problem[] {
  const problems = [
    ...unless(HASH_PATTERN.test(key.key_hash), 'hash_malformed', 'key_hash', 'is a SHA-256 in lower-case hex'),
    ...siteProblem(key.site_id, table),
    ...unless(['browser', 'server'].includes(key.caller), 'caller_unknown', 'caller', 'is browser or server'),
    ...unless(isPlainText(key.label, 0, 100), 'name_malformed', 'label', 'has up to 100 characters, none of control'),
    ...personalProblems(key.label, 'label'),
    ...originProblems(key),
    ...unless(
      isExpiry(key.expires_at, key.created_at),
      'expiry_malformed',
      'expires_at',
      'is a time after the key is created',
    ),
    ...unless(rateFits(key), 'rate_limit_malformed', 'rate_limit', `is a whole number from 1 to ${KEY_RATE_LIMIT_MAX}`),
  ];
  return newProblems(problems, before, key);
}

/** Checks a destination before it is written; what its settings mean is for the destination's own schema to say. */
export function destinationProblems(destination: Destination, table: SettingsTable): Problem[] {
  return [
    ...siteProblem(destination.site_id, table),
    ...idProblems(destination.name, 'name'),
    ...Object.entries(destination.settings).flatMap(([name, value]) => settingProblems(name, value)),
    ...Object.entries(destination.secrets).flatMap(([name, value]) => sealedProblems(name, value)),
    ...measurementIdProblems(destination, table),
  ];
}

/** Lower-case letters, digits, `-` and `_`, 1 to 64 of them, and nothing that every object has by itself. */
export function idProblems(id: string, field: string): Problem[] {
  return [
    ...unless(ID_PATTERN.test(id), 'id_malformed', field, 'has 1 to 64 lower-case letters, digits, - or _'),
    ...unless(!isReservedName(id), 'id_malformed', field, 'is a name that every object has by itself'),
  ];
}

export function nameProblems(name: string): Problem[] {
  return [
    ...unless(isPlainText(name, 1, 100), 'name_malformed', 'name', 'has 1 to 100 characters, none of control'),
    ...personalProblems(name, 'name'),
  ];
}

/** Names and labels are shown, logged and kept in plain text, where no identifier of a person may be. */
export function personalProblems(text: string, field: string): Problem[] {
  return unless(!holdsPersonalText(text), 'personal_text', field, 'holds an e-mail address or a phone number');
}

function siteProblem(siteId: string, table: SettingsTable): Problem[] {
  return unless(table.site(siteId) !== undefined, 'site_unknown', 'site_id', `there is no site ${siteId}`);
}

function originProblems(key: ApiKey): Problem[] {
  const field = 'allowed_origins';
  const malformed = key.allowed_origins.filter((origin) => canonicalAllowedOrigin(origin) !== origin);
  return [
    ...listProblems(key.allowed_origins, ORIGINS_MAX, field),
    ...malformed.map(() =>
      problem(
        'origin_malformed',
        field,
        'one of them is not like https://shop.example or https://*.shop.example, or anybody may get a name below it',
      ),
    ),
    ...unless(
      key.caller !== 'server' || key.allowed_origins.length === 0,
      'origins_not_for_servers',
      field,
      'a server key is refused from every origin',
    ),
  ];
}

/** Whether something that is created then may expire so: never, or at a later time that Avro's library writes. */
export function isExpiry(expiresAt: number | null, createdAt: number): boolean {
  if (expiresAt === null) return true;
  return Number.isSafeInteger(expiresAt) && expiresAt > createdAt && expiresAt < Number.MAX_SAFE_INTEGER;
}

function rateFits({ rate_limit }: ApiKey): boolean {
  return (
    rate_limit === null || (Number.isSafeInteger(rate_limit) && rate_limit >= 1 && rate_limit <= KEY_RATE_LIMIT_MAX)
  );
}

function settingProblems(name: string, value: string): Problem[] {
  return [
    ...idProblems(name, 'settings'),
    ...unless(
      value.length <= SETTING_CHARACTERS_MAX,
      'too_large',
      name,
      `has up to ${SETTING_CHARACTERS_MAX} characters`,
    ),
  ];
}

function sealedProblems(name: string, value: string): Problem[] {
  return [
    ...idProblems(name, 'secrets'),
    ...unless(SEALED_PATTERN.test(value), 'secret_not_sealed', name, 'is stored sealed only'),
  ];
}

/**
 * Two sites of an account that have one measurement id are a mistake. One of another account shuts nobody out, as it may be claimed
 * by whoever reads it off a page: hits are those of the site that has proof (measurement_site.ts).
 */
function measurementIdProblems({ site_id, name, settings }: Destination, table: SettingsTable): Problem[] {
  const measurementId = settings['measurement_id'];
  if (name !== 'ga4' || measurementId === undefined) return [];
  const accountId = table.site(site_id)?.account_id;
  const isTaken = table
    .sitesByMeasurementId(measurementId)
    .some((other) => other.site_id !== site_id && other.account_id === accountId);
  return unless(!isTaken, 'measurement_id_claimed', 'measurement_id', `${measurementId} belongs to another site`);
}
