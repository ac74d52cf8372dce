// What accounts, keys, destinations and sites may hold.

import { isIP, isIPv6 } from 'node:net';
import { isDeepStrictEqual } from 'node:util';
import { isSupportedCountry } from 'libphonenumber-js/max';
import { DESTINATIONS_OF_A_KIND_MAX, kindOfDestination } from '#pipelines/delivery/destination_id.ts';
import { EEA } from '#pipelines/events/consent.ts';
import { holdsPersonalText } from '#pipelines/privacy/redact_text.ts';
import {
  type Account,
  type ApiKey,
  BLOCK_RULE_KINDS,
  type BlockRule,
  type ConsentDefault,
  type Destination,
  type DestinationRule,
  type PageRules,
  type Site,
  VISITOR_ADDRESSES,
  VISITOR_PLACES,
} from '#schemas/setting.ts';
import { isTimeZone, WEEK_STARTS } from './calendar.ts';
import { canonicalAllowedOrigin, canonicalDomain, isClaimable } from './domains.ts';
import { parseEventDefinition } from './event_definitions.ts';
import {
  PAGE_PARAMETER_PATTERN,
  PAGE_PARAMETERS_MAX,
  PAGE_RULE_CHARACTERS_MAX,
  PAGE_RULE_PATTERN,
  PAGE_RULES_MAX,
} from './page_rules.ts';
import {
  ID_PATTERN,
  isEventName,
  isPlainText,
  isReservedName,
  listProblems,
  type Problem,
  type ProblemCode,
  problem,
  unless,
} from './problems.ts';
import type { SettingsTable } from './table.ts';

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

/**
 * Checks a key before it is written over, or in place of, `before`. A key that has already expired may be written again, as
 * when it is revoked.
 */
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
    ...kindProblems(destination, table),
    ...Object.entries(destination.settings).flatMap(([name, value]) => settingProblems(name, value)),
    ...Object.entries(destination.secrets).flatMap(([name, value]) => sealedProblems(name, value)),
    ...measurementIdProblems(destination, table),
    ...ruleProblems(destination.rules ?? []),
  ];
}

/** Each is looked for in every event. */
const STARS_MAX = 3;

/** Names and paths in rules are shown and kept in plain text. */
export function ruleProblems(rules: readonly DestinationRule[]): Problem[] {
  const named = rules.flatMap(({ events, rename_to, drop_properties }, at) => [
    ...events.map((text) => [text, `rules[${at}].events`] as const),
    ...(rename_to === null ? [] : [[rename_to, `rules[${at}].rename_to`] as const]),
    ...drop_properties.map((text) => [text, `rules[${at}].drop_properties`] as const),
  ]);
  return named.flatMap(([text, field]) => [
    ...unless(isPlainText(text, 1, 100), 'name_malformed', field, 'has 1 to 100 characters, none of control'),
    ...unless(text.split('*').length <= STARS_MAX + 1, 'name_malformed', field, `has at most ${STARS_MAX} *`),
    ...personalProblems(text, field),
  ]);
}

/** Behind the kind stands a name of its own, and only so many are of one kind. */
function kindProblems({ site_id, name }: Destination, table: SettingsTable): Problem[] {
  const others = (table.destinationsOfKind(kindOfDestination(name)).get(site_id) ?? []).filter(
    (one) => one.name !== name,
  );
  return [
    ...unless(!name.endsWith('-'), 'id_malformed', 'name', 'is a kind, or a kind, - and a name, as in webhook-crm'),
    ...unless(
      others.length < DESTINATIONS_OF_A_KIND_MAX,
      'too_many',
      'name',
      `a site has at most ${DESTINATIONS_OF_A_KIND_MAX} of a kind`,
    ),
  ];
}

/** Lower-case letters, digits, `-` and `_`, 1 to 64 of them, and nothing that every object has by itself. */
function idProblems(id: string, field: string): Problem[] {
  return [
    ...unless(ID_PATTERN.test(id), 'id_malformed', field, 'has 1 to 64 lower-case letters, digits, - or _'),
    ...unless(!isReservedName(id), 'id_malformed', field, 'is a name that every object has by itself'),
  ];
}

function nameProblems(name: string): Problem[] {
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
 * by whoever reads it off a page: hits are those of the site that has proof (callers.ts).
 */
function measurementIdProblems({ site_id, name, settings }: Destination, table: SettingsTable): Problem[] {
  const measurementId = settings['measurement_id'];
  if (kindOfDestination(name) !== 'ga4' || measurementId === undefined) return [];
  const accountId = table.site(site_id)?.account_id;
  const isTaken = table
    .sitesByMeasurementId(measurementId)
    .some((other) => other.site_id !== site_id && other.account_id === accountId);
  return unless(!isTaken, 'measurement_id_claimed', 'measurement_id', `${measurementId} belongs to another site`);
}

/** The categories of the API: informational, capture behaves the same for each. */
export const BUSINESS_CATEGORIES = [
  'ecommerce_retail',
  'entertainment_media',
  'education',
  'real_estate',
  'technology',
  'financial_services',
  'automotive',
  'travel',
  'other',
] as const;

const DOMAINS_MAX = 100;
/** Each is looked for in every round, and may have a certificate ordered: no account leaves the others to wait. */
const DOMAINS_PER_ACCOUNT_MAX = 200;
const BLOCK_RULES_MAX = 500;
const EVENT_NAMES_MAX = 200;
const DEFINITIONS_MAX = 200;
/** Keeps a site's record well below what a Kafka broker takes by default. */
const DEFINITIONS_CHARACTERS_MAX = 256 * 1024;
const GTM_PATTERN = /^GTM-[A-Z0-9]{4,10}$/;
const CLARITY_PATTERN = /^[a-z0-9]{4,20}$/;

/**
 * Checks a site before it is written over `before`; no problem: it may be.
 *
 * @param cnameTarget The installation's name that domains may be an alias of; null: there is none, or no domain is changed.
 */
export function siteProblems(
  site: Site,
  table: SettingsTable,
  before: Site | null = null,
  cnameTarget: string | null = null,
): Problem[] {
  const problems = [
    ...idProblems(site.site_id, 'site_id'),
    ...nameProblems(site.name),
    ...accountProblem(site, table),
    ...vocabularyProblems(site),
    ...tagIdProblems(site),
    ...retentionProblems(site),
    ...(site.pages === undefined ? [] : pageProblems(site.pages)),
    ...consentProblems(site.consent_defaults ?? []),
    ...eventNameProblems(site.identify_events ?? [], 'identify_events'),
    ...eventNameProblems(site.server_only_events, 'server_only_events'),
    ...embedProblems(site.embed_origins ?? []),
    ...domainProblems(site, table, before),
    ...accountDomainProblems(site, table, before),
    ...site.domains.flatMap((domain, index) => unclaimableProblems(domain, `domains[${index}]`, cnameTarget)),
    ...blockProblems(site),
    ...definitionProblems(site.event_definitions),
  ];
  return newProblems(problems, before, site);
}

function accountProblem(site: Site, table: SettingsTable): Problem[] {
  const known = table.account(site.account_id) !== undefined;
  return unless(known, 'account_unknown', 'account_id', `there is no account ${site.account_id}`);
}

function accountDomainProblems(site: Site, table: SettingsTable, before: Site | null): Problem[] {
  const isMore = before?.account_id !== site.account_id || site.domains.length > before.domains.length;
  if (site.domains.length === 0 || !isMore) return [];
  const others = table.sites().filter((one) => one.account_id === site.account_id && one.site_id !== site.site_id);
  const count = others.reduce((sum, { domains }) => sum + domains.length, site.domains.length);
  const fits = count <= DOMAINS_PER_ACCOUNT_MAX;
  return unless(fits, 'too_many', 'domains', `of an account the sites claim up to ${DOMAINS_PER_ACCOUNT_MAX}`);
}

function vocabularyProblems(site: Site): Problem[] {
  const categories: readonly string[] = BUSINESS_CATEGORIES;
  const country = site.default_country;
  return [
    ...unless(['online', 'offline'].includes(site.mode), 'mode_unknown', 'mode', 'is online or offline'),
    ...unless(
      categories.includes(site.business_category),
      'category_unknown',
      'business_category',
      `is one of ${categories.join(', ')}`,
    ),
    ...unless(
      country === null || isSupportedCountry(country),
      'country_unknown',
      'default_country',
      'is an ISO 3166-1 alpha-2 code in capitals, of a country with telephone numbers',
    ),
    ...unless(
      (site.time_zone ?? null) === null || isTimeZone(site.time_zone ?? ''),
      'time_zone_unknown',
      'time_zone',
      'is the IANA name of a time zone, such as Europe/Berlin',
    ),
    ...unless(
      (site.currency ?? null) === null || /^[A-Z]{3}$/.test(site.currency ?? ''),
      'currency_malformed',
      'currency',
      'is a code of ISO 4217, such as EUR',
    ),
    ...choiceProblems(site),
  ];
}

const EMBED_ORIGINS_MAX = 20;
/** As a policy of frames takes it: no character of it ends the source, or the directive. */
const EMBED_ORIGIN = /^(?:https:\/\/(?:\*\.)?[a-z0-9_.-]+|http:\/\/(?:localhost|127\.0\.0\.1))(?::\d{1,5})?$/;

function embedProblems(origins: readonly string[]): Problem[] {
  return [
    ...listProblems(origins, EMBED_ORIGINS_MAX, 'embed_origins'),
    ...origins.flatMap((origin, index) =>
      unless(
        canonicalAllowedOrigin(origin) === origin && EMBED_ORIGIN.test(origin),
        'origin_malformed',
        `embed_origins[${index}]`,
        'must be https, as https://intranet.example, or with *. for every name below a domain; http only for localhost and 127.0.0.1',
      ),
    ),
  ];
}

const CONSENT_DEFAULTS_MAX = 250;

function consentProblems(defaults: readonly ConsentDefault[]): Problem[] {
  const fits = defaults.every(
    ({ country, consent }) =>
      (country === null || country === EEA || /^[A-Z]{2}$/.test(country)) && ['granted', 'denied'].includes(consent),
  );
  return [
    ...unless(fits, 'consent_default_malformed', 'consent_defaults', 'is by country in two capitals, EEA or null'),
    ...listProblems(
      defaults.map(({ country }) => String(country)),
      CONSENT_DEFAULTS_MAX,
      'consent_defaults',
    ),
  ];
}

/** A hundred years. */
/** Fields that have one of some words, or null. */
const CHOICES = {
  week_start: WEEK_STARTS,
  visitor_places: VISITOR_PLACES,
  visitor_addresses: VISITOR_ADDRESSES,
} as const;

function choiceProblems(site: Site): Problem[] {
  return (Object.keys(CHOICES) as (keyof typeof CHOICES)[]).flatMap((field) => {
    const words: readonly string[] = CHOICES[field];
    const said = site[field] ?? null;
    return unless(said === null || words.includes(said), `${field}_unknown`, field, `is one of ${words.join(', ')}`);
  });
}

export const KEPT_DAYS_MAX = 36_500;
/** Topics of events may hold an event for 16 days, and what Redis lost is made again of them: whoever is in it is not forgotten. */
export const PERSON_DAYS_MIN = 30;

const KEPT_DAYS_MIN = { event_days: 1, outcome_days: 1, person_days: PERSON_DAYS_MIN } as const;

function retentionProblems(site: Site): Problem[] {
  return (['event_days', 'outcome_days', 'person_days'] as const).flatMap((field) => {
    const [days, least] = [site[field] ?? null, KEPT_DAYS_MIN[field]];
    const fits = days === null || (Number.isInteger(days) && days >= least && days <= KEPT_DAYS_MAX);
    return unless(fits, 'days_malformed', field, `is a whole number of days from ${least} to ${KEPT_DAYS_MAX}`);
  });
}

const PARAMETER = new RegExp(PAGE_PARAMETER_PATTERN);
const PAGE_RULE = new RegExp(PAGE_RULE_PATTERN);
const PAGE_STARS_MAX = 4;

/** Checks the rules of pages before they are written. */
export function pageProblems(rules: PageRules): Problem[] {
  return [
    ...listProblems(rules.parameters, PAGE_PARAMETERS_MAX, 'pages.parameters'),
    ...listProblems(rules.rules, PAGE_RULES_MAX, 'pages.rules'),
    ...rules.parameters.flatMap((name, at) =>
      unless(PARAMETER.test(name), 'page_parameter_malformed', `pages.parameters[${at}]`, 'is no name of a parameter'),
    ),
    ...rules.rules.flatMap((rule, at) => [
      ...unless(
        isPageRule(rule),
        'page_rule_malformed',
        `pages.rules[${at}]`,
        `is like /users/:id/orders or /blog/*, as browsers write it, of ${PAGE_RULE_CHARACTERS_MAX} characters and ${PAGE_STARS_MAX} * at the most`,
      ),
      ...personalProblems(rule, `pages.rules[${at}]`),
    ]),
  ];
}

const isPageRule = (rule: string): boolean =>
  PAGE_RULE.test(rule) && rule.length <= PAGE_RULE_CHARACTERS_MAX && rule.split('*').length <= PAGE_STARS_MAX + 1;

function tagIdProblems(site: Site): Problem[] {
  const { clarity_project_id: clarity, gtm_container_id: gtm } = site;
  return [
    ...unless(
      clarity === null || CLARITY_PATTERN.test(clarity),
      'clarity_id_malformed',
      'clarity_project_id',
      'has 4 to 20 lower-case letters or digits',
    ),
    ...unless(gtm === null || GTM_PATTERN.test(gtm), 'gtm_id_malformed', 'gtm_container_id', 'is like GTM-ABC1234'),
  ];
}

function eventNameProblems(names: readonly string[], field: string): Problem[] {
  const malformed = names.filter((name) => !isEventName(name));
  return [
    ...listProblems(names, EVENT_NAMES_MAX, field),
    ...malformed.map(() => problem('event_name_malformed', field, 'names have 1 to 200 characters')),
    ...names.flatMap((name) => personalProblems(name, field)),
  ];
}

/** Anybody may claim what nobody has proven; who had claimed it before another site proved it may leave that as it is. */
function domainProblems(site: Site, table: SettingsTable, before: Site | null): Problem[] {
  return [...listProblems(site.domains, DOMAINS_MAX, 'domains'), ...site.domains.flatMap(claimProblems)];

  function claimProblems(domain: string): Problem[] {
    if (canonicalDomain(domain) !== domain) {
      return [
        problem(
          'domain_malformed',
          'domains',
          'one of them is no domain as t.shop.example: without scheme, port or path, and in lower-case punycode',
        ),
      ];
    }
    const isKept = before?.domains.includes(domain) === true;
    const owner = table.siteServedAt(domain)?.site_id ?? site.site_id;
    const isFree = isKept || owner === site.site_id;
    return unless(isFree, 'domain_claimed', 'domains', `${domain} is proven to be another site's`);
  }
}

function unclaimableProblems(domain: string, field: string, cnameTarget: string | null): Problem[] {
  if (canonicalDomain(domain) !== domain) return [];
  const message = `${domain} is a public suffix, for special uses or of this service; claim a name of the site's own`;
  return unless(isClaimable(domain, cnameTarget), 'domain_unclaimable', field, message);
}

function blockProblems(site: Site): Problem[] {
  return [
    ...listProblems(site.block_rules.map(blockRuleText), BLOCK_RULES_MAX, 'block_rules'),
    ...site.block_rules.flatMap((rule, index) => blockRuleProblems(rule, `block_rules[${index}]`)),
    ...site.block_rules.flatMap(({ value, property }, index) =>
      [value, property ?? ''].flatMap((text) => personalProblems(text, `block_rules[${index}]`)),
    ),
  ];
}

function definitionProblems(definitions: readonly string[]): Problem[] {
  const characters = definitions.reduce((total, text) => total + text.length, 0);
  const read = definitions.map(parseEventDefinition);
  const ids = read.flatMap((result) => (result.ok ? [result.definition.id] : []));
  const malformed = read.flatMap((result, index) =>
    result.ok ? [] : [problem('event_definition_malformed', `event_definitions[${index}]`, result.message)],
  );
  return [
    ...listProblems(ids, DEFINITIONS_MAX, 'event_definitions'),
    ...unless(
      characters <= DEFINITIONS_CHARACTERS_MAX,
      'too_large',
      'event_definitions',
      `have up to ${DEFINITIONS_CHARACTERS_MAX} characters together`,
    ),
    ...malformed,
  ];
}

const VALUE_CHARACTERS_MAX = 500;
const PROPERTY_CHARACTERS_MAX = 200;
/** Two capital letters, or T1: the code that country headers give to Tor. */
const COUNTRY_PATTERN = /^(?:[A-Z]{2}|T1)$/;

const VALUE_RULES: Record<BlockRule['kind'], { test: (value: string) => boolean; says: string }> = {
  ip: { test: isAddressOrRange, says: 'an address or a CIDR range' },
  user_agent: { test: isValue, says: `1 to ${VALUE_CHARACTERS_MAX} characters` },
  country: { test: (value) => COUNTRY_PATTERN.test(value), says: 'an ISO 3166-1 alpha-2 code in capitals' },
  event: { test: isEventName, says: 'an event name of 1 to 200 characters' },
  property: { test: (value) => value === '' || isValue(value), says: `at most ${VALUE_CHARACTERS_MAX} characters` },
  distinct_id: { test: isValue, says: `1 to ${VALUE_CHARACTERS_MAX} characters` },
};

/** Checks one block rule; `field` names it in the problems. */
function blockRuleProblems(rule: BlockRule, field: string): Problem[] {
  if (!BLOCK_RULE_KINDS.includes(rule.kind)) {
    return [problem('block_rule_malformed', field, `the kind is one of ${BLOCK_RULE_KINDS.join(', ')}`)];
  }
  const { test, says } = VALUE_RULES[rule.kind];
  if (!test(rule.value)) return [problem('block_rule_malformed', field, `the value of ${rule.kind} is ${says}`)];
  if ((rule.kind === 'property') !== (rule.property !== null)) {
    return [problem('block_rule_malformed', field, 'a property is named by rules of kind property, and only by them')];
  }
  if (rule.property !== null && !isPlainText(rule.property, 1, PROPERTY_CHARACTERS_MAX)) {
    return [problem('block_rule_malformed', field, `a property has 1 to ${PROPERTY_CHARACTERS_MAX} characters`)];
  }
  return [];
}

/** Two rules are the same when this text is. */
export function blockRuleText(rule: BlockRule): string {
  return rule.kind === 'property' ? `property:${rule.property}=${rule.value}` : `${rule.kind}=${rule.value}`;
}

function isValue(value: string): boolean {
  return isPlainText(value, 1, VALUE_CHARACTERS_MAX);
}

function isAddressOrRange(value: string): boolean {
  const [address = '', bits, ...rest] = value.split('/');
  if (rest.length > 0 || isIP(address) === 0) return false;
  if (bits === undefined) return true;
  return /^(?:0|[1-9]\d{0,2})$/.test(bits) && Number(bits) <= (isIPv6(address) ? 128 : 32);
}

/** Rules that are younger than records which break them. */
const LATER_RULES: ReadonlySet<ProblemCode> = new Set([
  'personal_text',
  'domain_unclaimable',
  'origin_malformed',
  'event_definition_malformed',
]);

/**
 * The problems of a changed record that the change brings. What was stored before a rule was made may stay as it is, or
 * nothing else of the record could be changed any more, such as the mode of a site whose name holds a number.
 *
 * @param before The record as it is stored; null for a new one, which has to keep every rule.
 */
export function newProblems<Item extends object>(
  problems: readonly Problem[],
  before: Item | null,
  after: Item,
): Problem[] {
  if (before === null) return [...problems];
  return problems.filter(({ code, field }) => !(LATER_RULES.has(code) && isInherited(field, before, after)));
}

/** `label`, or an entry of a list such as `block_rules[3]`, which may have stood elsewhere in it. */
function isInherited(field: string, before: object, after: object): boolean {
  const [, name = '', index] = /^([^[]+)(?:\[(\d+)\])?$/.exec(field) ?? [];
  const [old, now] = [before, after].map((record) => (record as Readonly<Record<string, unknown>>)[name]);
  if (index === undefined) return old !== undefined && isDeepStrictEqual(old, now);
  const entry = Array.isArray(now) ? now[Number(index)] : undefined;
  return Array.isArray(old) && old.some((one) => isDeepStrictEqual(one, entry));
}
