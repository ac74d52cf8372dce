import type { Caller, SiteMode } from './event.ts';

export interface Account {
  account_id: string;
  name: string;
  /** Events per UTC month, before the grace margin. */
  monthly_allowance: number;
}

/** Kinds of block rules of DESIGN section 5; `ip` takes an address or a CIDR range. */
export const BLOCK_RULE_KINDS = ['ip', 'user_agent', 'country', 'event', 'property', 'distinct_id'] as const;
export interface BlockRule {
  kind: (typeof BLOCK_RULE_KINDS)[number];
  value: string;
  /** Name of the property compared, for kind `property`. */
  property: string | null;
}

/** How the browser tag behaves on a site. */
export interface TagSettings {
  /** Whether loading times and the like are measured (Core Web Vitals). */
  web_vitals: boolean;
  /** Whether nothing is measured before the visitor has agreed. */
  consent_required: boolean;
  /** Whether what happened before the visitor agreed is sent once they do. */
  consent_queue: boolean;
  /** Whether Do Not Track is a refusal. */
  respect_dnt: boolean;
  /** Whether Global Privacy Control keeps a visitor's events from advertising platforms. */
  respect_gpc: boolean;
  /** Whether the elements of pages are looked over, for event definitions to be made of. */
  inventory: boolean;
}

/** Those of a site that sets none; schemas/setting.avsc repeats them for records that were written without. */
export const TAG_DEFAULTS: TagSettings = {
  web_vitals: false,
  consent_required: false,
  consent_queue: true,
  respect_dnt: true,
  respect_gpc: true,
  inventory: true,
};

export interface Site {
  site_id: string;
  account_id: string;
  name: string;
  mode: SiteMode;
  business_category: string;
  /** ISO 3166-1 alpha-2; reads phone numbers written without a country code. */
  default_country: string | null;
  /** Event names that may stitch identities; null means the standard list. */
  identify_events: string[] | null;
  /** Names that browser keys may not send, as `purchase` where the shop's server reports it. */
  server_only_events: string[];
  clarity_project_id: string | null;
  gtm_container_id: string | null;
  domains: string[];
  /** The folder under which vendors' scripts are loaded as well, so that no list of names finds them; null: none. */
  loader_prefix: string | null;
  tag: TagSettings;
  block_rules: BlockRule[];
  /** Each a JSON object in the shape of the API. */
  event_definitions: string[];
}

export interface ApiKey {
  key_hash: string;
  shown_prefix: string;
  site_id: string;
  caller: Caller;
  label: string;
  /** Origins a browser may call from; empty means every origin. */
  allowed_origins: string[];
  created_at: number;
  expires_at: number | null;
  revoked_at: number | null;
  /** Requests in 10 seconds; null: as many as any key may. */
  rate_limit: number | null;
}

export interface Destination {
  site_id: string;
  name: string;
  enabled: boolean;
  settings: Record<string, string>;
  /** Sealed values; see infra/secrets. */
  secrets: Record<string, string>;
  /** Events received before are not sent unless they are replayed; null: whenever they came. */
  created_at?: number | null;
}

/** A role in a place: one site, one account with its sites, or the whole installation where both are null. */
export interface Grant {
  /** One of the roles of pipelines/settings/access.ts; another one permits nothing. */
  role: string;
  account_id: string | null;
  site_id: string | null;
}

/** A person who may sign in to the dashboard. */
export interface User {
  user_id: string;
  name: string;
  created_at: number;
  disabled_at: number | null;
  grants: Grant[];
  /** The scrypt hash, sealed; null: there is no sign-in by password. */
  password: string | null;
  /** Secret of the second factor, sealed; null: there is none. */
  totp: string | null;
  /** SHA-256 of each recovery code that is left, in lower-case hex. */
  recovery_codes: string[];
  /** SHA-256 of issuer and subject of each linked account of an OpenID provider. */
  oidc_subjects: string[];
  /** Sessions that began before are over; milliseconds since 1970 UTC. */
  sessions_from: number;
  /** The key of the user or the token that made it, where that manages users in a part of the installation only. */
  made_by?: string | null;
}

/** Who may change settings through the control service. */
export interface AdminToken {
  /** SHA-256 of the token in lower-case hex. */
  token_hash: string;
  shown_prefix: string;
  /** Recorded as `changed_by` with every change. */
  label: string;
  created_at: number;
  expires_at: number | null;
  revoked_at: number | null;
  /** What it may; null: as an owner of the whole installation. */
  grants?: Grant[] | null;
  /** The key of the user or the token that issued it; null: neither did, or it was issued before this was recorded. */
  issuer?: string | null;
}

/** What the operator wants of a replay. */
type ReplayWanted = 'running' | 'paused' | 'cancelled';

/** A command to send again what one destination has not taken. */
export interface Replay {
  replay_id: string;
  destination: string;
  /** Null: every site that has the destination. */
  site_id: string | null;
  source: 'events' | 'dead_letters';
  /** When the records were appended; milliseconds since 1970 UTC, the end exclusive. */
  from: number;
  to: number;
  /** Events per second at the most. */
  rate: number;
  dry_run: boolean;
  /** Also what is known as delivered, or waits on a lane. */
  force: boolean;
  wanted: ReplayWanted;
  created_at: number;
}

/** What a visitor can be shown. */
type EngageKind = 'survey' | 'promo' | 'form';

/** A survey, promo or form of a site. */
export interface EngageItem {
  site_id: string;
  kind: EngageKind;
  id: string;
  /** Counts from 1, by one with every change of what it says. */
  version: number;
  /** The definition as JSON; its shape is that of its kind in pipelines/engage. */
  definition: string;
}

export type SavedKind = 'question' | 'board';

/** A saved question of a site, or a board of them. */
export interface SavedItem {
  site_id: string;
  kind: SavedKind;
  id: string;
  /** Counts from 1, by one with every change of what it says. */
  version: number;
  /** Label of the admin token whose it is. */
  owner: string;
  /** JSON; its shape is that of its kind in pipelines/settings. */
  definition: string;
}

/** How far it is proven that a claimed domain is the site's. */
export interface DomainProof {
  site_id: string;
  /** In lower-case punycode. */
  domain: string;
  /** When its records were first found; null: it is not served. */
  verified_at: number | null;
  /** Since when its records are missing; null: they are there, or never were. */
  failing_since: number | null;
}

export type AuditAction = 'create' | 'change' | 'delete';

/** One change, appended together with the fact it changed; who and when are the record's own. */
export interface AuditEntry {
  /** Counts changes from 1. */
  seq: number;
  /** Record key of the fact that was changed. */
  setting_key: string;
  action: AuditAction;
  /** JSON of the fields that changed, without secrets; null for create. */
  before: string | null;
  /** JSON of the fields that changed, without secrets; null for delete. */
  after: string | null;
  /** Names of secrets that were set, replaced or removed. */
  secrets_changed: string[];
  /** Whose ring it is in; null: the installation's. */
  account_id?: string | null;
  /** Where in the ring; null: where its number says, as before accounts had rings. */
  slot?: number | null;
}

/** How many changes somebody has made of what they may make in a day, together with whoever goes back to them. */
export interface ChangesMade {
  /** Record key of the user or the token. */
  by: string;
  /** When the day began that is counted, in milliseconds since 1970 UTC. */
  since: number;
  count: number;
}

/** One fact of site.config; exactly one of the bodies is set. A body that is left out is written as null. */
export interface Setting {
  changed_at: number;
  changed_by: string;
  account: Account | null;
  site: Site | null;
  key: ApiKey | null;
  destination: Destination | null;
  admin_token?: AdminToken | null;
  replay?: Replay | null;
  engage?: EngageItem | null;
  domain_proof?: DomainProof | null;
  saved?: SavedItem | null;
  user?: User | null;
  audit?: AuditEntry | null;
  changes_made?: ChangesMade | null;
}
