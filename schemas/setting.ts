import { boolean, int, list, long, map, nullable, optional, record, string, symbols, type ValueOf } from './avro.ts';

const account = record('Account', 'Who pays for sites.', {
  account_id: string(),
  name: string(),
  monthly_allowance: long('Events per UTC month, before the grace margin.'),
});
export type Account = ValueOf<typeof account>;

/** `ip` takes an address or a CIDR range. */
export const BLOCK_RULE_KINDS = ['ip', 'user_agent', 'country', 'event', 'property', 'distinct_id'] as const;
const blockRule = record('BlockRule', 'What of a site is not accepted.', {
  kind: symbols('BlockRuleKind', BLOCK_RULE_KINDS),
  value: string(),
  property: nullable(string(), 'Name of the property compared, for kind property.'),
});
export type BlockRule = ValueOf<typeof blockRule>;

/** Those of a site that sets none. */
export const TAG_DEFAULTS = {
  web_vitals: false,
  consent_required: false,
  consent_queue: true,
  respect_dnt: true,
  respect_gpc: true,
  inventory: true,
};
const tagSettings = record('TagSettings', 'How the browser tag behaves on a site.', {
  web_vitals: boolean('Whether Core Web Vitals are measured.', TAG_DEFAULTS.web_vitals),
  consent_required: boolean('Whether nothing is measured before the visitor agrees.', TAG_DEFAULTS.consent_required),
  consent_queue: boolean('Whether what happened before that is sent once they do.', TAG_DEFAULTS.consent_queue),
  respect_dnt: boolean('Whether Do Not Track is a refusal.', TAG_DEFAULTS.respect_dnt),
  respect_gpc: boolean('Whether GPC keeps events from advertising platforms.', TAG_DEFAULTS.respect_gpc),
  inventory: boolean('Whether the elements of pages are looked over, for definitions.', TAG_DEFAULTS.inventory),
});
export type TagSettings = ValueOf<typeof tagSettings>;

/** Those of a site that sets none: pages are what was sent. */
export const PAGE_DEFAULTS: PageRules = {
  drop_trailing_slash: false,
  lower_case: false,
  drop_index_names: false,
  shorten_ids: false,
  hash_routes: false,
  parameters: [],
  rules: [],
};
const pageRules = record('PageRules', 'Which addresses are one page of a site.', {
  drop_trailing_slash: boolean('Whether /about/ is /about.', false),
  lower_case: boolean('Whether /About is /about.', false),
  drop_index_names: boolean('Whether /blog/index.html is /blog/.', false),
  shorten_ids: boolean('Whether numbers, UUIDs and tokens in a path are :id.', false),
  hash_routes: boolean('Whether a route in the fragment is part of the page, and another one a page view.', false),
  parameters: list(string(), 'Names of parameters that are part of the page.', []),
  rules: list(string(), 'Patterns of paths, of which the first that fits is the page.', []),
});
export type PageRules = ValueOf<typeof pageRules>;

const consentDefault = record('ConsentDefault', 'What counts where an event says nothing of consent.', {
  country: nullable(string(), 'ISO 3166-1 alpha-2, or EEA; null: every country that is not named.'),
  consent: symbols('DefaultConsent', ['granted', 'denied']),
});
export type ConsentDefault = ValueOf<typeof consentDefault>;

/** How exactly rows say where visitors are, and what they have of their addresses; the first is that of a site that sets none. */
export const VISITOR_PLACES = ['city', 'country', 'none'] as const;
export const VISITOR_ADDRESSES = ['whole', 'cut'] as const;

const site = record('Site', 'What events are of.', {
  site_id: string(),
  account_id: string(),
  name: string(),
  mode: symbols('Mode', ['online', 'offline'], 'Offline: nothing tells one visitor from another.', 'online'),
  business_category: string('For destinations.', 'other'),
  default_country: nullable(string(), 'ISO 3166-1 alpha-2; reads phone numbers written without a country code.'),
  identify_events: nullable(list(string()), 'Names that may stitch identities; null: the standard list.'),
  server_only_events: list(string(), "Names that browser keys may not send, as the shop's server reports them.", []),
  clarity_project_id: nullable(string()),
  gtm_container_id: nullable(string()),
  domains: list(string(), 'Claimed first-party domains.', []),
  loader_prefix: nullable(string(), "Folder for vendors' scripts as well, so that no list of names finds them."),
  block_rules: list(blockRule, 'An event that one of them is for is not accepted.', []),
  tag: { ...tagSettings, doc: 'How the browser tag behaves.', fallback: TAG_DEFAULTS },
  event_definitions: list(string(), 'Each a JSON object in the shape of the API.', []),
  consent_defaults: optional(list(consentDefault, 'By the country of the event, or else that of the site.', [])),
  event_days: optional(nullable(int(), 'Days that events are kept, where that is less than all are.')),
  outcome_days: optional(nullable(int(), 'Days that outcomes of deliveries and inventories are kept, likewise.')),
  time_zone: optional(nullable(string(), 'IANA name of the zone whose days are counted; null: UTC.')),
  week_start: optional(nullable(string(), 'The day on which weeks begin: monday, saturday or sunday; null: monday.')),
  person_days: optional(nullable(int(), 'Days after their last event that persons are kept; null: until erased.')),
  visitor_places: optional(
    nullable(string(), 'How exactly rows say where visitors are: city, country or none; null: city.'),
  ),
  visitor_addresses: optional(nullable(string(), 'What of their addresses rows have: whole or cut; null: whole.')),
  pages: optional({ ...pageRules, doc: 'Which addresses are one page.', fallback: PAGE_DEFAULTS }),
  currency: optional(nullable(string(), 'The currency that revenue is told in; null: those that were sent.')),
  embed_origins: optional(list(string(), 'Origins whose pages may have shared links in a frame.', [])),
});
export type Site = ValueOf<typeof site>;

const apiKey = record('ApiKey', 'What events of a site are sent with.', {
  key_hash: string('SHA-256 of the key in lower-case hex.'),
  shown_prefix: string(),
  site_id: string(),
  caller: symbols('KeyCaller', ['browser', 'server']),
  label: string('What it is for.', ''),
  allowed_origins: list(string(), 'Origins a browser may call from; empty: every origin.', []),
  created_at: long(),
  expires_at: nullable(long()),
  revoked_at: nullable(long()),
  rate_limit: nullable(int(), 'Requests in 10 seconds; null: as many as any key may.'),
  public_key: optional(
    nullable(string(), 'The whole key of a browser, which is in every page; null: of a server, or issued before.'),
  ),
});
export type ApiKey = ValueOf<typeof apiKey>;

const destinationRule = record('DestinationRule', 'What becomes of some events before they are sent.', {
  events: list(string(), 'Names, in which * is any text; empty: every event.'),
  send: boolean('Whether they are sent.'),
  rename_to: nullable(string(), 'The name that they are sent under; null: their own.'),
  drop_properties: list(string(), 'Paths of properties that are not sent, in which * is any text.'),
});
export type DestinationRule = ValueOf<typeof destinationRule>;

const destination = record('Destination', 'Where events of a site are sent.', {
  site_id: string(),
  name: string("The adapter's name: meta, webhook, ..."),
  enabled: boolean('Whether events are sent.', true),
  settings: map(string(), 'By the names of the adapter.', {}),
  secrets: map(string(), 'Sealed: KEYID.NONCE.CIPHERTEXT, base64url.', {}),
  created_at: optional(
    nullable(long(), 'Events received before are not sent unless they are replayed; null: all are.'),
  ),
  retry_at: optional(
    nullable(long(), 'When somebody last asked for what waits to be tried again; any change has it tried.'),
  ),
  rules: optional(
    list(destinationRule, 'The first one that is for an event decides; where none is, it is sent as it is.', []),
  ),
});
export type Destination = ValueOf<typeof destination>;

const GRANT = 'A role in a place: one site, one account with its sites, or all where both are null.';
const grant = record('Grant', GRANT, {
  role: string('One of the roles of pipelines/settings/access.ts; another one permits nothing.'),
  account_id: nullable(string()),
  site_id: nullable(string()),
});
export type Grant = ValueOf<typeof grant>;

const adminToken = record('AdminToken', 'Who may change settings through the control service.', {
  token_hash: string('SHA-256 of the token in lower-case hex.'),
  shown_prefix: string(),
  label: string('Recorded as changed_by with every change.'),
  created_at: long(),
  expires_at: nullable(long()),
  revoked_at: nullable(long()),
  grants: optional(nullable(list(grant), 'What it may; null: as an owner of the whole installation.')),
  issuer: optional(nullable(string(), 'Key of the user or token that issued it; null: neither did, or not recorded.')),
});
export type AdminToken = ValueOf<typeof adminToken>;

/** How far it is stands on delivery.replays. */
const replay = record('Replay', 'A command to send again what one destination has not taken.', {
  replay_id: string(),
  destination: string(),
  site_id: nullable(string(), 'Null: every site that has the destination.'),
  source: symbols('ReplaySource', ['events', 'dead_letters']),
  from: long('When the records were appended; milliseconds since 1970 UTC, inclusive.'),
  to: long('Exclusive.'),
  rate: int('Events per second at the most.'),
  dry_run: boolean('Only counts.'),
  force: boolean('Also what is known as delivered, or waits on a retry topic.'),
  wanted: symbols('ReplayWanted', ['running', 'paused', 'cancelled']),
  created_at: long(),
});
export type Replay = ValueOf<typeof replay>;

const engageItem = record('EngageItem', 'A survey, promo or form of a site.', {
  site_id: string(),
  kind: symbols('EngageKind', ['survey', 'promo', 'form']),
  id: string(),
  version: int('Counts from 1, by one with every change of what it says.'),
  definition: string('JSON; its shape is that of its kind in pipelines/engage.'),
});
export type EngageItem = ValueOf<typeof engageItem>;

const domainProof = record('DomainProof', "How far it is proven that a claimed domain is the site's.", {
  site_id: string(),
  domain: string('In lower-case punycode.'),
  verified_at: nullable(long(), 'When its records were first found; null: it is not served.'),
  failing_since: nullable(long(), 'Since when its records are missing; null: they are there, or never were.'),
});
export type DomainProof = ValueOf<typeof domainProof>;

const savedKind = symbols('SavedKind', ['question', 'board']);
const savedItem = record('SavedItem', 'A saved question of a site, or a board of them.', {
  site_id: string(),
  kind: savedKind,
  id: string(),
  version: int('Counts from 1, by one with every change of what it says.'),
  owner: string('Label of the admin token whose it is.'),
  definition: string('JSON; its shape is that of its kind in pipelines/settings.'),
});
export type SavedItem = ValueOf<typeof savedItem>;
export type SavedKind = SavedItem['kind'];

const shareLink = record('ShareLink', 'A link by which whoever has it reads one board or saved question.', {
  site_id: string(),
  link_id: string('Stands in its path; it opens nothing by itself.'),
  secret_hash: string('SHA-256 of what stands in its fragment, in lower-case hex.'),
  kind: savedKind,
  item_id: string('The board or the question.'),
  name: string('What it is for.'),
  last_days: nullable(int(), 'Days up to now that it shows; null: the time that each question was saved with.'),
  may_embed: boolean('Whether pages of the embed_origins of its site may have it in a frame.'),
  created_at: long('Milliseconds since 1970 UTC.'),
  created_by: string(),
  expires_at: long(),
  revoked_at: nullable(long()),
});
export type ShareLink = ValueOf<typeof shareLink>;

const alert = record('Alert', 'What is watched of a site, and who is told.', {
  site_id: string(),
  id: string(),
  version: int('Counts from 1, by one with every change of what it says.'),
  definition: string('JSON; its shape is that of pipelines/alerts, without addresses.'),
  secrets: map(string(), 'Addresses of channels and what signs for them, sealed, by channel: ID and ID/secret.', {}),
  created_at: long('Milliseconds since 1970 UTC.'),
});
export type AlertSetting = ValueOf<typeof alert>;

const cohort = record('Cohort', 'A saved group of persons of a site, by conditions or by a list.', {
  site_id: string(),
  id: string(),
  version: int('Counts from 1, by one with every change of what it says.'),
  definition: string('JSON; its shape is that of pipelines/analytics/cohorts.'),
  list: nullable(string(), 'Names the list in ClickHouse that has its members; null: it is by conditions.'),
});
export type CohortSetting = ValueOf<typeof cohort>;

const user = record('User', 'A person who may sign in to the dashboard.', {
  user_id: string(),
  name: string(),
  created_at: long(),
  disabled_at: nullable(long()),
  grants: list(grant, 'What they may.', []),
  password: nullable(string(), 'The scrypt hash, sealed; null: there is no sign-in by password.'),
  totp: nullable(string(), 'Secret of the second factor, sealed; null: there is none.'),
  recovery_codes: list(string(), 'SHA-256 of each recovery code that is left, in lower-case hex.', []),
  oidc_subjects: list(string(), 'SHA-256 of issuer and subject of each linked account of an OpenID provider.', []),
  sessions_from: long('Sessions that began before are over; milliseconds since 1970 UTC.', 0),
  made_by: optional(nullable(string(), 'Key of the user or token that made it, where that manages a part only.')),
});
export type User = ValueOf<typeof user>;

/** Its key is a slot of the ring of its account, or of the installation's, so that compaction keeps the newest of each. */
const auditEntry = record('AuditEntry', 'One change, appended together with the fact it changed.', {
  seq: long('Counts changes from 1.'),
  setting_key: string('Record key of the fact that was changed.'),
  action: symbols('AuditAction', ['create', 'change', 'delete']),
  before: nullable(string(), 'JSON of the fields that changed, without secrets; null for create.'),
  after: nullable(string(), 'JSON of the fields that changed, without secrets; null for delete.'),
  secrets_changed: list(string(), 'Names of secrets that were set, replaced or removed.', []),
  account_id: optional(nullable(string(), "Whose ring it is in; null: the installation's.")),
  slot: optional(nullable(int(), 'Where in the ring; null: seq modulo 10000, as before accounts had rings.')),
});
export type AuditEntry = ValueOf<typeof auditEntry>;
export type AuditAction = AuditEntry['action'];

const changesMade = record('ChangesMade', 'How many changes somebody, and whoever goes back to them, made in a day.', {
  by: string('Record key of the user or the token.'),
  since: long('When the day began that is counted, in milliseconds since 1970 UTC.'),
  count: int(),
});
export type ChangesMade = ValueOf<typeof changesMade>;

/**
 * The record key is the fact's address: account/ID, site/ID, key/HASH, destination/SITE/NAME, admin_token/HASH, replay/ID,
 * engage/SITE/KIND/ID, domain_proof/SITE/DOMAIN, saved/SITE/KIND/ID, share/SITE/ID, alert/SITE/ID, cohort/SITE/ID, user/ID, audit/SLOT. A body that is left out is null.
 */
export const setting = record('svc.settings.Setting', 'One fact of site.config; exactly one of the bodies is set.', {
  changed_at: long('Milliseconds since 1970 UTC.'),
  changed_by: string(),
  account: nullable(account),
  site: nullable(site),
  key: nullable(apiKey),
  destination: nullable(destination),
  admin_token: optional(nullable(adminToken)),
  replay: optional(nullable(replay)),
  engage: optional(nullable(engageItem)),
  domain_proof: optional(nullable(domainProof)),
  saved: optional(nullable(savedItem)),
  share: optional(nullable(shareLink)),
  alert: optional(nullable(alert)),
  cohort: optional(nullable(cohort)),
  user: optional(nullable(user)),
  audit: optional(nullable(auditEntry)),
  changes_made: optional(nullable(changesMade)),
});
export type Setting = ValueOf<typeof setting>;
