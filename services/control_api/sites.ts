// Schemas of accounts, their sites, domains and keys, and of what may be done with these.

import { type Static, Type } from 'typebox';
import { MONTH_PATTERN } from '#pipelines/quota/limits.ts';
import { ROLES } from '#pipelines/settings/access.ts';
import { WEEK_STARTS } from '#pipelines/settings/calendar.ts';
import { eventDefinitionSchema } from '#pipelines/settings/event_definitions.ts';
import {
  PAGE_PARAMETER_PATTERN,
  PAGE_PARAMETERS_MAX,
  PAGE_RULE_CHARACTERS_MAX,
  PAGE_RULE_PATTERN,
  PAGE_RULES_MAX,
} from '#pipelines/settings/page_rules.ts';
import {
  BUSINESS_CATEGORIES,
  KEPT_DAYS_MAX,
  KEY_RATE_LIMIT_MAX,
  PERSON_DAYS_MIN,
} from '#pipelines/settings/validate.ts';
import { BLOCK_RULE_KINDS, VISITOR_ADDRESSES, VISITOR_PLACES } from '#schemas/setting.ts';
import {
  allOptional,
  closed,
  countField,
  hashField,
  idField,
  labelField,
  metaFields,
  nameField,
  nullable,
  pageFields,
  refusedAs,
  timeField,
} from './fields.ts';
import { userIdField } from './users.ts';

const pagesShape = closed({
  drop_trailing_slash: Type.Boolean({ description: '/about/ is /about' }),
  lower_case: Type.Boolean({ description: '/About is /about' }),
  drop_index_names: Type.Boolean({ description: '/blog/index.html is /blog/; of default.aspx and the like too' }),
  shorten_ids: Type.Boolean({ description: 'Numbers, UUIDs, long hex and tokens in a path are :id' }),
  hash_routes: Type.Boolean({
    description: 'A route in the fragment, #/ or #!/, is part of the page; the tag counts another one as a page view',
  }),
  parameters: Type.Array(Type.String({ pattern: PAGE_PARAMETER_PATTERN, ...refusedAs('page_parameter_malformed') }), {
    description: 'Parameters that are part of the page',
    maxItems: PAGE_PARAMETERS_MAX,
    ...refusedAs('too_many'),
  }),
  rules: Type.Array(
    Type.String({
      description: 'A path: :name is one part of it, * any text within a part, and as the last part all that follows',
      pattern: PAGE_RULE_PATTERN,
      maxLength: PAGE_RULE_CHARACTERS_MAX,
      ...refusedAs('page_rule_malformed'),
    }),
    { description: 'The first that fits is the page', maxItems: PAGE_RULES_MAX, ...refusedAs('too_many') },
  ),
});

/** Members that are left out stay as they are. */
const pagesChange = closed(allOptional(pagesShape.properties), {
  description:
    'Which addresses are one page, in every question and for past events too; members that are left out stay as they are',
});

export const PAGES_SHOWN = 50;
const PAGES_SHOWN_MAX = 500;
export const pagePreviewBody = closed({
  pages: Type.Optional(pagesChange),
  limit: Type.Optional(
    Type.Integer({ description: 'How many pages', minimum: 1, maximum: PAGES_SHOWN_MAX, default: PAGES_SHOWN }),
  ),
});

const views = countField('Views of it');
export const pagePreviewAnswer = Type.Object({
  from: timeField('Since when page views are looked at'),
  to: timeField('Until when'),
  views: countField('All page views'),
  pages_before: countField('Pages without any rules'),
  pages_after: countField('Pages by the rules'),
  items: Type.Array(
    Type.Object({
      page: Type.String({ description: 'As it is counted by the rules' }),
      views,
      is_changed: Type.Boolean({ description: 'Whether it is another than what was sent' }),
      source_pages: countField('How many pages without rules become it'),
      sources: Type.Array(Type.Object({ page: Type.String(), views }), { description: 'Those of most views' }),
    }),
    {
      description:
        'Pages that are changed first, then those of most views; those of fewer than five persons only for who may see persons',
    },
  ),
});
export type PagePreview = Static<typeof pagePreviewAnswer>;

const { id, name, trigger, ...withDefaults } = eventDefinitionSchema.properties;

/** An event definition as it is written: what has a default may be left out. */
export const definitionInput = closed(
  { id, name, trigger, ...allOptional(withDefaults) },
  refusedAs('event_definition_malformed'),
);

const blockRule = closed(
  {
    kind: Type.Enum([...BLOCK_RULE_KINDS], { description: 'What is compared; ip takes an address or a CIDR range' }),
    value: Type.String({ maxLength: 500 }),
    property: Type.Optional(
      nullable(Type.String({ maxLength: 200 }), { description: 'Name of the property, for kind property only' }),
    ),
  },
  refusedAs('block_rule_malformed'),
);

const tagShape = closed({
  web_vitals: Type.Boolean({ description: 'Whether loading times and the like are measured (Core Web Vitals)' }),
  consent_required: Type.Boolean({ description: 'Whether nothing is measured before the visitor has agreed' }),
  consent_queue: Type.Boolean({ description: 'Whether what happened before is sent once the visitor agrees' }),
  respect_dnt: Type.Boolean({ description: 'Whether Do Not Track is a refusal' }),
  respect_gpc: Type.Boolean({
    description: "Whether Global Privacy Control keeps a visitor's events from advertising platforms",
  }),
  inventory: Type.Boolean({ description: 'Whether the elements of pages are looked over' }),
});

const days = Type.Integer({ minimum: 1, maximum: KEPT_DAYS_MAX });

const settable = {
  account_id: idField('The account whose allowance it uses'),
  name: nameField('Name shown to people'),
  mode: Type.Enum(['online', 'offline'], {
    description: 'offline: anonymous only, the edge strips identifiers',
    ...refusedAs('mode_unknown'),
  }),
  business_category: Type.Enum([...BUSINESS_CATEGORIES], {
    description: 'Informational only',
    ...refusedAs('category_unknown'),
  }),
  default_country: nullable(Type.String({ pattern: '^[A-Z]{2}$' }), {
    description: 'ISO 3166-1 alpha-2; reads phone numbers written without a country code',
    ...refusedAs('country_unknown'),
  }),
  identify_events: nullable(Type.Array(Type.String({ minLength: 1, maxLength: 200 }), { maxItems: 200 }), {
    description: 'Events that may stitch identities; null means the standard list',
    ...refusedAs('event_name_malformed'),
  }),
  server_only_events: Type.Array(Type.String({ minLength: 1, maxLength: 200 }), {
    description: 'Events that browser keys may not send; case and separators do not count',
    maxItems: 200,
    ...refusedAs('event_name_malformed'),
  }),
  clarity_project_id: nullable(Type.String({ pattern: '^[a-z0-9]{4,20}$' }), refusedAs('clarity_id_malformed')),
  gtm_container_id: nullable(Type.String({ pattern: '^GTM-[A-Z0-9]{4,10}$' }), refusedAs('gtm_id_malformed')),
  domains: Type.Array(Type.String({ minLength: 1, maxLength: 253, ...refusedAs('domain_malformed') }), {
    description: 'Claimed first-party domains; a domain belongs to the one site that proves it',
    maxItems: 100,
    ...refusedAs('too_many'),
  }),
  tag: closed(allOptional(tagShape.properties), {
    description: 'How the browser tag behaves; members that are left out stay as they are',
  }),
  pages: pagesChange,
  block_rules: Type.Array(blockRule, { maxItems: 500, ...refusedAs('too_many') }),
  event_definitions: Type.Array(definitionInput, { maxItems: 200, ...refusedAs('too_many') }),
  consent_defaults: Type.Array(
    closed({
      country: nullable(Type.String({ pattern: '^([A-Z]{2}|EEA)$' }), {
        description: 'ISO 3166-1 alpha-2, or EEA; null: every country that is not named',
      }),
      consent: Type.Enum(['granted', 'denied']),
    }),
    {
      description:
        "What counts where an event says nothing of consent, by its country or else the site's; a destination's own setting may still refuse",
      maxItems: 250,
      ...refusedAs('consent_default_malformed'),
    },
  ),
  event_days: nullable(days, {
    description: 'Days for which events are kept, where that is less than the installation keeps them; null: as long',
    ...refusedAs('days_malformed'),
  }),
  outcome_days: nullable(days, {
    description: 'Days for which outcomes of deliveries, inventories and copies are kept, likewise',
    ...refusedAs('days_malformed'),
  }),
  time_zone: nullable(Type.String({ maxLength: 60 }), {
    description: 'IANA name of the zone whose days questions count that name none; null: UTC',
    ...refusedAs('time_zone_unknown'),
  }),
  week_start: nullable(Type.Enum([...WEEK_STARTS]), {
    description: 'The day on which weeks begin; null: monday',
    ...refusedAs('week_start_unknown'),
  }),
  person_days: nullable(Type.Integer({ minimum: PERSON_DAYS_MIN, maximum: KEPT_DAYS_MAX }), {
    description:
      'Days after their last event for which it is kept who a person is: their identifiers, and which visitors they are; null: until they are erased',
    ...refusedAs('days_malformed'),
  }),
  visitor_places: nullable(Type.Enum([...VISITOR_PLACES]), {
    description: 'How exactly rows say where visitors are, for events from now on; null: city',
    ...refusedAs('visitor_places_unknown'),
  }),
  visitor_addresses: nullable(Type.Enum([...VISITOR_ADDRESSES]), {
    description: 'What of their addresses rows have; cut: the first three of four numbers, or 48 bits; null: whole',
    ...refusedAs('visitor_addresses_unknown'),
  }),
  currency: nullable(Type.String({ maxLength: 3 }), {
    description:
      'The currency that `revenue` is in where a question names none, by the rates that are loaded; null: those that were sent',
    ...refusedAs('currency_malformed'),
  }),
  embed_origins: Type.Array(Type.String({ minLength: 1, maxLength: 300, ...refusedAs('origin_malformed') }), {
    description:
      'Origins whose pages may have shared links in a frame, where a link allows it; `https://*.example.com` means every name below',
    maxItems: 20,
    ...refusedAs('too_many'),
  }),
};

const siteId = idField('Chosen at creation, for good');
const { account_id, ...defaulted } = settable;

/** Body of a creation. */
export const newSite = closed({ site_id: siteId, account_id, ...allOptional(defaulted) });
const accessKind = Type.Enum(['grants', 'tokens', 'keys', 'analysts']);
export type SiteAccessKind = Static<typeof accessKind>;

/** Body of a change: the fields that are given take the place of what was there. */
export const siteChange = closed({
  ...allOptional(settable),
  end_access: Type.Optional(
    Type.Array(accessKind, {
      description:
        'Ends what was given in the site itself, which else goes on working in another account, as far as who asks may: roles of users, admin tokens, ingest keys, users of ClickHouse',
      uniqueItems: true,
    }),
  ),
});
export type SiteChange = Static<typeof siteChange>;

export const siteParams = closed({ site_id: siteId });
export const definitionParams = closed({ site_id: siteId, definition_id: idField('Id of the event definition') });

export const siteShape = Type.Object({
  site_id: siteId,
  ...settable,
  loader_prefix: nullable(Type.String(), {
    description: "A folder under which the site's domains have vendors' scripts and collectors as well",
  }),
  tag: tagShape,
  pages: pagesShape,
  block_rules: Type.Array(Type.Object({ ...blockRule.properties, property: nullable(Type.String()) })),
  event_definitions: Type.Array(eventDefinitionSchema),
  ...metaFields,
});
export type SiteItem = Static<typeof siteShape>;

const siteAccessShape = Type.Object({
  grants: Type.Array(Type.Object({ user_id: userIdField, role: Type.Enum([...ROLES]) }), {
    description: 'Users with a role in the site itself',
  }),
  tokens: Type.Array(Type.Object({ token_hash: hashField('The token'), label: Type.String() }), {
    description: 'Admin tokens that may something in the site itself',
  }),
  keys: Type.Array(Type.Object({ key_hash: hashField('The key'), shown_prefix: Type.String(), label: Type.String() }), {
    description: 'Ingest keys',
  }),
});
export type SiteAccess = Static<typeof siteAccessShape>;

const stillWorksShape = Type.Object(
  {
    ...siteAccessShape.properties,
    analysts: nullable(Type.Array(Type.Object({ analyst_id: Type.String() })), {
      description: 'Users of ClickHouse that read the site; null: it did not answer, and some may be left',
    }),
  },
  { description: 'What was given in the site itself and still works: where it moves, or access is ended' },
);
export type StillWorks = Static<typeof stillWorksShape>;
export const changedSiteShape = Type.Object({
  ...siteShape.properties,
  still_works: Type.Optional(stillWorksShape),
});
export type ChangedSite = Static<typeof changedSiteShape>;

const dnsRecord = (description: string) => Type.Object({ name: Type.String(), value: Type.String() }, { description });

export const domainParams = closed({
  ...siteParams.properties,
  domain: Type.String({ minLength: 1, maxLength: 253, ...refusedAs('domain_malformed') }),
});

/** A claimed domain, and how far it is proven that it is the site's. */
export const domainShape = Type.Object({
  domain: Type.String({ description: 'In lower-case punycode' }),
  site_id: idField('The site that claimed it'),
  state: Type.Enum(['pending', 'verified', 'failing', 'lapsed'], {
    description:
      'Only verified and failing domains are served. failing: its record is gone since failing_since; lapsed: for longer than the grace',
  }),
  verified_at: nullable(timeField('When its record was first found')),
  failing_since: nullable(timeField('Since when its record is gone')),
  lapses_at: nullable(timeField('When a failing domain is served no more')),
  records: Type.Object(
    {
      txt: dnsRecord('A TXT record'),
      cname: nullable(dnsRecord('A CNAME record, which brings the traffic as well'), {
        description: 'Null where CONTROL_DOMAIN_CNAME_TARGET is not set',
      }),
    },
    { description: 'Either of these records proves it; it has to stay' },
  ),
});
export type DomainItem = Static<typeof domainShape>;

const ALLOWANCE_MAX = 1_000_000_000_000;

const accountId = idField('Chosen at creation, for good');
const accountName = nameField('Name shown to people');
const monthlyAllowance = Type.Integer({
  description: 'Events per UTC month, before the grace of 20%',
  minimum: 0,
  maximum: ALLOWANCE_MAX,
  ...refusedAs('allowance_malformed'),
});

export const accountShape = Type.Object({
  account_id: accountId,
  name: accountName,
  monthly_allowance: monthlyAllowance,
  used_this_month: nullable(countField('Events settled in this UTC month'), {
    description: 'Events settled in this UTC month, duplicates not counted; null where that is not known',
  }),
  ...metaFields,
});
export type AccountItem = Static<typeof accountShape>;

export const accountParams = closed({ account_id: accountId });
export const newAccount = closed({
  account_id: accountId,
  name: Type.Optional(accountName),
  monthly_allowance: monthlyAllowance,
});
export const accountChange = closed(allOptional({ name: accountName, monthly_allowance: monthlyAllowance }));

const month = (description: string) => Type.String({ description, pattern: MONTH_PATTERN.source });

export const usageQuery = closed({
  month: Type.Optional(month('Which month (UTC), as YYYY-MM; without it, the month that is now')),
});

export const usageShape = Type.Object({
  account_id: idField('The account'),
  month: month('UTC, as YYYY-MM'),
  events: countField('Events of all days below'),
  days: Type.Array(
    Type.Object({
      day: Type.String({ description: 'UTC, as YYYY-MM-DD' }),
      events: countField('Events that arrived on this day, duplicates not counted'),
      sites: Type.Record(Type.String(), Type.Integer(), {
        description: 'Of these, by site; a site of which none came is left out',
      }),
    }),
    { description: 'Every day of the month up to now' },
  ),
  as_of: timeField('When ClickHouse was queried'),
});
export type UsageAnswer = Static<typeof usageShape>;

export const installationShape = Type.Object({
  edge_url: nullable(Type.String({ description: 'An origin, such as https://events.example' }), {
    description:
      'Where browsers reach the edge, on sites without a domain of their own; null where it is not configured',
  }),
});
export type Installation = Static<typeof installationShape>;

export const splitParams = closed({
  site_id: idField('The site'),
  person_id: Type.String({ description: 'The person that two people were taken for', minLength: 1, maxLength: 200 }),
});

export const splitInput = closed({
  distinct_ids: Type.Array(Type.String({ minLength: 1, maxLength: 200 }), {
    description: 'Distinct ids of the one who is not the person; the oldest of all stays',
    minItems: 1,
    maxItems: 100,
  }),
  identifiers: Type.Optional(
    Type.Array(
      closed({
        identifier: Type.Enum(['email', 'phone', 'external_id']),
        sha256: Type.String({ description: 'As platforms get it', pattern: '^[0-9a-f]{64}$' }),
      }),
      { description: 'What both have said and goes with these ids; all else that both have stays', maxItems: 100 },
    ),
  ),
  dry_run: Type.Optional(Type.Boolean({ description: 'True: nothing is changed, and said what would be' })),
});
export type SplitInput = Static<typeof splitInput>;

export const splitShape = Type.Object({
  person_id: Type.String({ description: 'Who stays' }),
  new_person_id: Type.String({ description: 'Who was taken out' }),
  moved: Type.Integer({ description: 'How many distinct ids that have said something of themselves are moved' }),
  stayed: Type.Integer({ description: 'How many stay' }),
  shared_identifiers: Type.Integer({ description: 'Identifiers that both had; each is one side’s from now on' }),
  rows: Type.Integer({ description: 'Rows that have the other person so far' }),
  is_done: Type.Boolean({ description: 'False: it was a dry run' }),
});
export type SplitAnswer = Static<typeof splitShape>;

const DAY_MS = 86_400_000;
export const OVERLAP_MS = DAY_MS;

const keyLabel = labelField('What the key is for');
const origins = Type.Array(Type.String({ minLength: 1, maxLength: 300, ...refusedAs('origin_malformed') }), {
  description:
    'Origins a browser may call from, each as https://shop.example or https://*.shop.example for every name below it; empty means every origin',
  maxItems: 100,
  ...refusedAs('too_many'),
});
const expiresAt = nullable(timeField('When it stops working'), refusedAs('expiry_malformed'));
const rateLimit = nullable(
  Type.Integer({ description: 'Requests in 10 seconds', minimum: 1, maximum: KEY_RATE_LIMIT_MAX }),
  { description: 'Requests in 10 seconds; null: as many as any key may', ...refusedAs('rate_limit_malformed') },
);
const keyCaller = Type.Enum(['browser', 'server'], {
  description: 'browser: public, checked against its origins; server: secret, refused from browsers',
  ...refusedAs('caller_unknown'),
});
const keyHash = hashField('SHA-256 of the key');

export const keyQuery = closed({
  site_id: Type.Optional(idField('Only keys of this site')),
  shown_prefix: Type.Optional(Type.String({ description: 'Only keys that are shown so', maxLength: 100 })),
  ...pageFields,
});
export const keyChange = closed(
  allOptional({ label: keyLabel, allowed_origins: origins, expires_at: expiresAt, rate_limit: rateLimit }),
);
export const newKey = closed({
  site_id: idField('The site whose events it may send'),
  caller: keyCaller,
  ...keyChange.properties,
});
export const keyRotation = closed({
  overlap_ms: Type.Optional(
    Type.Integer({
      description: 'How long the old key goes on working; 0 revokes it at once',
      minimum: 0,
      maximum: 90 * DAY_MS,
      default: OVERLAP_MS,
      ...refusedAs('overlap_malformed'),
    }),
  ),
  expires_at: Type.Optional(expiresAt),
});
export const keyParams = closed({ key_hash: keyHash });

export const keyShape = Type.Object({
  key_hash: keyHash,
  shown_prefix: Type.String({ description: 'The first characters of the key' }),
  site_id: idField('The site whose events it may send'),
  caller: keyCaller,
  label: keyLabel,
  allowed_origins: origins,
  created_at: timeField('When it was issued'),
  expires_at: expiresAt,
  revoked_at: nullable(timeField('When it was revoked')),
  rate_limit: rateLimit,
  public_key: nullable(Type.String(), {
    description: 'The whole key of a browser; null: of a server, or issued before 0.3.0',
  }),
  last_used_at: nullable(timeField('When it was last used, to the minute; null where that is not known')),
  state: Type.Enum(['active', 'expired', 'revoked']),
  ...metaFields,
});
export type KeyItem = Static<typeof keyShape>;

const keySecret = Type.String({ description: 'The whole key: one of a server is shown this once and stored nowhere' });
export const issuedKeyShape = Type.Object({ secret: keySecret, key: keyShape });
export type IssuedKeyItem = Static<typeof issuedKeyShape>;
export const rotatedKeyShape = Type.Object({ secret: keySecret, key: keyShape, previous: keyShape });
export type RotatedKeyItem = Static<typeof rotatedKeyShape>;
