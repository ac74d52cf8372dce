import { hash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { ChangesMade, Setting } from '#schemas/setting.ts';
import {
  type AuditKind,
  type AuditLog,
  type AuditPlace,
  accountOfFact,
  auditEntry,
  createAuditLog,
  doneEntry,
} from './audit.ts';
import {
  type ApplyResult,
  alertKey,
  apiKeyKey,
  auditKey,
  changesMadeKey,
  cohortKey,
  createSettingsTable,
  destinationKey,
  domainProofKey,
  engageKey,
  keyOfSetting,
  type SettingsTable,
  savedKey,
  shareKey,
  siteKey,
} from './table.ts';

/** A record of site.config; a null setting removes the fact. */
export interface SettingRecord {
  key: string;
  setting: Setting | null;
}

/** Everything that site.config holds, with who wrote each fact and when. */
export interface SettingsView {
  readonly table: SettingsTable;
  readonly audit: AuditLog;
  /** The record that a fact stands in. */
  record(key: string): Setting | undefined;
  apply(key: string, setting: Setting | null): ApplyResult;
}

/** What a change comes to: the records to append, all or none, and what to answer once they are durable. */
export interface Planned<T> {
  records: SettingRecord[];
  result: T;
}

/** Where the control service reads and writes settings. */
export interface SettingsJournal {
  view(): SettingsView;
  /**
   * Plans and appends a change while no other change is under way, here or in any other process. Resolves when the
   * records are durable and the view has them. @throws JournalError when it cannot be said that they are.
   */
  change<T>(plan: (view: SettingsView) => Planned<T>): Promise<T>;
}

/** The records may or may not have been written; asking again is safe, as every change names the version it is of. */
export class JournalError extends Error {
  readonly code = 'settings_not_stored';
}

/** An empty view; feed it site.config from the beginning, in order. */
export function createSettingsView(): SettingsView {
  const table = createSettingsTable();
  const audit = createAuditLog();
  const records = new Map<string, Setting>();
  return {
    table,
    audit,
    record: (key) => records.get(key),
    apply(key, setting) {
      const applied = table.apply(key, setting);
      if (!applied.ok) return applied;
      if (setting?.audit) audit.apply(setting);
      else if (setting === null) records.delete(key);
      else records.set(key, setting);
      return applied;
    },
  };
}

type Body = Partial<
  Pick<
    Setting,
    | 'account'
    | 'site'
    | 'key'
    | 'destination'
    | 'admin_token'
    | 'replay'
    | 'engage'
    | 'domain_proof'
    | 'saved'
    | 'share'
    | 'alert'
    | 'cohort'
    | 'user'
  >
>;

/** A fact to be written with its body, or to be removed by its key. */
export type Fact = { body: Body } | { removedKey: string };

/**
 * The records of a change: each fact, and beside it the entry that says who changed what. A fact that is so already is
 * left out.
 */
export function auditedRecords(
  view: SettingsView,
  facts: readonly Fact[],
  changedBy: string,
  nowMs: number,
): SettingRecord[] {
  const changes = facts.map((fact) => changeOf(view, fact)).filter(({ before, body }) => !isSame(before, body));
  const written = changes.map(({ key, before, body }) => {
    const changed = { changed_at: laterThan(before, nowMs), changed_by: changedBy };
    return { key, before, changed, setting: body === null ? null : { ...changed, ...NOTHING, ...body } };
  });
  const accounts = written.map(({ key, before, setting }) => accountOfFact(key, setting ?? before, view.table));
  const places = view.audit.nextPlaces('change', accounts);
  return written.flatMap(({ key, before, changed, setting }, index) => {
    const audit = auditEntry(places[index] as AuditPlace, key, before, setting);
    return [
      { key, setting },
      { key: auditKey(audit), setting: { ...changed, ...NOTHING, audit } },
    ];
  });
}

/**
 * The record of something that was done and is no fact: in the audit alone.
 *
 * @param who Who did it, and the account whose ring it is in where what it is about names none.
 */
export function notedRecord(
  view: SettingsView,
  about: string,
  done: Record<string, unknown>,
  { actor, accountId = null }: { actor: string; accountId?: string | null },
  nowMs: number,
  kind: AuditKind = 'change',
): SettingRecord {
  const ring = kind === 'access' ? accountId : (accountOfFact(about, null, view.table) ?? accountId);
  const [place] = view.audit.nextPlaces(kind, [ring]);
  const audit = doneEntry(place as AuditPlace, about, done);
  return { key: auditKey(audit), setting: { changed_at: nowMs, changed_by: actor, ...NOTHING, audit } };
}

/** The record of how many changes somebody has made of their day. */
export function changesMadeRecord(changes_made: ChangesMade, changedBy: string, nowMs: number): SettingRecord {
  const setting = { changed_at: nowMs, changed_by: changedBy, ...NOTHING, changes_made };
  return { key: changesMadeKey(changes_made.by), setting };
}

interface FactChange {
  key: string;
  before: Setting | null;
  body: Body | null;
}

function changeOf(view: SettingsView, fact: Fact): FactChange {
  const key = 'removedKey' in fact ? fact.removedKey : keyOf(fact.body);
  return { key, before: view.record(key) ?? null, body: 'removedKey' in fact ? null : fact.body };
}

function isSame(before: Setting | null, body: Body | null): boolean {
  if (before === null || body === null) return before === null && body === null;
  return isDeepStrictEqual(plain(before), plain({ ...before, ...body }));
}

/** Decoded records have a class of their own, which plain objects with the same fields do not equal. */
function plain(setting: Setting): unknown {
  return JSON.parse(JSON.stringify(setting));
}

const NOTHING = { account: null, site: null, key: null, destination: null };

function keyOf(body: Body): string {
  const key = keyOfSetting({ changed_at: 0, changed_by: '', ...NOTHING, ...body });
  if (key === null) throw new Error('a setting has exactly one body');
  return key;
}

/** A fact's versions never repeat, even when its clock stands still. */
function laterThan(before: Setting | null, nowMs: number): number {
  return Math.max(nowMs, (before?.changed_at ?? 0) + 1);
}

/** Names what a fact was when it was read; it changes with every write of the fact. */
export function versionOf(setting: Setting): string {
  return hash('sha256', JSON.stringify(setting), 'base64url').slice(0, 22);
}

/**
 * Removes every setting of a site, and whatever was given in it, so that a later site of the same id gives nobody anything. What is
 * removed stands in no entry of the audit, as entries say what there was; what is taken from users and tokens does. Empty where
 * nothing is left.
 *
 * @param by Who asked for the erasure.
 */
export function erasedSiteRecords(view: SettingsView, siteId: string, by: string, nowMs: number): SettingRecord[] {
  const { table } = view;
  const keys = [
    ...[...table.keysOfSite(siteId).keys()].map(apiKeyKey),
    ...table.destinations().flatMap(({ site_id, name }) => (site_id === siteId ? [destinationKey(siteId, name)] : [])),
    ...table.engageItems(siteId).map(({ kind, id }) => engageKey(siteId, kind, id)),
    ...table.savedItems(siteId).map(({ kind, id }) => savedKey(siteId, kind, id)),
    ...table.shareLinks(siteId).map(({ link_id }) => shareKey(siteId, link_id)),
    ...table.alerts(siteId).map(({ id }) => alertKey(siteId, id)),
    ...table.cohorts(siteId).map(({ id }) => cohortKey(siteId, id)),
    ...[...table.domainProofs(siteId).keys()].map((domain) => domainProofKey(siteId, domain)),
    ...(table.site(siteId) === undefined ? [] : [siteKey(siteId)]),
  ];
  return [
    ...auditedRecords(view, takenBack(view, siteId, nowMs), by, nowMs),
    ...keys.map((key) => ({ key, setting: null })),
  ];
}

/** Users without what they were given in the site; a token that has nothing else is revoked. */
function takenBack({ table }: SettingsView, siteId: string, nowMs: number): Fact[] {
  const isElsewhere = ({ site_id }: { site_id: string | null }): boolean => site_id !== siteId;
  const users = table.users().filter(({ grants }) => !grants.every(isElsewhere));
  const tokens = table.adminTokens().filter(({ grants }) => grants?.every(isElsewhere) === false);
  return [
    ...users.map((user) => ({ body: { user: { ...user, grants: user.grants.filter(isElsewhere) } } })),
    ...tokens.map((token) => {
      const grants = token.grants?.filter(isElsewhere) ?? [];
      const revoked_at = grants.length === 0 ? (token.revoked_at ?? nowMs) : token.revoked_at;
      return { body: { admin_token: { ...token, grants, revoked_at } } };
    }),
  ];
}
