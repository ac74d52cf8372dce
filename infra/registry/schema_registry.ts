// The schema registry: client, retries while it is away, and registration of schemas.

import { setTimeout as sleep } from 'node:timers/promises';
import { COMPATIBILITY, SchemaRegistry, SchemaType } from '@kafkajs/confluent-schema-registry';
import { createProbe, monotonicMs, type Probe } from '#infra/concurrency/time_limits.ts';
import { recoveryOf } from '#infra/errors.ts';
import type { Logger } from '#infra/log/logger.ts';
import { type SchemaName, schemaText } from '#schemas/schemas.ts';
import { type AvroType, avroType } from '#schemas/wire.ts';

/** What a reader of before reads, and one of long ago. */
export const SUBJECT_COMPATIBILITY = COMPATIBILITY.BACKWARD_TRANSITIVE;

/** What passes: the registry answers again, has the schema, or this process is upgraded. */
const WAITED_FOR: ReadonlySet<string> = new Set(['registry_unavailable', 'schema_awaited', 'schema_newer']);

/** The registry cannot be reached or refuses. Try again later, or stop. */
export class RegistryError extends Error {
  readonly code:
    | 'registry_unavailable'
    | 'schema_awaited'
    | 'schema_newer'
    | 'schema_incompatible'
    | 'compatibility_mismatch'
    | 'schema_unregistered';
  readonly recovery: 'wait' | 'stop';

  constructor(code: RegistryError['code'], message: string, cause: unknown) {
    super(message, { cause });
    this.code = code;
    this.recovery = WAITED_FOR.has(code) ? 'wait' : 'stop';
  }
}

/** Value subject of a topic (TopicNameStrategy). */
export function subjectOf(topic: string): string {
  return `${topic}-value`;
}

export type Registry = ReturnType<typeof createRegistry>;

/** How long to wait for a schema that the registry does not know. The record's partition waits with it. */
const AWAITED_MS = 15_000;
/** How long not to wait again after waiting in vain, so that records with made-up ids do not hold up the others. */
const NOT_AWAITED_MS = 300_000;
/** How long it is cached that the registry does not know an id, and how many such ids are cached. */
const UNKNOWN_MS = 5_000;
const UNKNOWN_MAX = 1_000;
/** Longest without an answer: a registry that hangs must not hang who asks it. Each request is tried six times. */
const TIMEOUT_MS = 10_000;

/** By itself the client waits for an answer without end. */
const createClient = (host: string, timeout: number): SchemaRegistry =>
  new SchemaRegistry({
    host,
    retry: { retries: 5, initialRetryTimeInSecs: 0.1 },
    middlewares: [() => ({ prepareRequest: (next) => next().then((request) => request.enhance({ timeout })) })],
  });

interface RegistryOptions {
  /** Of the names of topics, and so of their subjects. */
  topicPrefix?: string | null;
  nowMs?: () => number;
  timeoutMs?: number;
}

/** Talks the Confluent API, which Confluent's registry, Karapace and Apicurio all serve. */
export function createRegistry(
  url: string,
  { topicPrefix = null, nowMs = monotonicMs, timeoutMs = TIMEOUT_MS }: RegistryOptions = {},
) {
  const subjectIn = (topic: string): string => subjectOf(`${topicPrefix ?? ''}${topic}`);
  const client = createClient(url, timeoutMs);
  const types = new Map<number, AvroType>();
  /** Until when an id counts as unknown. */
  const unknown = new Map<number, number>();
  /** Since when each id is waited for. */
  const awaited = new Map<number, number>();
  /** Until when no id is waited for. */
  let notAwaitedUntilMs = 0;
  /** The newest id that the registry has had: while it loads it has the older ones first. */
  let witness: number | null = null;

  /** Throws while the id is waited for; after that the id counts as unknown for a while. */
  function cacheUnknown(id: number): void {
    const sinceMs = awaited.get(id) ?? nowMs();
    if (awaited.size >= UNKNOWN_MAX) awaited.clear();
    awaited.set(id, sinceMs);
    if (nowMs() - sinceMs < AWAITED_MS && nowMs() >= notAwaitedUntilMs) {
      throw new RegistryError('schema_awaited', `the registry does not know schema ${id} yet`, null);
    }
    if (nowMs() >= notAwaitedUntilMs) notAwaitedUntilMs = nowMs() + NOT_AWAITED_MS;
    if (unknown.size >= UNKNOWN_MAX) unknown.clear();
    unknown.set(id, nowMs() + UNKNOWN_MS);
  }

  async function find(id: number): Promise<AvroType | null> {
    const found = await fetchType(client, id);
    if (found !== null || witness === null) return found;
    await demand(url, witness, timeoutMs);
    // The schema may have arrived while the registry was asked for the newest known id.
    return fetchType(client, id);
  }

  return {
    /**
     * Registers our schema under the topic's subject with BACKWARD_TRANSITIVE compatibility. Idempotent. Throws
     * `compatibility_mismatch` where somebody has chosen another compatibility for the subject.
     */
    async register(topic: string, schema: SchemaName): Promise<number> {
      const { id } = await guarded(`cannot register the schema of ${topic}`, async () => {
        await chooseCompatibility(url, subjectIn(topic), timeoutMs);
        return client.register(
          { type: SchemaType.AVRO, schema: schemaText(schema) },
          { subject: subjectIn(topic), compatibility: SUBJECT_COMPATIBILITY },
        );
      });
      witness = Math.max(witness ?? id, id);
      return id;
    },
    /** Id under which our schema is registered. Throws `schema_unregistered` where provisioning has not run. */
    async idOf(topic: string, schema: SchemaName): Promise<number> {
      const id = await guarded(`no registered schema for ${topic}: has provisioning run?`, () =>
        client.getRegistryIdBySchema(subjectIn(topic), {
          type: SchemaType.AVRO,
          schema: schemaText(schema),
        }),
      );
      witness = Math.max(witness ?? id, id);
      return id;
    },
    /**
     * The writer's type of an id; null if the registry does not know the id and has not known it for `AWAITED_MS`. Until then
     * it throws `schema_awaited`, because the registry that answers may be a replica that lags. It does not wait if it has
     * waited for another id in vain within `NOT_AWAITED_MS`. Known ids are cached for good, unknown ones for `UNKNOWN_MS`.
     * Throws `registry_unavailable` if the registry does not know our own schemas either, as while it is still loading.
     */
    async typeOf(id: number): Promise<AvroType | null> {
      const known = types.get(id);
      if (known !== undefined) return known;
      if ((unknown.get(id) ?? 0) > nowMs()) return null;
      const found = await find(id);
      if (found === null) cacheUnknown(id);
      else {
        types.set(id, found);
        awaited.delete(id);
      }
      return found;
    },
  };
}

async function fetchType(client: SchemaRegistry, id: number): Promise<AvroType | null> {
  try {
    const schema = await client.getSchema(id);
    return avroType(JSON.stringify((schema as unknown as AvroType).schema({ exportAttrs: true })));
  } catch (error) {
    if (statusOf(error) === 404) return null;
    throw new RegistryError('registry_unavailable', `cannot fetch schema ${id}`, error);
  }
}

/** Throws `registry_unavailable` unless the registry has the id now; the client would answer from its cache. */
async function demand(url: string, id: number, timeoutMs: number): Promise<void> {
  const signal = AbortSignal.timeout(timeoutMs);
  try {
    const response = await fetch(`${url}/schemas/ids/${id}`, { signal });
    await response.arrayBuffer();
    if (!response.ok) throw new Error(`schema ${id} is not there any more`);
  } catch (error) {
    throw new RegistryError('registry_unavailable', `cannot ask for schema ${id}`, error);
  }
}

/**
 * Schemas as the texts that they were registered by, to be kept elsewhere and registered in another registry.
 *
 * @param topicPrefix Of the names of topics.
 */
export function createSchemaTexts(url: string, topicPrefix: string, timeoutMs = TIMEOUT_MS) {
  async function ask(path: string, init: RequestInit = {}): Promise<unknown> {
    const response = await fetch(`${url}${path}`, { ...init, headers, signal: AbortSignal.timeout(timeoutMs) });
    const answer: unknown = await response.json();
    if (!response.ok) throw Object.assign(new Error('the registry refuses'), { status: response.status });
    return answer;
  }
  return {
    /** @throws RegistryError */
    of: (id: number): Promise<string> =>
      guarded(`no schema ${id}`, async () => ((await ask(`/schemas/ids/${id}`)) as { schema: string }).schema),
    /** The id that the registry gives to the text under a topic's subject. Idempotent. @throws RegistryError */
    register: (topic: string, text: string): Promise<number> =>
      guarded(`cannot register a schema of ${topic}`, async () => {
        const subject = subjectOf(topicPrefix + topic);
        await chooseCompatibility(url, subject, timeoutMs);
        const body = JSON.stringify({ schema: text, schemaType: 'AVRO' });
        const path = `/subjects/${encodeURIComponent(subject)}/versions`;
        return ((await ask(path, { method: 'POST', body })) as { id: number }).id;
      }),
  };
}

/** Of a registry, which only processes that start or meet a new schema need. */
const PROBE = { intervalMs: 5_000, answerMsMax: 3_000 };

/** Watches whether the registry at an address answers. */
export function watchRegistry(url: string, times = PROBE): Probe {
  return createProbe(async () => {
    const response = await fetch(`${url}/schemas/types`, { signal: AbortSignal.timeout(times.answerMsMax) });
    await response.arrayBuffer();
    if (response.status >= 500) throw new Error(`the registry answers ${response.status}`);
  }, times);
}

async function guarded<T>(message: string, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    const code = codeOf(error);
    throw new RegistryError(code, code === 'registry_unavailable' ? 'the registry does not answer' : message, error);
  }
}

function codeOf(error: unknown): RegistryError['code'] {
  const status = statusOf(error);
  const name = error instanceof Error ? error.name : '';
  if (name === 'ConfluentSchemaRegistryCompatibilityError') return 'compatibility_mismatch';
  // The client drops the status of a 404 when it looks an id up.
  if (name === 'ConfluentSchemaRegistryError') return 'schema_unregistered';
  if (status === 409) return 'schema_incompatible';
  return status === 404 ? 'schema_unregistered' : 'registry_unavailable';
}

function statusOf(error: unknown): number | null {
  const status = (error as { status?: unknown } | null)?.status;
  return typeof status === 'number' ? status : null;
}

const headers = { 'content-type': 'application/vnd.schemaregistry.v1+json' };

/**
 * Sets a subject to BACKWARD_TRANSITIVE if nobody has chosen a compatibility. The client does so only after it has
 * registered the first schema: a crash between the two would leave the subject with the registry's default for ever.
 */
async function chooseCompatibility(url: string, subject: string, timeoutMs: number): Promise<void> {
  const address = `${url}/config/${encodeURIComponent(subject)}`;
  const found = await fetch(address, { headers, signal: AbortSignal.timeout(timeoutMs) });
  const { compatibilityLevel } = (await found.json()) as { compatibilityLevel?: string };
  const chosen = found.ok && compatibilityLevel !== COMPATIBILITY.NONE;
  if (chosen || (!found.ok && found.status !== 404)) return;
  const body = JSON.stringify({ compatibility: SUBJECT_COMPATIBILITY });
  await fetch(address, { method: 'PUT', headers, body, signal: AbortSignal.timeout(timeoutMs) });
}

const RETRY_MS = 1_000;
/** A registry that has just started does not know what it has yet to load: for so many tries that is waited for as well. */
const LOADING_TRIES = 60;

/** A registry that a process waits for when it starts: one that does not answer is no reason to end. */
export function createPatientRegistry(registry: Registry, logger: Pick<Logger, 'warn'>, retryMs = RETRY_MS): Registry {
  // It may know one schema before it knows the next.
  let loadingTries = 0;
  return {
    ...registry,
    async idOf(topic, schema) {
      for (let tries = 0; ; tries++) {
        try {
          return await registry.idOf(topic, schema);
        } catch (error) {
          if (!(error instanceof RegistryError)) throw error;
          if (error.code === 'registry_unavailable') loadingTries = LOADING_TRIES;
          else if (error.code !== 'schema_unregistered' || loadingTries-- <= 0) throw error;
          if (tries === 0) logger.warn({ err: error, topic }, 'the registry does not answer, trying again');
          await sleep(retryMs);
        }
      }
    },
  };
}

/** Requests to the registry at a time. */
const REGISTRATIONS_MAX = 8;
/** A registry that has just started on a busy machine answers its first requests late, or not in time at all. */
const WAITED_MS = 60_000;
const PAUSE_MS = 500;

interface Waiting {
  nowMs(): number;
  pause(ms: number): Promise<unknown>;
}

/**
 * Registers the schema of each topic, and asks again for up to a minute where the registry does not answer.
 *
 * @throws RegistryError
 */
export async function registerSchemas(
  registry: Pick<Registry, 'register'>,
  topics: readonly { name: string; schema: SchemaName | null }[],
  { nowMs, pause }: Waiting = { nowMs: monotonicMs, pause: sleep },
): Promise<void> {
  const untilMs = nowMs() + WAITED_MS;
  const left = topics.values();
  const register = async (topic: string, schema: SchemaName): Promise<void> => {
    for (;;) {
      try {
        return void (await registry.register(topic, schema));
      } catch (error) {
        if (recoveryOf(error) !== 'wait' || nowMs() >= untilMs) throw error;
      }
      await pause(PAUSE_MS);
    }
  };
  await Promise.all(
    Array.from({ length: REGISTRATIONS_MAX }, async () => {
      for (const { name, schema } of left) if (schema !== null) await register(name, schema);
    }),
  );
}

export interface RegistryFacts {
  /** By topic the compatibility of its subject; null: it has none of its own. */
  subjects: ReadonlyMap<string, string | null>;
  /** Topics without a subject. */
  missing: readonly string[];
  /** By how many milliseconds the clock of this host is ahead, to the second; null where the registry does not say. */
  aheadMs: number | null;
}

const INSPECTION_TIMEOUT_MS = 5_000;
/** Requests at a time. */
const WORKERS = 8;

/** What a registry says of the subjects of topics, for `svc doctor`. @throws where it does not answer. */
export async function inspectRegistry(
  url: string,
  topics: readonly string[],
  nowMs: () => number,
): Promise<RegistryFacts> {
  const ask = async (path: string): Promise<{ status: number; date: string | null; body: unknown }> => {
    const response = await fetch(`${url}${path}`, { signal: AbortSignal.timeout(INSPECTION_TIMEOUT_MS) });
    const text = await response.text();
    if (response.status !== 200 && response.status !== 404) throw new Error(`the registry answers ${response.status}`);
    return { status: response.status, date: response.headers.get('date'), body: JSON.parse(text) as unknown };
  };
  const { date, body } = await ask('/subjects');
  const aheadMs = date === null ? null : nowMs() - Date.parse(date);
  const there = new Set(Array.isArray(body) ? body.map(String) : []);
  const subjects = new Map<string, string | null>();
  const missing = topics.filter((topic) => !there.has(subjectOf(topic)));
  const left = topics.filter((topic) => there.has(subjectOf(topic))).values();
  await Promise.all(
    Array.from({ length: WORKERS }, async () => {
      for (const topic of left) {
        const config = await ask(`/config/${encodeURIComponent(subjectOf(topic))}`);
        const { compatibilityLevel } = config.body as { compatibilityLevel?: string };
        subjects.set(topic, config.status === 404 ? null : (compatibilityLevel ?? null));
      }
    }),
  );
  return { subjects, missing, aheadMs };
}
