import { isSupportedCountry } from 'libphonenumber-js/max';
import type { Site } from '#schemas/setting.ts';
import { blockRuleProblems, blockRuleText } from './block_rules.ts';
import { isClaimable } from './claimable_domain.ts';
import { parseEventDefinition } from './event_definitions.ts';
import { newProblems } from './inherited.ts';
import { listProblems, type Problem, problem, unless } from './problem.ts';
import type { SettingsTable } from './table.ts';
import { isEventName } from './text_rules.ts';
import { idProblems, nameProblems, personalProblems } from './validate.ts';
import { canonicalDomain } from './web_names.ts';

/** The categories of SPEC 2.4: informational, capture behaves the same for each. */
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
    ...eventNameProblems(site.identify_events ?? [], 'identify_events'),
    ...eventNameProblems(site.server_only_events, 'server_only_events'),
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
  ];
}

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
