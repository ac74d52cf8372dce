// The audit log: changes of settings, and readings of personal data.

import { isDeepStrictEqual } from 'node:util';
import type { DataRead } from '#schemas/records.ts';
import type { AuditAction, AuditEntry, Grant, Setting, Site, User } from '#schemas/setting.ts';
import { OWNER_OF_ALL, ownersOf, placeOf } from './access.ts';
import { parseEventDefinition } from './event_definitions.ts';
import { auditSlot, parseSettingKey, type SettingsTable } from './table.ts';

/** One change with who made it and when, in milliseconds since 1970 UTC. */
export interface AuditRecord extends AuditEntry {
  changed_at: number;
  changed_by: string;
}

/** What an entry is of: a change that somebody made, or a sign-in, or a refusal. */
export type AuditKind = 'change' | 'access';

/** Where an entry goes: its number, and its place in the ring of whose it is. */
export type AuditPlace = Pick<AuditEntry, 'seq'> & { account_id: string | null; slot: number };

/** The newest changes, newest first: those of each account, and of the installation itself, in a ring of their own. */
export interface AuditLog {
  /** Number of the newest entry; 0 when there was none. */
  readonly lastSeq: number;
  /** Where the next entries go, one for each account that is named; null: the installation. */
  nextPlaces(kind: AuditKind, accountIds: readonly (string | null)[]): AuditPlace[];
  apply(setting: Setting): void;
  /**
   * @param beforeSeq Only changes with a smaller number; null for all.
   * @param matches Which changes are wanted.
   */
  list(limit: number, beforeSeq: number | null, matches: (record: AuditRecord) => boolean): AuditRecord[];
}

type Slots = Record<AuditKind, { first: number; count: number }>;

/** Each kind has slots of its own, so that neither pushes the other out. Slots filled before there were kinds are read on. */
const OF_INSTALLATION: Slots = { change: { first: 0, count: 8_000 }, access: { first: 8_000, count: 2_000 } };
/** More than two days of what one may change in a day, the end of one and the beginning of the next. */
const OF_ACCOUNT: Slots = { change: { first: 0, count: 5_000 }, access: { first: 5_000, count: 2_000 } };

const slotsOf = (accountId: string | null): Slots => (accountId === null ? OF_INSTALLATION : OF_ACCOUNT);

interface Ring {
  entries: Map<number, AuditRecord>;
  /** The newest entry of each kind. */
  newest: Partial<Record<AuditKind, AuditRecord>>;
}

/** An empty log that remembers as many entries of each ring as there are slots, whatever order they come in. */
export function createAuditLog(): AuditLog {
  const rings = new Map<string | null, Ring>();
  let lastSeq = 0;
  let newestFirst: readonly AuditRecord[] | null = null;
  return {
    get lastSeq() {
      return lastSeq;
    },
    nextPlaces(kind, accountIds) {
      const nextSlot = new Map<string | null, number>();
      return accountIds.map((account_id, index) => {
        const { first, count } = slotsOf(account_id)[kind];
        const newest = rings.get(account_id)?.newest[kind];
        const slot = nextSlot.get(account_id) ?? (newest === undefined ? first : following(auditSlot(newest)));
        nextSlot.set(account_id, following(slot));
        return { seq: lastSeq + index + 1, account_id, slot };

        function following(last: number): number {
          return first + ((last + 1 - first) % count);
        }
      });
    },
    apply({ audit, changed_at, changed_by }) {
      if (!audit) return;
      const { seq, account_id = null } = audit;
      const ring: Ring = rings.get(account_id) ?? { entries: new Map(), newest: {} };
      rings.set(account_id, ring);
      const slot = auditSlot(audit);
      const record = { ...audit, changed_at, changed_by };
      if ((ring.entries.get(slot)?.seq ?? 0) < seq) ring.entries.set(slot, record);
      const kind: AuditKind = slot < slotsOf(account_id).access.first ? 'change' : 'access';
      if ((ring.newest[kind]?.seq ?? 0) < seq) ring.newest[kind] = record;
      lastSeq = Math.max(lastSeq, seq);
      newestFirst = null;
    },
    list(limit, beforeSeq, matches) {
      newestFirst ??= [...rings.values()].flatMap(({ entries }) => [...entries.values()]).sort((a, b) => b.seq - a.seq);
      const found: AuditRecord[] = [];
      for (const record of newestFirst) {
        if (found.length === limit) break;
        if (record.seq < (beforeSeq ?? Number.POSITIVE_INFINITY) && matches(record)) found.push(record);
      }
      return found;
    },
  };
}

/** Whose entries those about some grants are: the first account's, so that they turn no other's ring; null: the installation's. */
export function accountOfGrants(grants: readonly Grant[], table: Pick<SettingsTable, 'site'>): string | null {
  const owners = ownersOf(grants.map(placeOf), table);
  return owners.includes(null) ? null : (owners.toSorted((a, b) => String(a).localeCompare(String(b)))[0] ?? null);
}

/** Whose entries those about a fact are: its account; null: the installation. */
export function accountOfFact(key: string, setting: Setting | null, table: SettingsTable): string | null {
  const address = parseSettingKey(key);
  if (address === null) return null;
  if (address.kind === 'account') return address.accountId;
  if ('siteId' in address) return (setting?.site ?? table.site(address.siteId))?.account_id ?? null;
  if ('userId' in address)
    return accountOfGrants(setting?.user?.grants ?? table.user(address.userId)?.grants ?? [], table);
  if ('tokenHash' in address) {
    const token = setting?.admin_token ?? table.adminToken(address.tokenHash);
    return accountOfGrants(token?.grants ?? [OWNER_OF_ALL], table);
  }
  const siteId = setting?.key?.site_id ?? setting?.replay?.site_id ?? null;
  return siteId === null ? null : (table.site(siteId)?.account_id ?? null);
}

/** The entry for one change of a fact: the fields that differ, without secrets. */
export function auditEntry(
  place: AuditPlace,
  settingKey: string,
  before: Setting | null,
  after: Setting | null,
): AuditEntry {
  const [left, right] = differences(shown(before), shown(after));
  return {
    ...place,
    setting_key: settingKey,
    action: actionOf(before, after),
    before: left === null ? null : JSON.stringify(left),
    after: right === null ? null : JSON.stringify(right),
    secrets_changed: secretsChanged(secretsOf(before), secretsOf(after)),
  };
}

/** The entry for something that was done and changed no fact. */
export function doneEntry(place: AuditPlace, about: string, done: Fields): AuditEntry {
  const after = JSON.stringify(shortened(done));
  return { ...place, setting_key: about, action: 'change', before: '{}', after, secrets_changed: [] };
}

function actionOf(before: Setting | null, after: Setting | null): AuditAction {
  if (before === null) return 'create';
  return after === null ? 'delete' : 'change';
}

type Fields = Record<string, unknown>;

/** The body of a setting as people may see it: of secrets only the names. */
function shown(setting: Setting | null): Fields | null {
  if (setting === null) return null;
  const {
    account,
    site,
    key,
    destination,
    admin_token,
    replay,
    engage,
    domain_proof,
    saved,
    share,
    alert,
    cohort,
    user,
  } = setting;
  if (site !== null) return shownSite(site);
  if (destination !== null) return { ...destination, secrets: Object.keys(destination.secrets) };
  if (user) return shownUser(user);
  if (saved) return { ...saved, definition: parsed(saved.definition) };
  if (alert) return { ...alert, definition: parsed(alert.definition), secrets: Object.keys(alert.secrets) };
  if (cohort) return { ...cohort, definition: parsed(cohort.definition) };
  if (engage) return { ...engage, definition: parsed(engage.definition) };
  return { ...(account ?? key ?? admin_token ?? replay ?? domain_proof ?? share) };
}

/** Without what signs in. */
function shownUser({ user_id, name, created_at, disabled_at, grants, sessions_from }: User): Fields {
  return { user_id, name, created_at, disabled_at, grants, sessions_from };
}

/** Definitions by their id, so that a change of one does not repeat the others. */
function shownSite(site: Site): Fields {
  const definitions = site.event_definitions.map((text, index) => {
    const read = parseEventDefinition(text);
    return read.ok ? ([read.definition.id, read.definition] as const) : ([String(index), text] as const);
  });
  return { ...site, event_definitions: Object.fromEntries(definitions) };
}

/** Field by field, so that a change of one text does not repeat the others. */
function parsed(definition: string): unknown {
  try {
    return JSON.parse(definition);
  } catch (error) {
    if (error instanceof SyntaxError) return definition;
    throw error;
  }
}

/** What of a setting is never shown, by name. */
function secretsOf(setting: Setting | null): Record<string, string> {
  if (setting?.destination) return setting.destination.secrets;
  if (setting?.alert) return setting.alert.secrets;
  if (!setting?.user) return {};
  const { password, totp, recovery_codes, oidc_subjects } = setting.user;
  return {
    ...(password === null ? {} : { password }),
    ...(totp === null ? {} : { totp }),
    ...(recovery_codes.length === 0 ? {} : { recovery_codes: recovery_codes.join() }),
    ...(oidc_subjects.length === 0 ? {} : { oidc_subjects: oidc_subjects.join() }),
  };
}

function secretsChanged(left: Record<string, string>, right: Record<string, string>): string[] {
  const names = new Set([...Object.keys(left), ...Object.keys(right)]);
  return [...names].filter((name) => left[name] !== right[name]).sort();
}

/** Both sides reduced to what differs, and long values to their length. */
function differences(before: Fields | null, after: Fields | null): [Fields | null, Fields | null] {
  if (before === null || after === null) return [before && shortened(before), after && shortened(after)];
  const left: Fields = {};
  const right: Fields = {};
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const [a, b] = [plain(before[name]), plain(after[name])];
    if (isDeepStrictEqual(a, b)) continue;
    [left[name], right[name]] = isFields(a) && isFields(b) ? differences(a, b) : [a, b];
  }
  return [shortened(left), shortened(right)];
}

const FIELD_CHARACTERS_MAX = 4_000;

/** Bounds an entry, as every process reads it at its start. */
function shortened(fields: Fields): Fields {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => {
      const characters = JSON.stringify(value)?.length ?? 0;
      return [name, characters > FIELD_CHARACTERS_MAX ? { omitted_characters: characters } : value];
    }),
  );
}

/** Decoded records have a class of their own, which plain objects with the same fields do not equal. */
function plain(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value));
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** One reading of data of people. */
export type OneRead = Pick<DataRead, 'read_by' | 'site_id' | 'kind' | 'format' | 'rows'>;

/** Makes entries of readings: the first of its kind is one at once, those that soon follow it come to one more. */
interface DataReadEntries {
  /** The entries that are to be written now. */
  add(read: OneRead, nowMs: number): DataRead[];
  /** Those of readings that were counted and whose time is over. */
  due(nowMs: number): DataRead[];
  /** Those of all that were counted: nothing more comes. */
  rest(): DataRead[];
}

/** A page that is left open asks again and again. */
const SAME_MS = 10 * 60_000;
const KINDS_MAX = 5_000;

interface Counted {
  overMs: number;
  /** What followed the first; null: nothing did. */
  entry: DataRead | null;
}

/** Holds who reads what for as long as the same is counted. */
export function createDataReadEntries(): DataReadEntries {
  /** In the order in which they began. */
  const counted = new Map<string, Counted>();

  function end(isOver: (one: Counted) => boolean): DataRead[] {
    const ended: DataRead[] = [];
    for (const [key, one] of counted) {
      if (!isOver(one)) break;
      counted.delete(key);
      if (one.entry !== null) ended.push(one.entry);
    }
    return ended;
  }
  const due = (nowMs: number): DataRead[] => end(({ overMs }) => overMs <= nowMs);
  return {
    add(read, nowMs) {
      const ended = due(nowMs);
      const { read_by, site_id, kind, format, rows } = read;
      const key = JSON.stringify([read_by, site_id, kind, format]);
      const one = counted.get(key);
      const own: DataRead = { read_by, site_id, kind, format, rows, first_at: nowMs, last_at: nowMs, reads: 1 };
      if (one !== undefined) {
        one.entry = one.entry === null ? own : together(one.entry, own);
        return ended;
      }
      if (counted.size >= KINDS_MAX) ended.push(...end(() => counted.size >= KINDS_MAX));
      counted.set(key, { overMs: nowMs + SAME_MS, entry: null });
      return [...ended, own];
    },
    due,
    rest: () => end(() => true),
  };
}

const together = (one: DataRead, other: DataRead): DataRead => ({
  ...one,
  last_at: other.last_at,
  reads: one.reads + other.reads,
  rows: one.rows === null || other.rows === null ? null : one.rows + other.rows,
});
