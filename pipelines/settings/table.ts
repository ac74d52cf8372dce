// The settings in memory, as records of site.config make them.

import { kindOfDestination } from '#pipelines/delivery/destination_id.ts';
import type {
  Account,
  AdminToken,
  AlertSetting,
  ApiKey,
  AuditEntry,
  CohortSetting,
  Destination,
  DomainProof,
  EngageItem,
  Replay,
  SavedItem,
  SavedKind,
  Setting,
  ShareLink,
  Site,
  User,
} from '#schemas/setting.ts';
import { canonicalDomain, provenDomains } from './domains.ts';
import { ID_PATTERN } from './problems.ts';

/** Why a record was left out of the table; the record changes nothing. */
export type ApplyResult =
  | { ok: true }
  | { ok: false; code: 'setting_key_malformed' | 'setting_body_malformed' | 'setting_key_mismatch'; recordKey: string };

/**
 * The settings as of the last applied record. What it hands out is shared and must not be changed. Look-ups are one or
 * two map reads and allocate nothing; the lists are sorted copies and not for hot paths.
 */
export interface SettingsTable {
  /** Grows by one with every record that changed the table: caches of derived values compare it. */
  readonly version: number;
  /** Takes one record of site.config; a null setting (a tombstone) removes the fact. */
  apply(recordKey: string, setting: Setting | null): ApplyResult;
  keyByHash(keyHash: string): ApiKey | undefined;
  site(siteId: string): Site | undefined;
  account(accountId: string): Account | undefined;
  accountOfSite(siteId: string): Account | undefined;
  /** Those of a kind, by site and then by id. A live view: it may be kept and follows later changes; its lists never change. */
  destinationsOfKind(kind: string): ReadonlyMap<string, readonly Destination[]>;
  /** @param name its id, which for the first of a kind is the kind. */
  destination(siteId: string, name: string): Destination | undefined;
  /**
   * The one site that claims the domain and has proven that it is its own, which is served there: exact match, lower-case
   * punycode.
   */
  siteServedAt(domain: string): Site | undefined;
  /** How far a site has proven its claims, by domain. */
  domainProofs(siteId: string): ReadonlyMap<string, DomainProof>;
  /** The sites whose ga4 destinations have this measurement id. */
  sitesByMeasurementId(measurementId: string): Site[];
  /** The one site of which a browser key may call from exactly this origin; undefined where there are several, or none. */
  siteByOrigin(origin: string): Site | undefined;
  /** The one site of which lists show a key so; undefined where there are several, or none. */
  siteByKeyPrefix(shownPrefix: string): Site | undefined;
  /** By their hashes. */
  keysOfSite(siteId: string): ReadonlyMap<string, ApiKey>;
  adminToken(tokenHash: string): AdminToken | undefined;
  accounts(): Account[];
  sites(): Site[];
  keys(): ApiKey[];
  destinations(): Destination[];
  adminTokens(): AdminToken[];
  replay(replayId: string): Replay | undefined;
  /** The oldest first. */
  replays(): Replay[];
  /** Surveys, promos and forms of a site, in the order they were made; another list with every change of one. */
  engageItems(siteId: string): readonly EngageItem[];
  /** Saved questions and boards of a site, in the order they were made. */
  savedItems(siteId: string): readonly SavedItem[];
  /** Shared links of a site, in the order they were made. */
  shareLinks(siteId: string): readonly ShareLink[];
  shareLink(linkId: string): ShareLink | undefined;
  /** Alerts of a site, in the order they were made. */
  alerts(siteId: string): readonly AlertSetting[];
  /** Cohorts of a site, in the order they were made. */
  cohorts(siteId: string): readonly CohortSetting[];
  user(userId: string): User | undefined;
  users(): User[];
}

const createState = () => ({
  version: 0,
  accounts: new Map<string, Account>(),
  sites: new Map<string, Site>(),
  keys: new Map<string, ApiKey>(),
  keysBySite: new Map<string, Map<string, ApiKey>>(),
  /** By kind, then by site. */
  destinations: new Map<string, Map<string, readonly Destination[]>>(),
  proven: createClaims(),
  domainProofs: new Map<string, Map<string, DomainProof>>(),
  measurementIds: createClaims(),
  keysByOrigin: new Map<string, Set<string>>(),
  keysByPrefix: new Map<string, Set<string>>(),
  adminTokens: new Map<string, AdminToken>(),
  replays: new Map<string, Replay>(),
  engage: new Map<string, readonly EngageItem[]>(),
  saved: new Map<string, readonly SavedItem[]>(),
  shareLinks: new Map<string, readonly ShareLink[]>(),
  shareLinkById: new Map<string, ShareLink>(),
  alerts: new Map<string, readonly AlertSetting[]>(),
  cohorts: new Map<string, readonly CohortSetting[]>(),
  users: new Map<string, User>(),
});
type State = ReturnType<typeof createState>;

/** An empty table; feed it site.config from the beginning, in order. */
export function createSettingsTable(): SettingsTable {
  const state = createState();
  return {
    get version() {
      return state.version;
    },
    apply: (recordKey, setting) => apply(state, recordKey, setting),
    ...lookups(state),
    ...lists(state),
  };
}

const NO_ITEMS: readonly never[] = [];

const NO_PROOFS: ReadonlyMap<string, DomainProof> = new Map();
const NO_KEYS: ReadonlyMap<string, ApiKey> = new Map();

const lookups = (state: State) =>
  ({
    keyByHash: (keyHash) => state.keys.get(keyHash),
    site: (siteId) => state.sites.get(siteId),
    account: (accountId) => state.accounts.get(accountId),
    accountOfSite(siteId) {
      const site = state.sites.get(siteId);
      return site && state.accounts.get(site.account_id);
    },
    destinationsOfKind: (kind) => destinationsOfKind(state, kind),
    destination: (siteId, name) =>
      state.destinations
        .get(kindOfDestination(name))
        ?.get(siteId)
        ?.find((one) => one.name === name),
    siteServedAt: (domain) => ownedSite(state, state.proven.owner(domain)),
    domainProofs: (siteId) => state.domainProofs.get(siteId) ?? NO_PROOFS,
    sitesByMeasurementId: (measurementId) =>
      state.measurementIds.claimants(measurementId).flatMap((siteId) => ownedSite(state, siteId) ?? []),
    siteByOrigin: (origin) => siteOfKeys(state, state.keysByOrigin.get(origin)),
    siteByKeyPrefix: (shownPrefix) => siteOfKeys(state, state.keysByPrefix.get(shownPrefix)),
    keysOfSite: (siteId) => state.keysBySite.get(siteId) ?? NO_KEYS,
    adminToken: (tokenHash) => state.adminTokens.get(tokenHash),
    replay: (replayId) => state.replays.get(replayId),
    engageItems: (siteId) => state.engage.get(siteId) ?? NO_ITEMS,
    savedItems: (siteId) => state.saved.get(siteId) ?? NO_ITEMS,
    shareLinks: (siteId) => state.shareLinks.get(siteId) ?? NO_ITEMS,
    shareLink: (linkId) => state.shareLinkById.get(linkId),
    alerts: (siteId) => state.alerts.get(siteId) ?? NO_ITEMS,
    cohorts: (siteId) => state.cohorts.get(siteId) ?? NO_ITEMS,
    user: (userId) => state.users.get(userId),
  }) satisfies Partial<SettingsTable>;

const lists = (state: State) =>
  ({
    accounts: () => sortedBy([...state.accounts.values()], (account) => account.account_id),
    sites: () => sortedBy([...state.sites.values()], (site) => site.site_id),
    keys: () => sortedBy([...state.keys.values()], (key) => `${key.site_id}/${key.shown_prefix}/${key.key_hash}`),
    destinations: () =>
      sortedBy(
        [...state.destinations.values()].flatMap((bySite) => [...bySite.values()].flat()),
        (destination) => `${destination.site_id}/${destination.name}`,
      ),
    adminTokens: () => sortedBy([...state.adminTokens.values()], (token) => `${token.label}/${token.token_hash}`),
    users: () => sortedBy([...state.users.values()], (user) => user.user_id),
    replays: () =>
      [...state.replays.values()].sort((a, b) => a.created_at - b.created_at || (a.replay_id < b.replay_id ? -1 : 1)),
  }) satisfies Partial<SettingsTable>;

function sortedBy<T>(items: T[], text: (item: T) => string): T[] {
  return items.sort((a, b) => (text(a) < text(b) ? -1 : 1));
}

/** Looks no further than the second site: every site may let `http://localhost:3000` call. */
function siteOfKeys(state: State, keyHashes: ReadonlySet<string> = new Set()): Site | undefined {
  let found: Site | undefined;
  for (const keyHash of keyHashes) {
    const site = state.sites.get(state.keys.get(keyHash)?.site_id ?? '');
    if (found !== undefined && site !== undefined && site !== found) return undefined;
    found ??= site;
  }
  return found;
}

function ownedSite(state: State, siteId: string | undefined): Site | undefined {
  return siteId === undefined ? undefined : state.sites.get(siteId);
}

function apply(state: State, recordKey: string, setting: Setting | null): ApplyResult {
  const address = parseSettingKey(recordKey);
  if (address === null) return { ok: false, code: 'setting_key_malformed', recordKey };
  if (setting !== null) {
    const expectedKey = keyOfSetting(setting);
    if (expectedKey === null) return { ok: false, code: 'setting_body_malformed', recordKey };
    if (expectedKey !== recordKey) return { ok: false, code: 'setting_key_mismatch', recordKey };
  }
  if (store(state, address, setting)) state.version += 1;
  return { ok: true };
}

/** Returns whether anything changed: the tombstone of an unknown fact changes nothing. */
function store(state: State, address: SettingAddress, setting: Setting | null): boolean {
  switch (address.kind) {
    case 'account':
      return replace(state.accounts, address.accountId, setting?.account ?? null);
    case 'site':
      return storeSite(state, address.siteId, setting?.site ?? null);
    case 'key':
      return storeKey(state, address.keyHash, setting?.key ?? null);
    case 'destination':
      return storeDestination(state, address.siteId, address.name, setting?.destination ?? null);
    case 'admin_token':
      return replace(state.adminTokens, address.tokenHash, setting?.admin_token ?? null);
    case 'replay':
      return replace(state.replays, address.replayId, setting?.replay ?? null);
    case 'engage':
      return storeItem(state.engage, address.siteId, isOfKind(address), setting?.engage ?? null);
    case 'saved':
      return storeItem(state.saved, address.siteId, isOfKind(address), setting?.saved ?? null);
    case 'share':
      replace(state.shareLinkById, address.linkId, setting?.share ?? null);
      return storeItem(
        state.shareLinks,
        address.siteId,
        ({ link_id }) => link_id === address.linkId,
        setting?.share ?? null,
      );
    case 'alert':
      return storeItem(state.alerts, address.siteId, ({ id }) => id === address.itemId, setting?.alert ?? null);
    case 'cohort':
      return storeItem(state.cohorts, address.siteId, ({ id }) => id === address.itemId, setting?.cohort ?? null);
    case 'domain_proof':
      return storeProof(state, address.siteId, address.domain, setting?.domain_proof ?? null);
    case 'user':
      return replace(state.users, address.userId, setting?.user ?? null);
    case 'audit':
    case 'changes_made':
      return false;
  }
}

function replace<T>(facts: Map<string, T>, id: string, fact: T | null): boolean {
  if (fact === null) return facts.delete(id);
  facts.set(id, fact);
  return true;
}

function storeKey(state: State, keyHash: string, key: ApiKey | null): boolean {
  const before = state.keys.get(keyHash);
  if (before !== undefined) state.keysBySite.get(before.site_id)?.delete(keyHash);
  index(state.keysByOrigin, keyHash, before?.allowed_origins ?? [], key?.allowed_origins ?? []);
  index(state.keysByPrefix, keyHash, before ? [before.shown_prefix] : [], key ? [key.shown_prefix] : []);
  if (key !== null) {
    const ofSite = state.keysBySite.get(key.site_id) ?? new Map<string, ApiKey>();
    state.keysBySite.set(key.site_id, ofSite.set(keyHash, key));
  }
  return replace(state.keys, keyHash, key);
}

/** Moves a key from the names that it had to those that it has. */
function index(
  keys: Map<string, Set<string>>,
  keyHash: string,
  before: readonly string[],
  after: readonly string[],
): void {
  for (const name of before) {
    const left = keys.get(name);
    left?.delete(keyHash);
    if (left?.size === 0) keys.delete(name);
  }
  for (const name of after) keys.set(name, (keys.get(name) ?? new Set()).add(keyHash));
}

function storeSite(state: State, siteId: string, site: Site | null): boolean {
  return withProven(state, siteId, () => replace(state.sites, siteId, site));
}

/** Makes a change to a site's claims or proofs. */
function withProven(state: State, siteId: string, change: () => boolean): boolean {
  const names = (): string[] => provenDomains(state.sites.get(siteId), state.domainProofs.get(siteId));
  const before = names();
  const isChanged = change();
  state.proven.replace(siteId, before, names());
  return isChanged;
}

const isOfKind =
  ({ itemKind, itemId }: { itemKind: string; itemId: string }) =>
  ({ kind, id }: { kind: string; id: string }): boolean =>
    kind === itemKind && id === itemId;

function storeItem<Item>(
  items: Map<string, readonly Item[]>,
  siteId: string,
  isIt: (item: Item) => boolean,
  item: Item | null,
): boolean {
  const before = items.get(siteId) ?? NO_ITEMS;
  const at = before.findIndex(isIt);
  if (item === null && at === -1) return false;
  if (at === -1) items.set(siteId, [...before, item as Item]);
  else items.set(siteId, before.toSpliced(at, 1, ...(item === null ? [] : [item])));
  return true;
}

function storeProof(state: State, siteId: string, domain: string, proof: DomainProof | null): boolean {
  const proofs = state.domainProofs.get(siteId) ?? new Map<string, DomainProof>();
  state.domainProofs.set(siteId, proofs);
  return withProven(state, siteId, () => replace(proofs, domain, proof));
}

function storeDestination(state: State, siteId: string, name: string, destination: Destination | null): boolean {
  const kind = kindOfDestination(name);
  const bySite = destinationsOfKind(state, kind);
  const before = bySite.get(siteId) ?? NO_ITEMS;
  const others = before.filter((one) => one.name !== name);
  const after = destination === null ? others : sortedBy([...others, destination], (one) => one.name);
  if (kind === 'ga4') state.measurementIds.replace(siteId, measurementIds(before), measurementIds(after));
  if (after.length > 0) bySite.set(siteId, after);
  else bySite.delete(siteId);
  return destination !== null || others.length < before.length;
}

function measurementIds(destinations: readonly Destination[]): string[] {
  return destinations.flatMap(({ settings }) => settings['measurement_id'] ?? []);
}

function destinationsOfKind(state: State, kind: string): Map<string, readonly Destination[]> {
  const known = state.destinations.get(kind);
  if (known !== undefined) return known;
  const created = new Map<string, readonly Destination[]>();
  state.destinations.set(kind, created);
  return created;
}

/** Public names (domains, measurement ids) and the site each belongs to. */
interface Claims {
  /** The site that owns the name. */
  owner(name: string): string | undefined;
  /** Every site that claims it. */
  claimants(name: string): readonly string[];
  /** Replaces the names a site claims. */
  replace(siteId: string, before: readonly string[], after: readonly string[]): void;
}

/**
 * Two sites may claim one name when they are written at the same moment. The smallest site id then owns it: every
 * process agrees, whatever order a compacted topic replays in.
 */
function createClaims(): Claims {
  const claimants = new Map<string, string[]>();
  return {
    owner: (name) => claimants.get(name)?.[0],
    claimants: (name) => claimants.get(name) ?? [],
    replace(siteId, before, after) {
      for (const name of before) remove(claimants, name, siteId);
      for (const name of after) add(claimants, name, siteId);
    },
  };
}

function add(claimants: Map<string, string[]>, name: string, siteId: string): void {
  const sites = claimants.get(name) ?? [];
  if (!sites.includes(siteId)) claimants.set(name, [...sites, siteId].sort());
}

function remove(claimants: Map<string, string[]>, name: string, siteId: string): void {
  const left = (claimants.get(name) ?? []).filter((other) => other !== siteId);
  if (left.length > 0) claimants.set(name, left);
  else claimants.delete(name);
}

const isId = (text: string): boolean => ID_PATTERN.test(text);
const isHash = (text: string): boolean => /^[0-9a-f]{64}$/.test(text);
const isOneOf =
  (...texts: string[]) =>
  (text: string): boolean =>
    texts.includes(text);

/** What stands in a record key after the kind of its fact, by name in its order, and what each may be. */
const KEY_PARTS = {
  account: { accountId: isId },
  site: { siteId: isId },
  key: { keyHash: isHash },
  destination: { siteId: isId, name: isId },
  admin_token: { tokenHash: isHash },
  replay: { replayId: isId },
  engage: { siteId: isId, itemKind: isOneOf('survey', 'promo', 'form'), itemId: isId },
  domain_proof: { siteId: isId, domain: (text: string) => canonicalDomain(text) === text },
  saved: { siteId: isId, itemKind: isOneOf('question', 'board'), itemId: isId },
  share: { siteId: isId, linkId: isId },
  alert: { siteId: isId, itemId: isId },
  cohort: { siteId: isId, itemId: isId },
  user: { userId: isId },
};
type KeyParts = typeof KEY_PARTS;

/** Where a fact of site.config lives: the parsed form of its record key. */
type SettingAddress =
  | { [Kind in keyof KeyParts]: { kind: Kind } & { [Part in keyof KeyParts[Kind]]: string } }[keyof KeyParts]
  | { kind: 'audit'; accountId: string | null; slot: number }
  | { kind: 'changes_made'; by: string };

export const accountKey = (accountId: string): string => `account/${accountId}`;
export const siteKey = (siteId: string): string => `site/${siteId}`;
export const apiKeyKey = (keyHash: string): string => `key/${keyHash}`;
export const destinationKey = (siteId: string, name: string): string => `destination/${siteId}/${name}`;
export const adminTokenKey = (tokenHash: string): string => `admin_token/${tokenHash}`;
export const userKey = (userId: string): string => `user/${userId}`;
export const engageKey = (siteId: string, kind: EngageItem['kind'], id: string): string =>
  `engage/${siteId}/${kind}/${id}`;
export const domainProofKey = (siteId: string, domain: string): string => `domain_proof/${siteId}/${domain}`;
export const savedKey = (siteId: string, kind: SavedKind, id: string): string => `saved/${siteId}/${kind}/${id}`;
export const shareKey = (siteId: string, linkId: string): string => `share/${siteId}/${linkId}`;
export const alertKey = (siteId: string, id: string): string => `alert/${siteId}/${id}`;
export const cohortKey = (siteId: string, id: string): string => `cohort/${siteId}/${id}`;
export const replayKey = (replayId: string): string => `replay/${replayId}`;

/** Entries of the audit of the installation itself; of each kind the newest take the slots of the oldest. */
export const AUDIT_SLOTS = 10_000;
const SLOT_PATTERN = /^\d{1,4}$/;
/** Where an entry is in its ring. */
export const auditSlot = ({ seq, slot = null }: AuditEntry): number => slot ?? seq % AUDIT_SLOTS;
export function auditKey(entry: AuditEntry): string {
  const { account_id = null } = entry;
  return account_id === null ? `audit/${auditSlot(entry)}` : `audit/${account_id}/${auditSlot(entry)}`;
}

export const changesMadeKey = (by: string): string => `changes_made/${by}`;

/** Reads a record key of site.config; null when it names no fact. */
export function parseSettingKey(recordKey: string): SettingAddress | null {
  const [kind = '', ...texts] = recordKey.split('/');
  if (kind === 'audit') return auditAddress(texts);
  if (kind === 'changes_made') return changesMadeAddress(texts.join('/'));
  if (!Object.hasOwn(KEY_PARTS, kind)) return null;
  const parts = Object.entries(KEY_PARTS[kind as keyof KeyParts]);
  if (texts.length !== parts.length || !parts.every(([, isPart], at) => isPart(texts[at] ?? ''))) return null;
  return { kind, ...Object.fromEntries(parts.map(([name], at) => [name, texts[at]])) } as SettingAddress;
}

/** Of the installation the slot alone. */
function auditAddress(texts: readonly string[]): SettingAddress | null {
  const [slot = '', accountId = null] = texts.toReversed();
  if (texts.length > 2 || !SLOT_PATTERN.test(slot) || (accountId !== null && !isId(accountId))) return null;
  return { kind: 'audit', accountId, slot: Number(slot) };
}

function changesMadeAddress(by: string): SettingAddress | null {
  const kind = parseSettingKey(by)?.kind;
  return kind === 'user' || kind === 'admin_token' ? { kind: 'changes_made', by } : null;
}

/** The record key a setting belongs under; null unless exactly one of its bodies is set. */
export function keyOfSetting(setting: Setting): string | null {
  const keys: string[] = [];
  if (setting.account !== null) keys.push(accountKey(setting.account.account_id));
  if (setting.site !== null) keys.push(siteKey(setting.site.site_id));
  if (setting.key !== null) keys.push(apiKeyKey(setting.key.key_hash));
  if (setting.destination !== null) keys.push(destinationKey(setting.destination.site_id, setting.destination.name));
  if (setting.admin_token) keys.push(adminTokenKey(setting.admin_token.token_hash));
  if (setting.replay) keys.push(replayKey(setting.replay.replay_id));
  if (setting.engage) keys.push(engageKey(setting.engage.site_id, setting.engage.kind, setting.engage.id));
  if (setting.domain_proof) keys.push(domainProofKey(setting.domain_proof.site_id, setting.domain_proof.domain));
  if (setting.saved) keys.push(savedKey(setting.saved.site_id, setting.saved.kind, setting.saved.id));
  if (setting.share) keys.push(shareKey(setting.share.site_id, setting.share.link_id));
  if (setting.alert) keys.push(alertKey(setting.alert.site_id, setting.alert.id));
  if (setting.cohort) keys.push(cohortKey(setting.cohort.site_id, setting.cohort.id));
  if (setting.user) keys.push(userKey(setting.user.user_id));
  if (setting.audit) keys.push(auditKey(setting.audit));
  if (setting.changes_made) keys.push(changesMadeKey(setting.changes_made.by));
  const [only = null] = keys;
  return keys.length === 1 ? only : null;
}
