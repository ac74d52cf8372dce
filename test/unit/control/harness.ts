import { createHash } from 'node:crypto';
import { Type } from 'typebox';
import { type AlertFacts, applyChanges } from '#infra/alerts/alert_topic.ts';
import type { AnalystUser } from '#infra/clickhouse/analysts/analyst_users.ts';
import type { CohortLists } from '#infra/clickhouse/cohort_members.ts';
import type { RateStore } from '#infra/clickhouse/currency_rates.ts';
import type { WriteParquet } from '#infra/clickhouse/parquet.ts';
import type { RunningQuery } from '#infra/clickhouse/queries/running_queries.ts';
import type { RunSql } from '#infra/clickhouse/queries/sql_query.ts';
import { isAddressAllowed } from '#infra/egress/ssrf_guard.ts';
import type { HttpServer } from '#infra/http/http_server.ts';
import { createLogger } from '#infra/log/logger.ts';
import type { ProviderClient } from '#infra/oidc/provider_client.ts';
import type { PlannedSplit } from '#infra/persons/person_splits.ts';
import { RedisUnavailableError } from '#infra/redis/client.ts';
import type { RejectionRecord, TagRecord } from '#infra/redis/edge_reports.ts';
import type { GroupedPerson } from '#infra/redis/indexes/identity_index.ts';
import type { OneTimeTokens } from '#infra/redis/sessions.ts';
import { createPasswords } from '#infra/secrets/password.ts';
import { parseKeyRing } from '#infra/secrets/seal.ts';
import type { DataReadLog } from '#infra/settings/data_read_log.ts';
import type { Adapter } from '#pipelines/delivery/contract.ts';
import { secretField, textField } from '#pipelines/delivery/setting_fields.ts';
import { splitPlan } from '#pipelines/identity/identity.ts';
import { OWNER_OF_ALL, type Role } from '#pipelines/settings/access.ts';
import { hashKey } from '#pipelines/settings/callers.ts';
import { blankUser } from '#pipelines/settings/dashboard_users.ts';
import type { DnsResolver } from '#pipelines/settings/domains.ts';
import {
  auditedRecords,
  createSettingsView,
  type Planned,
  type SettingRecord,
  type SettingsJournal,
  type SettingsView,
} from '#pipelines/settings/journal.ts';
import type { DataRead, IdentityLink, ReplayProgress } from '#schemas/records.ts';
import type { User } from '#schemas/setting.ts';
import { createControlApp } from '#services/control/app.ts';
import { createDataReadAudit, gateDataReads } from '#services/control/audit/routes.ts';
import type { TestSend } from '#services/control/destinations/delivery.ts';
import { createQueryAnswers, createSqlAnswers, type RunQuery } from '#services/control/queries/answers.ts';
import { limitDeadLetterReads } from '#services/control/redelivery/dead_letter_routes.ts';
import { createSessionKeeper, createSignInAudit, createUserSecrets } from '#services/control/users/sign_in.ts';
import { ensureFirstToken } from '#services/control/users/tokens.ts';
import type { Transport } from '#services/control_api/client.ts';
import type { StageItem } from '#services/control_api/operations.ts';
import { injected } from '#test/harness/control_in_process.ts';
import type { DnsReply } from '#test/harness/dns_server.ts';
import { testPhoneHmac } from '#test/harness/event_row.ts';
import { memoryDns } from '#test/harness/memory_dns.ts';
import { undocumented } from './documented.ts';
import { memoryAnalysts } from './memory_analysts.ts';
import { type MemoryDeadLetters, memoryDeadLetters } from './memory_letters.ts';
import { type MemoryPersons, memoryPersons } from './memory_persons.ts';
import { type MemorySessions, memoryLimits, memoryNotes, memorySessions, memoryShareUse } from './memory_sessions.ts';

export const NOW_MS = Date.UTC(2026, 10, 21, 12, 0, 0);
export const TOKEN = `svc_at_${'T'.repeat(32)}`;
export const PASSWORD = 'correct horse battery';
const quiet = createLogger('test', 'silent');
/** Cheap, as tests hash many. */
const passwords = createPasswords({ ln: 10, r: 8, p: 1 });
export const LABEL = 'tester';
export const DOMAIN_RULES = { cnameTarget: 'edge.example', graceMs: 72 * 3_600_000 };

/** A journal in memory, which remembers what was appended and can be told to fail. */
interface MemoryJournal extends SettingsJournal {
  records: SettingRecord[];
  failure: Error | null;
  /** What happens once before the next change has its turn. */
  before: (() => Promise<unknown>) | null;
}

function memoryJournal(view: SettingsView = createSettingsView()): MemoryJournal {
  const journal: MemoryJournal = {
    records: [],
    failure: null,
    before: null,
    view: () => view,
    async change<T>(plan: (view: SettingsView) => Planned<T>): Promise<T> {
      const { before } = journal;
      journal.before = null;
      await before?.();
      const { records, result } = plan(view);
      if (journal.failure !== null && records.length > 0) throw journal.failure;
      for (const record of records) {
        // As read back from the topic: values of their own, that nobody else holds.
        const applied = view.apply(record.key, structuredClone(record.setting));
        if (!applied.ok) throw new Error(applied.code);
        // How much somebody has made of their day is written with every change.
        if (!record.setting?.changes_made) journal.records.push(record);
      }
      return result;
    },
  };
  return journal;
}

export interface Answer {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape.
  body: any;
  headers: Record<string, string | string[] | number | undefined>;
  etag: string;
  text: string;
}

export interface CallOptions {
  body?: unknown;
  token?: string | null;
  ifMatch?: string;
  headers?: Record<string, string>;
}

export interface Control {
  app: HttpServer;
  journal: MemoryJournal;
  clock: { nowMs: number };
  /** Errors inside requests that nobody foresaw. */
  unknown: unknown[];
  /** When keys were used, by their hashes. */
  used: Map<string, number>;
  /** Events settled this month, by account. */
  monthUsed: Map<string, number>;
  /** How far replays are, by their ids. */
  replays: Map<string, ReplayProgress>;
  /** What is remembered of the tags of sites; 'away' where it is not to be had. */
  tags: Map<string, TagRecord | 'away'>;
  /** What was not accepted of sites; 'away' where that is not to be had. */
  rejections: Map<string, RejectionRecord | 'away'>;
  deadLetters: MemoryDeadLetters;
  /** What alerts were judged by and what fired; tests that were asked for are among them. */
  alerts: AlertFacts;
  /** Who read data of people, in the order it was written. */
  dataReads: DataRead[];
  /** Test events that were sent. */
  tried: TestSend[];
  /** What ClickHouse is at work on; a query that is cancelled is taken out. */
  running: RunningQuery[];
  /** Users of ClickHouse that analysts have, with the hashes of their passwords; null: none can be made here. */
  analysts: { users: Map<string, AnalystUser & { passwordSha256: string }> | null };
  /** Who is one person, by which edges, and what was split of them. */
  splits: { group: GroupedPerson[]; edges: IdentityLink[]; made: PlannedSplit[]; isAsPlanned: boolean };
  /** What is known of persons, and which erasures were asked for. */
  persons: MemoryPersons;
  /** Providers at which people sign in. */
  providers: ProviderClient[];
  /** Roles that take a second factor; none at first. */
  secondFactorRoles: Role[];
  /** What Redis holds of sessions and sign-ins. */
  sessions: MemorySessions;
  /** Sign-ins that are under way at providers, and invitations. */
  notes: OneTimeTokens;
  rates: RateStore;
  /** Makes a user who may sign in with the password `PASSWORD`. */
  addUser(changes?: Partial<User>): Promise<User>;
  /** What the name servers hold, by kind and name; 'silent' under `*` where they are away. */
  zone: Map<string, DnsReply>;
  dns: DnsResolver;
  transport: Transport;
  call(method: string, path: string, options?: CallOptions): Promise<Answer>;
  /** The bytes of an answer that is no text. */
  bytes(method: string, path: string, body: object): Promise<{ contentType: string; bytes: Buffer }>;
}

const stagesOf = (names: readonly string[]): StageItem[] =>
  names.map((stage) => ({ stage, consumers: 1, lag: 0, waits_longer_than_ms: null, on_lanes: 0, rate: null }));

const NOTHING_SEEN: TagRecord = { lastMs: null, hours: new Map(), pages: [], fired: new Map(), reported: new Map() };

const neverAsked = (): never => {
  throw new Error('there is no ClickHouse here');
};

/** A control service in memory with one admin token; what is to be queried goes to `asks`. */
export async function control(
  label = LABEL,
  asks?: RunQuery,
  writeParquet?: WriteParquet,
  askSql?: RunSql,
  cohortLists: CohortLists = memoryCohortLists(),
): Promise<Control> {
  let randomness = 0;
  const clock = { nowMs: NOW_MS };
  const journal = memoryJournal();
  const unknown: unknown[] = [];
  const used = new Map<string, number>();
  const replays = new Map<string, ReplayProgress>();
  const tags: Control['tags'] = new Map();
  const rejections: Control['rejections'] = new Map();
  const zone: Control['zone'] = new Map();
  const dns = memoryDns((name, kind) => zone.get('*') ?? zone.get(`${kind} ${name}`) ?? 'nxdomain');
  const running: RunningQuery[] = [];
  const rates = memoryRates();
  const analysts: Control['analysts'] = { users: new Map() };
  const splits: Control['splits'] = { group: [], edges: [], made: [], isAsPlanned: true };
  const persons = memoryPersons(() => clock.nowMs);
  const providers: ProviderClient[] = [];
  const secondFactorRoles: Role[] = [];
  const tried: TestSend[] = [];
  const deadLetters = memoryDeadLetters(() => clock.nowMs);
  const monthUsed = new Map<string, number>();
  const dataReads: DataRead[] = [];
  const dataReadLog = memoryDataReads(dataReads);
  const sessions = memorySessions(() => clock.nowMs);
  const notes = memoryNotes(sessions, () => clock.nowMs);
  const random = (bytes: number): Uint8Array => shake(String(randomness++), bytes);
  const userSecrets = createUserSecrets(parseKeyRing(`k1:${Buffer.alloc(32, 7).toString('base64')}`), random, quiet);
  await ensureFirstToken(journal, { hash: hashKey(TOKEN), label }, NOW_MS);
  journal.records.length = 0;
  const alerts: AlertFacts = { states: new Map(), fired: new Map() };
  const app = createControlApp({
    alerts: { all: alerts, request: async (fired) => applyChanges(alerts, { fired: [fired] }) },
    journal,
    ownNames: { publicUrl: new URL('https://control.example'), hosts: ['control.internal'] },
    trustedProxies: [],
    sessions: createSessionKeeper(sessions.store, random, () => clock.nowMs),
    limits: memoryLimits(sessions),
    shareUse: memoryShareUse(sessions),
    passwords,
    userSecrets,
    oidc: { providers, notes },
    secondFactorRoles,
    signInAudit: createSignInAudit(journal, quiet, () => clock.nowMs),
    adapters: [crm],
    deadLetters: limitDeadLetterReads(deadLetters),
    dataReads: {
      read: createDataReadAudit(dataReadLog, quiet, () => clock.nowMs).read,
      list: gateDataReads(dataReadLog),
    },
    queries: createQueryAnswers(
      asks ?? neverAsked,
      () => clock.nowMs,
      () => undefined,
      writeParquet ?? neverAsked,
      createSqlAnswers(
        askSql ?? null,
        () => clock.nowMs,
        () => undefined,
      ),
    ),
    rates,
    cohortLists,
    running: {
      list: async () => running,
      async cancel(id) {
        const at = running.findIndex((one) => one.id === id);
        return at < 0 ? null : (running.splice(at, 1)[0] ?? null);
      },
    },
    get analysts() {
      return analysts.users === null ? null : memoryAnalysts(analysts.users);
    },
    stages: { read: async (names) => stagesOf(names) },
    sendTest: async (test) => {
      tried.push(test);
      return {
        outcome: 'delivered',
        reason: '',
        detail: '',
        tookMs: 12,
        retryAfterMs: null,
        answer: { status: 200, body: 'ok' },
      };
    },
    replayProgress: (id) => replays.get(id),
    replaysNow: async () => replays,
    readTagRecord: async (siteId) => {
      const record = tags.get(siteId) ?? NOTHING_SEEN;
      if (record === 'away') throw new RedisUnavailableError('redis: away');
      return record;
    },
    readSiteRejections: async (siteId) => {
      const record = rejections.get(siteId) ?? { sinceMs: null, hours: [], samples: [] };
      return record === 'away' ? null : record;
    },
    monthUse: { refresh: async () => undefined, used: (accountId) => monthUsed.get(accountId) ?? null },
    keyUse: { refresh: async () => undefined, lastUsed: (keyHash) => used.get(keyHash) ?? null },
    seal: ({ siteId, destination, field }, value) =>
      `k1.${'A'.repeat(16)}.${Buffer.from(`${siteId}/${destination}/${field}/${value}`).toString('base64url')}`,
    keyedIdentifier: (_siteId, identifier, sha256) => `${identifier} ${sha256}`,
    visitorNode: (_siteId, distinctId) => `u:${distinctId}`,
    splits: {
      groupsOf: async () => splits.group,
      async plan(siteId, group, moved, taken) {
        const plan = splitPlan(
          group.map(({ person }) => person),
          (person) => moved.has(person),
          splits.edges,
          taken,
        );
        const [stayed, taking] = plan.groups;
        const [former_person_id = '', person_id = ''] = [stayed[0], taking[0]];
        const rows = { site_id: siteId, moved: taking, stayed, version: 0, split_at: clock.nowMs };
        return { plan, rows: { ...rows, person_id, former_person_id }, rowCount: 3 };
      },
      async split(planned) {
        splits.made.push(planned);
        return splits.isAsPlanned;
      },
    },
    phoneHmacs: (siteId, sha256) => [testPhoneHmac(siteId, sha256)],
    ...persons.ports,
    dns,
    domainRules: DOMAIN_RULES,
    edgeUrl: 'https://edge.example',
    randomBytes: random,
    isAddressAllowed: (address) => isAddressAllowed(address, false),
    nowMs: () => clock.nowMs,
    healthy: () => journal.failure === null,
    errors: { record: (error) => unknown.push(error), succeeded: () => undefined },
    dashboard: async () => null,
  });
  return {
    app,
    journal,
    clock,
    unknown,
    used,
    monthUsed,
    replays,
    tags,
    rates,
    rejections,
    deadLetters,
    alerts,
    dataReads,
    tried,
    running,
    analysts,
    splits,
    persons,
    providers,
    secondFactorRoles,
    sessions,
    notes,
    async addUser(changes = {}) {
      const user_id = changes.user_id ?? 'ada';
      const password = userSecrets.seal(user_id, 'password', await passwords.hash(PASSWORD));
      const user = { ...blankUser(user_id, 'Ada', NOW_MS), grants: [OWNER_OF_ALL], password, ...changes };
      await journal.change((view) => ({
        records: auditedRecords(view, [{ body: { user } }], 'test', clock.nowMs),
        result: null,
      }));
      journal.records.length = 0;
      return user;
    },
    zone,
    dns,
    transport: injected(app),
    async bytes(method, path, body) {
      const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
      const response = await app.inject({ method: method as 'GET', url: path, headers, payload: JSON.stringify(body) });
      return { contentType: String(response.headers['content-type']), bytes: response.rawPayload };
    },
    async call(method, path, { body, token = TOKEN, ifMatch, headers = {} } = {}) {
      const response = await app.inject({
        method: method as 'GET',
        url: path.startsWith('/') ? path : `/v1/admin/${path}`,
        headers: {
          ...(token === null ? {} : { authorization: `Bearer ${token}` }),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...(ifMatch === undefined ? {} : { 'if-match': ifMatch }),
          ...headers,
        },
        ...(body === undefined ? {} : { payload: typeof body === 'string' ? body : JSON.stringify(body) }),
      });
      const url = path.startsWith('/') ? path : `/v1/admin/${path}`;
      const isJson = response.headers['content-type']?.includes('json') === true;
      const strange = isJson ? undocumented(method, url, response.statusCode, response.json()) : [];
      if (strange.length > 0) throw new Error(strange.join('\n'));
      return {
        status: response.statusCode,
        body: isJson ? response.json() : null,
        headers: response.headers,
        etag: String(response.headers['etag'] ?? ''),
        text: response.body,
      };
    },
  };
}

/** A control service with an account `acme` and a site `shop`. */
export async function controlWithShop(asks?: RunQuery): Promise<Control> {
  const world = await control(LABEL, asks);
  await world.call('POST', 'accounts', { body: { account_id: 'acme', monthly_allowance: 1000 } });
  await world.call('POST', 'sites', { body: { site_id: 'shop', account_id: 'acme' } });
  world.journal.records.length = 0;
  return world;
}

function memoryDataReads(reads: DataRead[]): Pick<DataReadLog, 'append' | 'list'> {
  return {
    append: async (more) => void reads.push(...more),
    async list({ beforeSeq, limit, matches }) {
      const numbered = reads.map((read, at) => ({ ...read, seq: at + 1 })).reverse();
      const found = numbered.filter((read) => read.seq < (beforeSeq ?? Number.POSITIVE_INFINITY) && matches(read));
      return {
        reads: found.slice(0, limit),
        next: found[limit] === undefined ? null : (found[limit - 1]?.seq ?? null),
      };
    },
  };
}

/** Bytes that look random and are the same in every run. */
function shake(seed: string, bytes: number): Uint8Array {
  return createHash('shake256', { outputLength: bytes }).update(seed).digest();
}

const unused = (): never => {
  throw new Error('the control service does not send');
};

const crm: Adapter = {
  name: 'crm',
  title: 'CRM',
  schema: Type.Object({
    url: textField({ title: 'Address', called: true, pattern: '^https://' }),
    note: Type.Optional(textField({ title: 'Note' })),
    token: secretField({ title: 'Token' }),
    spare: Type.Optional(secretField({ title: 'Spare token' })),
    signing: Type.Optional(secretField({ title: 'Signing secret', signs: true })),
  }),
  anonymousEvents: 'send',
  advertising: 'none',
  limits: unused,
  ageMaxMs: () => null,
  map: unused,
  overheadBytes: unused,
  request: unused,
  classify: unused,
};

function memoryCohortLists(): CohortLists {
  const lists = new Map<string, Set<string>>();
  const listOf = (siteId: string, list: string): Set<string> => lists.get(`${siteId}/${list}`) ?? new Set();
  return {
    async add(siteId, list, members) {
      const texts = members.map(({ kind, value }) => `${kind} ${value}`);
      lists.set(`${siteId}/${list}`, new Set([...listOf(siteId, list), ...texts]));
    },
    async copy(siteId, from, to, without) {
      const left = new Set([...listOf(siteId, to), ...listOf(siteId, from)]);
      for (const { kind, value } of without) left.delete(`${kind} ${value}`);
      lists.set(`${siteId}/${to}`, left);
    },
    async count(siteId, list) {
      const [cohort] = list.split('.');
      const together = [...lists].filter(([name]) => name.startsWith(`${siteId}/${cohort}.`));
      return {
        listed: listOf(siteId, list).size,
        together: together.reduce((sum, [, members]) => sum + members.size, 0),
      };
    },
    async forget(siteId, gone, live) {
      for (const name of lists.keys()) {
        const list = name.slice(siteId.length + 1);
        if (name.startsWith(`${siteId}/${gone}`) && !live.includes(list)) lists.delete(name);
      }
    },
  };
}

function memoryRates(): RateStore {
  let base: string | null = null;
  const days = new Map<string, string[]>();
  return {
    read: async () => ({
      base,
      currencies: [...days]
        .map(([currency, of]) => ({ currency, first: of[0] ?? '', last: of.at(-1) ?? '', days: of.length }))
        .sort((a, b) => (a.currency < b.currency ? -1 : 1)),
    }),
    async write(against, rates) {
      base = against;
      for (const { currency, day } of rates.flatMap((rate) => [rate, { ...rate, currency: against }])) {
        days.set(currency, [...new Set([...(days.get(currency) ?? []), day])].sort());
      }
    },
    async clear() {
      base = null;
      days.clear();
    },
  };
}
