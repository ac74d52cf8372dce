import { isDeepStrictEqual } from 'node:util';
import type { AuditAction, AuditEntry, Setting, Site, User } from '#schemas/setting.ts';
import { parseEventDefinition } from './event_definitions.ts';
import { AUDIT_SLOTS } from './setting_address.ts';

/** One change with who made it and when, in milliseconds since 1970 UTC. */
export interface AuditRecord extends AuditEntry {
  changed_at: number;
  changed_by: string;
}

/** What an entry is of: a change that somebody made, or a sign-in, or a refusal. */
export type AuditKind = 'change' | 'access';

/** The newest changes, newest first. */
export interface AuditLog {
  /** Number of the newest entry; 0 when there was none. */
  readonly lastSeq: number;
  /** The numbers of the next entries of a kind. They grow, and leave some out: the slot of an entry is what its number says. */
  nextSeqs(kind: AuditKind, count: number): number[];
  apply(setting: Setting): void;
  /**
   * How many changes, of those that are remembered, somebody has made since a time (milliseconds since 1970 UTC).
   *
   * @param isTheirs Whether what changes name so at a time is theirs.
   */
  changesSince(sinceMs: number, isTheirs: (changedBy: string, changedMs: number) => boolean): number;
  /**
   * @param beforeSeq Only changes with a smaller number; null for all.
   * @param matches Which changes are wanted.
   */
  list(limit: number, beforeSeq: number | null, matches: (record: AuditRecord) => boolean): AuditRecord[];
}

/** Each kind has slots of its own, so that neither pushes the other out. Slots filled before there were kinds are read on. */
const SLOTS_OF: Record<AuditKind, { first: number; count: number }> = {
  change: { first: 0, count: 8_000 },
  access: { first: 8_000, count: 2_000 },
};

const kindOf = (slot: number): AuditKind => (slot < SLOTS_OF.access.first ? 'change' : 'access');

/** An empty log that remembers as many entries as there are slots, whatever order they come in. */
export function createAuditLog(): AuditLog {
  const slots = new Map<number, AuditRecord>();
  let lastSeq = 0;
  /** The number of the newest entry in the slots of each kind. */
  const lastOf: Record<AuditKind, number> = { change: SLOTS_OF.change.first, access: SLOTS_OF.access.first };
  let newestFirst: readonly AuditRecord[] | null = null;
  return {
    get lastSeq() {
      return lastSeq;
    },
    nextSeqs(kind, count) {
      const own = SLOTS_OF[kind];
      const seqs: number[] = [];
      let slot = lastOf[kind] % AUDIT_SLOTS;
      for (let last = lastSeq; seqs.length < count; seqs.push(last)) {
        slot = own.first + ((slot + 1 - own.first) % own.count);
        const inThisRound = last - (last % AUDIT_SLOTS) + slot;
        last = inThisRound > last ? inThisRound : inThisRound + AUDIT_SLOTS;
      }
      return seqs;
    },
    apply({ audit, changed_at, changed_by }) {
      if (!audit) return;
      const slot = audit.seq % AUDIT_SLOTS;
      if ((slots.get(slot)?.seq ?? 0) < audit.seq) slots.set(slot, { ...audit, changed_at, changed_by });
      const kind = kindOf(slot);
      lastOf[kind] = Math.max(lastOf[kind], audit.seq);
      lastSeq = Math.max(lastSeq, audit.seq);
      newestFirst = null;
    },
    changesSince(sinceMs, isTheirs) {
      let count = 0;
      for (const [slot, { changed_by, changed_at }] of slots) {
        if (changed_at > sinceMs && kindOf(slot) === 'change' && isTheirs(changed_by, changed_at)) count += 1;
      }
      return count;
    },
    list(limit, beforeSeq, matches) {
      newestFirst ??= [...slots.values()].sort((a, b) => b.seq - a.seq);
      const found: AuditRecord[] = [];
      for (const record of newestFirst) {
        if (found.length === limit) break;
        if (record.seq < (beforeSeq ?? Number.POSITIVE_INFINITY) && matches(record)) found.push(record);
      }
      return found;
    },
  };
}

/** The entry for one change of a fact: the fields that differ, without secrets. */
export function auditEntry(seq: number, settingKey: string, before: Setting | null, after: Setting | null): AuditEntry {
  const [left, right] = differences(shown(before), shown(after));
  return {
    seq,
    setting_key: settingKey,
    action: actionOf(before, after),
    before: left === null ? null : JSON.stringify(left),
    after: right === null ? null : JSON.stringify(right),
    secrets_changed: secretsChanged(secretsOf(before), secretsOf(after)),
  };
}

/** The entry for something that was done and changed no fact. */
export function doneEntry(seq: number, about: string, done: Fields): AuditEntry {
  const after = JSON.stringify(shortened(done));
  return { seq, setting_key: about, action: 'change', before: '{}', after, secrets_changed: [] };
}

function actionOf(before: Setting | null, after: Setting | null): AuditAction {
  if (before === null) return 'create';
  return after === null ? 'delete' : 'change';
}

type Fields = Record<string, unknown>;

/** The body of a setting as people may see it: of secrets only the names. */
function shown(setting: Setting | null): Fields | null {
  if (setting === null) return null;
  const { account, site, key, destination, admin_token, replay, engage, domain_proof, saved, user } = setting;
  if (site !== null) return shownSite(site);
  if (destination !== null) return { ...destination, secrets: Object.keys(destination.secrets) };
  if (user) return shownUser(user);
  if (saved) return { ...saved, definition: parsed(saved.definition) };
  if (engage) return { ...engage, definition: parsed(engage.definition) };
  return { ...(account ?? key ?? admin_token ?? replay ?? domain_proof) };
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
