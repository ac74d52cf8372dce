import { randomBytes } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import { type HttpServer, listen } from '#infra/http/http_server.ts';
import type { PartitionSender, SendResult } from '#infra/kafka/sender.ts';
import { createMetrics, type Metrics } from '#infra/metrics/metrics.ts';
import type { EngageGuard, EngageMemoryStore } from '#infra/redis/engage/engage.ts';
import { newRejectionCounts, type RejectionCounts } from '#pipelines/ingestion_warnings/warnings.ts';
import { issueSecret } from '#pipelines/settings/admin_tokens.ts';
import { createConfigAnswers } from '#pipelines/settings/site_config.ts';
import type { SettingsTable } from '#pipelines/settings/table.ts';
import type { FetchScript } from '#pipelines/tag/vendor_scripts.ts';
import type { Event } from '#schemas/event.ts';
import { decodeEntry, readBatch } from '#schemas/event_batch.ts';
import type { InventoryRecord } from '#schemas/records.ts';
import { schemaType } from '#schemas/schemas.ts';
import type { Site } from '#schemas/setting.ts';
import { readWire, writeWire } from '#schemas/wire.ts';
import type { RateLimiter, Reservation } from '#services/edge/admission.ts';
import { createApp } from '#services/edge/app.ts';
import { blockListOf, createAddressNamer, createAnonymousLimiter } from '#services/edge/auth.ts';
import {
  type ConcurrencyLimiter,
  type ConcurrencyLimits,
  createConcurrencyLimiter,
} from '#services/edge/concurrency_limiter.ts';
import { createAudienceNotes, createEngageMemories, createSpamWatch } from '#services/edge/engage/visitor_memory.ts';
import { createIngestService } from '#services/edge/ingest_service.ts';
import { createInventory } from '#services/edge/inventory.ts';
import { createScriptCache } from '#services/edge/loaders/routes.ts';
import type { RequestSpans } from '#services/edge/request_spans.ts';
import { createRejectionRecorder } from '#services/edge/site_activity.ts';
import type { TagScripts } from '#services/edge/tag_files/routes.ts';
import { filledTable, put } from '#test/unit/settings/filled_table.ts';
import { account, apiKey, domainProof, site } from '#test/unit/settings/samples.ts';
import { createMemoryGuard } from './engage/memory_guard.ts';
import { createMemoryOfEngage } from './engage/memory_store.ts';

const SCHEMA_ID = 1;
const PARTITIONS = 4;
const HOST = '127.0.0.1';
/** Signs the tokens of surveys, promos and forms. */
export const ENGAGE_SECRET = Buffer.alloc(32, 4);

/** An edge in this process that sends to memory instead of Kafka. */
export interface TestEdge {
  url: string;
  table: SettingsTable;
  serverKey: string;
  browserKey: string;
  limiter: ConcurrencyLimiter;
  /** Records sent, as the events each holds. */
  records: Event[][];
  inventories: InventoryRecord[];
  /** What the next sends are answered; those beyond it are acknowledged. */
  answers: Promise<SendResult>[];
  /** Hashes of the keys that were let in, as often as they were. */
  usedKeys: string[];
  metrics: Metrics;
  /** What was told of the events that were accepted, by site. */
  accepted: [string, readonly Event[]][];
  /** Passes on what was not accepted, and answers the notes of it by site. */
  refused(): Promise<ReadonlyMap<string, RejectionCounts>>;
  /** Errors inside requests that nobody foresaw. */
  unknown: unknown[];
  close(): Promise<void>;
}

export interface TestEdgeOptions {
  /** Its domains are verified. */
  site?: Partial<Site>;
  browserOrigins?: string[];
  limiter?: Partial<ConcurrencyLimits>;
  /** Absent: no address has a share of its own of what may be open. */
  isExempt?: (clientIp: string) => boolean;
  /** Absent: every request is admitted with all its events. */
  rateLimiter?: RateLimiter;
  /** Requests without a key that an address may send in 10 s; absent: any number. */
  strangersMax?: number;
  /** Pages that are kept of inventories; absent: any number. */
  inventoryPagesMax?: number;
  /** What is served of the tag; absent: no script. */
  tag?: TagScripts;
  /** Whose X-Forwarded-For is believed. */
  trustedProxies?: string[];
  /** The clock of everything but the ingest service; absent: the real one. */
  nowMs?: () => number;
  /** What counts submissions; absent: this process. */
  engageGuard?: EngageGuard;
  /** What visitors saw and did; absent: kept in this process. */
  engageMemory?: EngageMemoryStore;
  /** What gives vendors' scripts; absent: they are unreachable. */
  fetchScript?: FetchScript;
  /** What traces requests; absent: nothing is traced. */
  spans?: RequestSpans;
  /** Told of the headers of each record. */
  onHeaders?: (headers: Record<string, string>) => void;
  /** Told of reservations of which nobody knows what became. */
  onDoubt?: (reservation: Reservation) => void;
}

const addressOf = createAddressNamer(Buffer.alloc(32, 3), blockListOf([]));

const openAdmitter: RateLimiter = {
  limited({ clientIp }) {
    addressOf(clientIp);
    return null;
  },
  async admit({ account: { account_id }, clientIp }, _arrivedMs, wanted) {
    addressOf(clientIp);
    const reservation = { accountId: account_id, month: '2026-01', granted: wanted, lease: '' };
    return { ok: true, reservation, rate: null };
  },
  release: () => undefined,
  markUncertain: () => undefined,
  charge: async () => undefined,
  isShared: () => false,
  stop: () => undefined,
};

const STARTED_MS = Date.UTC(2026, 10, 24);

export async function startEdge(options: TestEdgeOptions = {}): Promise<TestEdge> {
  const server = issueSecret('server', randomBytes);
  const browser = issueSecret('browser', randomBytes);
  const ofSite = site({ domains: ['shop.example'], ...options.site });
  const table = filledTable({ account: account() }, { site: ofSite });
  for (const domain of ofSite.domains) put(table, { domain_proof: domainProof(domain) });
  put(table, { key: apiKey({ key_hash: server.hash, caller: 'server' }) });
  const allowed_origins = options.browserOrigins ?? [];
  put(table, { key: apiKey({ key_hash: browser.hash, caller: 'browser', allowed_origins }) });
  const records: Event[][] = [];
  const inventories: InventoryRecord[] = [];
  const answers: Promise<SendResult>[] = [];
  const unknown: unknown[] = [];
  const usedKeys: string[] = [];
  const accepted: TestEdge['accepted'] = [];
  const limiter = createConcurrencyLimiter({ requestsMax: 1_000, bytesMax: 64 * 1024 * 1024, ...options.limiter });
  const inventoryType = schemaType('inventory');
  const known = new Map<string, string>();
  const metrics = createMetrics('edge');
  const memory = createEngageMemories(
    options.engageMemory ?? createMemoryOfEngage(),
    metrics,
    options.nowMs ?? Date.now,
  );
  const readAudience = createAudienceNotes(table, memory);
  const noted = new Map<string, RejectionCounts>();
  const rejections = createRejectionRecorder({
    metrics: createMetrics('edge'),
    async note(siteId, notes) {
      const known = noted.get(siteId) ?? newRejectionCounts();
      for (const [field, times] of notes.counts) known.counts.set(field, (known.counts.get(field) ?? 0) + times);
      known.samples.push(...notes.samples);
      noted.set(siteId, known);
    },
    markCounted: async () => undefined,
    secret: Buffer.alloc(32, 2),
    nowMs: options.nowMs ?? Date.now,
  });
  const ingestService = createIngestService({
    rateLimiter: options.rateLimiter ?? { ...openAdmitter, markUncertain: options.onDoubt ?? (() => undefined) },
    sender: memorySender(answers, (value, headers) => {
      records.push(eventsOf(value));
      options.onHeaders?.(headers);
    }),
    schemaId: SCHEMA_ID,
    partitions: PARTITIONS,
    anonymousSalt: () => Buffer.alloc(32, 1),
    identitySecret: Buffer.alloc(32, 2),
    randomEventId: uuidv7,
    nowMs: Date.now,
    metrics,
    rejections,
    readAccepted(siteId, events) {
      const note = readAudience(siteId, events);
      return () => {
        note();
        accepted.push([siteId, events]);
      };
    },
  });
  const app: HttpServer = createApp({
    table,
    trustedProxies: options.trustedProxies ?? [],
    tag: options.tag ?? { sources: [], scripts: new Map() },
    identitySecret: Buffer.alloc(32, 2),
    limiter,
    isExempt: options.isExempt ?? (() => true),
    ingestService,
    rejections,
    spans: options.spans ?? null,
    sharesLimits: () => false,
    inventory: createInventory({
      sender: memorySender(answers, (value) => inventories.push(inventoryType.fromBuffer(bodyOf(value)))),
      codec: { encode: (value) => writeWire(SCHEMA_ID, inventoryType.toBuffer(value)) },
      memory: {
        look: async (keyHash, page, found) => {
          const last = known.get(`${keyHash} ${page}`);
          if (last === found) return 'known';
          return last !== undefined || known.size < (options.inventoryPagesMax ?? Number.POSITIVE_INFINITY)
            ? 'new'
            : 'full';
        },
        remember: async (keyHash, page, found) => void known.set(`${keyHash} ${page}`, found),
      },
      partitions: PARTITIONS,
      randomId: uuidv7,
      nowMs: Date.now,
    }),
    configOf: createConfigAnswers(table),
    engage: {
      memory,
      spam: createSpamWatch(options.engageGuard ?? createMemoryGuard(), metrics),
      addressOf,
      secret: ENGAGE_SECRET,
      identitySecret: Buffer.alloc(32, 2),
      randomBytes,
    },
    vendorScripts: createScriptCache({
      fetch: options.fetchScript ?? (async () => ({ ok: false, reason: 'unreachable' })),
      metrics,
      nowMs: options.nowMs ?? Date.now,
      onFailed: (error) => void unknown.push(error),
    }),
    onKeyUsed: (keyHash) => usedKeys.push(keyHash),
    healthy: () => true,
    nowMs: options.nowMs ?? Date.now,
    anonymousLimiter: createAnonymousLimiter({
      requestsMax: options.strangersMax ?? 0,
      windowMs: 10_000,
      addressOf,
      // Its windows do not end while a slow machine fills them.
      nowMs: () => STARTED_MS,
    }),
    errors: { record: (error) => unknown.push(error), succeeded: () => undefined },
  });
  const port = await listen(app, HOST, 0);
  return {
    url: `http://${HOST}:${port}`,
    table,
    serverKey: server.secret,
    browserKey: browser.secret,
    limiter,
    records,
    inventories,
    answers,
    usedKeys,
    metrics,
    accepted,
    async refused() {
      await rejections.stop();
      return noted;
    },
    unknown,
    close: () => app.close(),
  };
}

function memorySender(
  answers: Promise<SendResult>[],
  keep: (value: Buffer, headers: Record<string, string>) => void,
): PartitionSender {
  return {
    async send(_partition, value, headers = {}) {
      const result = (await answers.shift()) ?? { ok: true };
      if (result.ok) keep(value, headers);
      return result;
    },
    queuedBytes: () => 0,
    oldestMs: () => 0,
    stop: async () => undefined,
  };
}

function eventsOf(value: Buffer): Event[] {
  return readBatch(bodyOf(value)).map((view) => decodeEntry(view).event);
}

function bodyOf(value: Buffer): Buffer {
  const wire = readWire(value);
  if (!wire.ok) throw new Error(wire.code);
  return wire.body;
}
