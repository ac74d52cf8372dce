// The audit: who changed what, and who read data of persons, which is recorded here beside the answers.
import type { QueryCaller } from '#infra/clickhouse/queries/running_queries.ts';
import type { Logger } from '#infra/log/logger.ts';
import type { DataReadLog } from '#infra/settings/data_read_log.ts';
import { OWNER_OF_ALL, type Place, placeOf } from '#pipelines/settings/access.ts';
import { type AuditRecord, createDataReadEntries, type OneRead } from '#pipelines/settings/audit.ts';
import { actorOf } from '#pipelines/settings/dashboard_users.ts';
import { parseSettingKey, type SettingsTable } from '#pipelines/settings/table.ts';
import type { DataRead } from '#schemas/records.ts';
import type { Grant } from '#schemas/setting.ts';
import * as api from '#services/control_api/audit.ts';
import { createQueryGate } from '../queries/answers.ts';
import { ofListed, placeOfSite, resource, route, shown } from '../route.ts';

const LIMIT = 100;
export const auditRoutes = resource('Audit', [
  route('GET', '/v1/admin/audit', 'listChanges', {
    access: ofListed('audit.read'),
    summary:
      'List the newest 5,000 changes and 2,000 sign-ins and refusals of each account, newest first: who changed what, when, from what to what',
    query: api.auditQuery,
    success: { status: 200, schema: api.auditPage, description: 'Changes; secrets are named, never shown' },
    run({ query }, { view, may }) {
      const { limit = LIMIT, before = null } = query;
      const isSeen = (record: AuditRecord) => placesOf(record, view.table).every((place) => may('audit.read', place));
      const found = view.audit.list(limit + 1, before, (record) => isWanted(record, query) && isSeen(record));
      const taken = found.slice(0, limit);
      const next = found.length > limit ? (taken.at(-1)?.seq ?? null) : null;
      return shown({ items: taken.map(itemOf), next });
    },
  }),
  route('GET', '/v1/admin/audit/reads', 'listDataReads', {
    access: ofListed('audit.read'),
    summary:
      'List who read data of people, newest first: what, of which site, how often and how many rows, and never what it said; a page may be short and yet not the last',
    query: api.dataReadQuery,
    success: {
      status: 200,
      schema: api.dataReadPage,
      description: 'Reads; the same again within ten minutes is one more',
    },
    errors: ['data_reads_unavailable', 'query_busy', 'query_cancelled'],
    async gather({ query }, { listDataReads }, { may }) {
      const asked = query;
      const { reads, next } = await listDataReads({
        beforeSeq: asked.before ?? null,
        sinceMs: asked.since ?? null,
        limit: asked.limit ?? LIMIT,
        matches: (read) => isReadWanted(read, asked) && may('audit.read', { site: read.site_id }),
      });
      return { kind: 'answered', body: { items: reads, next } };
    },
  }),
]);

/** Where a change is: that of a user or a token wherever they may something, now, before it or after it. */
function placesOf(record: AuditRecord, table: SettingsTable): Place[] {
  const { setting_key, before, after } = record;
  const address = parseSettingKey(setting_key);
  if (address === null || !('userId' in address || 'tokenHash' in address)) return [placeOfKey(record, table)];
  const now = 'userId' in address ? table.user(address.userId)?.grants : table.adminToken(address.tokenHash)?.grants;
  const grants = [now, grantsIn(before), grantsIn(after)].flatMap((some) => some ?? []);
  return grants.length === 0 ? ['installation'] : grants.map(placeOf);
}

/** A token without grants may do everything. */
function grantsIn(text: string | null): readonly Grant[] {
  const { grants } = (text === null ? {} : JSON.parse(text)) as { grants?: Grant[] | null };
  return grants === null ? [OWNER_OF_ALL] : (grants ?? []);
}

/** Where a fact is; what is of no site and no account is the installation's. */
function placeOfKey({ setting_key, before, after }: AuditRecord, table: SettingsTable): Place {
  const address = parseSettingKey(setting_key);
  if (address === null) return 'installation';
  if ('siteId' in address) return { site: address.siteId };
  if (address.kind === 'account') return { account: address.accountId };
  // Keys and replays that made room for others are where they were.
  if ('keyHash' in address) return placeOfSite(table.keyByHash(address.keyHash)?.site_id ?? siteIn(before ?? after));
  if (!('replayId' in address)) return 'installation';
  return placeOfSite(table.replay(address.replayId)?.site_id ?? siteIn(before ?? after));
}

const siteIn = (text: string | null): string | null =>
  text === null ? null : ((JSON.parse(text) as { site_id?: string | null }).site_id ?? null);

function isWanted(
  record: AuditRecord,
  { setting_key: key, changed_by: by, kind, since, until }: api.AuditQuery,
): boolean {
  if (by !== undefined && record.changed_by !== by && record.changed_by !== actorOf(by)) return false;
  if (record.changed_at < (since ?? 0) || record.changed_at >= (until ?? Number.POSITIVE_INFINITY)) return false;
  if (key !== undefined && !(key.endsWith('/') ? record.setting_key.startsWith(key) : record.setting_key === key)) {
    return false;
  }
  return kind === undefined || kindOf(record) === kind;
}

const KINDS: Readonly<Record<string, api.AuditKind>> = {
  'user.sign_in': 'sign_in',
  'user.code_asked': 'sign_in',
  'user.sign_in_refused': 'refusal',
  'permission.refused': 'refusal',
};

/** What was done and changed no fact says it by `done`. */
function kindOf({ before, after }: AuditRecord): api.AuditKind {
  if (before !== '{}') return 'change';
  return KINDS[String(parsed(after)?.['done'])] ?? 'change';
}

function itemOf(record: AuditRecord): api.AuditItem {
  const { seq, changed_at, changed_by, setting_key, action, secrets_changed } = record;
  const sides = { before: parsed(record.before), after: parsed(record.after) };
  return { seq, changed_at, changed_by, setting_key, action, ...sides, secrets_changed };
}

function parsed(text: string | null): Record<string, unknown> | null {
  return text === null ? null : JSON.parse(text);
}

function isReadWanted(read: DataRead, { site_id, read_by: by, kind, since, until }: api.DataReadQuery): boolean {
  if (site_id !== undefined && read.site_id !== site_id) return false;
  if (by !== undefined && read.read_by !== by && read.read_by !== actorOf(by)) return false;
  if (read.last_at < (since ?? 0) || read.first_at >= (until ?? Number.POSITIVE_INFINITY)) return false;
  return kind === undefined || read.kind === kind;
}

/** Records who reads data of people, beside the answer: nobody waits for it. */
export interface DataReadAudit {
  read(read: OneRead): void;
  /** Writes what was counted and is over; to be called now and then. */
  sweep(): Promise<void>;
  /** Writes everything. */
  stop(): Promise<void>;
}

/** Entries that wait for Kafka; what is dropped of more stands in the log. */
const ENTRIES_WAITING_MAX = 10_000;

export function createDataReadAudit(
  { append }: Pick<DataReadLog, 'append'>,
  logger: Logger,
  nowMs: () => number,
): DataReadAudit {
  const entries = createDataReadEntries();
  let waiting: DataRead[] = [];
  let writing: Promise<void> = Promise.resolve();

  function write(some: readonly DataRead[]): Promise<void> {
    for (const entry of some) logger.info({ ...entry }, 'data of people was read');
    waiting.push(...some);
    writing = writing.then(async () => {
      const batch = waiting;
      if (batch.length === 0) return;
      waiting = [];
      try {
        await append(batch);
      } catch (error) {
        waiting = [...batch, ...waiting].slice(-ENTRIES_WAITING_MAX);
        logger.error({ err: error, waiting: waiting.length }, 'writing the audit of data reads failed, retrying');
      }
    });
    return writing;
  }
  return {
    read: (read) => void write(entries.add(read, nowMs())),
    sweep: () => write(entries.due(nowMs())),
    stop: () => write(entries.rest()),
  };
}

/** Looks up who read what, for somebody who asks. */
export type ListDataReads = (
  query: Parameters<DataReadLog['list']>[0],
  asker: QueryCaller,
) => ReturnType<DataReadLog['list']>;

/** Each reads Kafka anew, by a group of its own. */
const READ_LISTS_AT_ONCE = { atOnce: 2, siteAtOnce: 1 };

/** Lets two through at once, and one of each who asks. */
export function gateDataReads({ list }: Pick<DataReadLog, 'list'>): ListDataReads {
  const gate = createQueryGate(READ_LISTS_AT_ONCE);
  return (query, { label, signal }) => gate.pass(label, signal, () => list(query));
}
