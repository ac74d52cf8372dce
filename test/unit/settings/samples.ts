import {
  type Account,
  type ApiKey,
  type Destination,
  type DomainProof,
  type Setting,
  type Site,
  TAG_DEFAULTS,
} from '#schemas/setting.ts';

export const NOW_MS = Date.UTC(2026, 10, 21, 12, 0, 0);

export function account(changes: Partial<Account> = {}): Account {
  return { account_id: 'acme', name: 'Acme', monthly_allowance: 1000, ...changes };
}

export function site(changes: Partial<Site> = {}): Site {
  return {
    site_id: 'shop',
    account_id: 'acme',
    name: 'Shop',
    mode: 'online',
    business_category: 'other',
    default_country: null,
    identify_events: null,
    server_only_events: [],
    clarity_project_id: null,
    gtm_container_id: null,
    tag: TAG_DEFAULTS,
    domains: [],
    loader_prefix: null,
    block_rules: [],
    event_definitions: [],
    ...changes,
  };
}

export function apiKey(changes: Partial<ApiKey> = {}): ApiKey {
  return {
    key_hash: 'a'.repeat(64),
    shown_prefix: 'svc_pk_AbCd',
    site_id: 'shop',
    caller: 'browser',
    label: 'web',
    allowed_origins: [],
    created_at: NOW_MS,
    expires_at: null,
    revoked_at: null,
    rate_limit: null,
    ...changes,
  };
}

export function destination(changes: Partial<Destination> = {}): Destination {
  return { site_id: 'shop', name: 'meta', enabled: true, settings: {}, secrets: {}, ...changes };
}

/** The proof of a domain that is verified. */
export function domainProof(domain: string, changes: Partial<DomainProof> = {}): DomainProof {
  return { site_id: 'shop', domain, verified_at: NOW_MS, failing_since: null, ...changes };
}

/** A setting around exactly the bodies given. */
export function setting(bodies: Partial<Omit<Setting, 'changed_at' | 'changed_by'>>): Setting {
  return {
    changed_at: NOW_MS,
    changed_by: 'test',
    account: null,
    site: null,
    key: null,
    destination: null,
    ...bodies,
  };
}
