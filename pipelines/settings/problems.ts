// Why a setting may not be written, and the rules of texts and ids.

/** Why a setting may not be written. `code` is stable; `message` is for people. */
export interface Problem {
  code: ProblemCode;
  /** The field of the setting it is about. */
  field: string;
  message: string;
}

export type ProblemCode =
  | 'id_malformed'
  | 'name_malformed'
  | 'allowance_malformed'
  | 'account_unknown'
  | 'site_unknown'
  | 'mode_unknown'
  | 'category_unknown'
  | 'country_unknown'
  | 'event_name_malformed'
  | 'clarity_id_malformed'
  | 'consent_default_malformed'
  | 'days_malformed'
  | 'time_zone_unknown'
  | 'week_start_unknown'
  | 'visitor_places_unknown'
  | 'visitor_addresses_unknown'
  | 'currency_malformed'
  | 'page_rule_malformed'
  | 'page_parameter_malformed'
  | 'gtm_id_malformed'
  | 'domain_malformed'
  | 'domain_claimed'
  | 'domain_unclaimable'
  | 'block_rule_malformed'
  | 'event_definition_malformed'
  | 'engage_definition_malformed'
  | 'hash_malformed'
  | 'caller_unknown'
  | 'origin_malformed'
  | 'origins_not_for_servers'
  | 'expiry_malformed'
  | 'rate_limit_malformed'
  | 'destination_setting_malformed'
  | 'destination_setting_unknown'
  | 'destination_setting_secret'
  | 'destination_secret_unknown'
  | 'measurement_id_claimed'
  | 'secret_not_sealed'
  | 'personal_text'
  | 'address_refused'
  | 'too_many'
  | 'not_confirmed'
  | 'repeated'
  | 'too_large'
  | 'destination_unknown'
  | 'not_there'
  | 'cohort_circular'
  | 'cohort_too_deep'
  | 'own_sign_in'
  | 'overlap_malformed'
  | 'field_missing'
  | 'field_unknown'
  | 'field_malformed'
  | 'formula_malformed'
  | 'sql_refused'
  | 'grant_malformed';

export function problem(code: ProblemCode, field: string, message: string): Problem {
  return { code, field, message };
}

/** A problem unless the condition holds; rules read as a list of these. */
export function unless(holds: boolean, code: ProblemCode, field: string, message: string): Problem[] {
  return holds ? [] : [problem(code, field, message)];
}

/** A list has at most `max` items and none of them twice. */
export function listProblems(items: readonly string[], max: number, field: string): Problem[] {
  return [
    ...unless(items.length <= max, 'too_many', field, `at most ${max} are taken`),
    ...unless(new Set(items).size === items.length, 'repeated', field, 'one of them is there twice'),
  ];
}

/** Text that a person typed, for lists and logs: trimmed, without control characters, of limited length. */
export function isPlainText(text: string, charactersMin: number, charactersMax: number): boolean {
  if (text.length < charactersMin || text.length > charactersMax) return false;
  return text === text.trim() && !/\p{Cc}/u.test(text);
}

/** An event name: 1 to 200 characters, trimmed, no control characters. */
export const isEventName = (text: string): boolean => isPlainText(text, 1, 200);

/**
 * Whether every object has a property of this name, as `constructor` and `__proto__`: as a key it would name that, in
 * this process or in whatever reads what it answers.
 */
export function isReservedName(text: string): boolean {
  return text === 'prototype' || text in Object.prototype;
}

/** Ids are part of record keys, metric labels and URLs, so they stay within these characters. */
export const ID_PATTERN = /^[a-z0-9_-]{1,64}$/;
