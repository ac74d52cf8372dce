// What the edge notes of sites and passes to Redis in batches: events not accepted, tag health, uses of keys.
import type { Metrics } from '#infra/metrics/metrics.ts';
import type { KeyUses } from '#infra/redis/edge_reports.ts';
import { shownNames } from '#pipelines/ingestion_warnings/shown_names.ts';
import {
  countRejection,
  hasRoomFor,
  type IngestionWarning,
  newRejectionCounts,
  type RejectionCounts,
  reasonOf,
  type Sampled,
} from '#pipelines/ingestion_warnings/warnings.ts';
import type { ReusedId } from '#pipelines/intake/event_id.ts';
import { ScannedEvent } from '#pipelines/intake/fast_path/scan_body.ts';
import type { ProcessedBatch } from '#pipelines/intake/take_event.ts';
import { keyIdOf, type RefusedCaller } from '#pipelines/settings/callers.ts';
import { definitionsOf } from '#pipelines/settings/event_definitions.ts';
import type { SettingsTable } from '#pipelines/settings/table.ts';
import { newNotes, noteEvent, signsOf, type TagNotes } from '#pipelines/tag/tag_health.ts';
import type { Event } from '#schemas/event.ts';
import type { ApiKey, Site } from '#schemas/setting.ts';

interface RejectionRecorderOptions {
  /** Passes notes of a site on, as `createBatchedReporter` says. */
  note(siteId: string, notes: RejectionCounts, number: number): Promise<void>;
  /** Says that rejections are counted from now on, unless that was said before. */
  markCounted(): Promise<void>;
  /** For names that are addresses. */
  secret: Buffer;
  metrics: Pick<Metrics, 'counter'>;
  nowMs(): number;
}

export interface Sender {
  key: ApiKey;
  site: Site;
}

/** The events of a request, and what becomes of them where it is answered. */
export interface AnsweredEvents {
  events: readonly unknown[];
  batch: ProcessedBatch;
  /** Of those that were taken. */
  reused: readonly ReusedId[];
  /** How many of those that were taken had no place in the month; the last ones. */
  overQuota: number;
  /** They are of the past. */
  isHistorical: boolean;
  /** Absent: the events are those of the request. */
  source?: MappedFrom | undefined;
}

/** The calls of another product's protocol that events were mapped from. */
export interface MappedFrom {
  calls: readonly unknown[];
  /** The index of the call that each event came from. */
  origins: readonly number[];
  /** The calls that became no event. */
  rejected: readonly { index: number; code: string }[];
}

/** A Redis that was emptied counts anew, and says so after this. */
const MARK_MS = 60_000;

export type RejectionRecorder = ReturnType<typeof createRejectionRecorder>;

/**
 * Counts by site and reason what the edge does not accept, or accepts with a fault, and passes it on every 2 s with samples, which
 * hold cleaned names alone.
 */
export function createRejectionRecorder({ note, markCounted, secret, metrics, nowMs }: RejectionRecorderOptions) {
  const refusedHelp = 'Requests for a known site of which nothing was taken';
  const refusedRequests = metrics.counter('svc_edge_refused_requests_total', refusedHelp, ['code']);
  const waiting = createBatchedReporter(newRejectionCounts, note);
  const mark = (): void => {
    markCounted().catch(() => undefined);
  };
  mark();
  const marking = setInterval(mark, MARK_MS);
  marking.unref();

  function sampleOf({ key, site }: Sender, index: number, sent: unknown, before: string | null): Sampled {
    const cleaning = { secret, defaultCountry: site.default_country };
    const { event, fields } = shownNames(sent instanceof ScannedEvent ? sent.parsed() : sent, cleaning);
    const other = before === null ? null : shownNames({ event: before }, cleaning).event;
    const names = other === null ? event : `${other}, ${event}`;
    return { keyId: keyIdOf(key.key_hash), caller: key.caller, index, event: names, fields };
  }

  function faultsOf(sender: Sender, answered: AnsweredEvents): Fault[] {
    const { events, batch, reused, overQuota, isHistorical, source } = answered;
    const malformed = isHistorical ? 'historical' : 'rejected';
    const faults: Fault[] = [];
    const taken = waiting.begun(sender.site.site_id)?.sampled ?? NONE;
    const sampled = new Map<string, number>();
    function add(warning: IngestionWarning, index: number, sent: unknown, before: string | null = null): void {
      const isSampled = hasRoomFor(warning, taken, sampled);
      if (isSampled) sampled.set(reasonOf(warning), (sampled.get(reasonOf(warning)) ?? 0) + 1);
      faults.push({ warning, sample: isSampled ? sampleOf(sender, index, sent, before) : null });
    }
    const record = (warning: IngestionWarning, index: number, before?: string): void =>
      add(warning, source?.origins[index] ?? index, events[index], before);
    for (const { index, code } of source?.rejected ?? []) add({ kind: malformed, code }, index, source?.calls[index]);
    for (const { index, code } of batch.rejected) record({ kind: malformed, code }, index);
    for (const { index, reason } of batch.dropped) record({ kind: 'dropped', code: reason }, index);
    if (overQuota + reused.length + batch.warned.length === 0) return faults;
    const sound = validIndexes(events.length, batch);
    const beyond = new Set(sound.slice(sound.length - overQuota));
    // An event that was dropped was not accepted with a fault.
    for (const { index, code } of batch.warned) if (!beyond.has(index)) record({ kind: 'warned', code }, index);
    for (const { at, before } of reused) record({ kind: 'warned', code: 'uuid_reused' }, sound[at] ?? at, before);
    for (const index of beyond) record({ kind: 'dropped', code: 'quota' }, index);
    return faults;
  }

  return {
    /**
     * Reads the events of a request that are not accepted, or with a fault; what it returns notes them once the request is answered.
     * Until then it holds nothing of them but what samples tell.
     */
    readEvents(sender: Sender, answered: AnsweredEvents): () => void {
      const { site_id } = sender.site;
      const faults = faultsOf(sender, answered);
      return () => {
        const notes = waiting.of(site_id);
        const atMs = nowMs();
        for (const { warning, sample } of faults) countRejection(notes, warning, atMs, () => sample);
      };
    },
    /** A request of which nothing was taken. */
    recordRequest({ siteId, key }: RefusedCaller, code: string): void {
      refusedRequests.inc({ code });
      countRejection(waiting.of(siteId), { kind: 'refused', code }, nowMs(), () => ({
        keyId: key === null ? null : keyIdOf(key.key_hash),
        caller: key?.caller ?? null,
        event: null,
        index: null,
        fields: [],
      }));
    },
    /** Passes on what is left. */
    async stop(): Promise<void> {
      clearInterval(marking);
      await waiting.stop();
    },
  };
}

function validIndexes(count: number, { rejected, dropped }: ProcessedBatch): number[] {
  const others = new Set([...rejected, ...dropped].map(({ index }) => index));
  return Array.from({ length: count }, (_, index) => index).filter((index) => !others.has(index));
}

interface Fault {
  warning: IngestionWarning;
  /** Null where there was no room for one. */
  sample: Sampled | null;
}

const NONE: ReadonlyMap<string, number> = new Map();

const REPORT_MS = 2_000;

/**
 * What is noted in memory, a batch by each name, and passed on in turns: no request waits for it.
 *
 * @param note Passes a batch on. Where it throws, the batch may have arrived all the same: it is passed on again, unchanged and
 *   under its number, before any later one of its name. Numbers rise from 1.
 */
function createBatchedReporter<Batch>(
  begin: () => Batch,
  note: (name: string, batch: Batch, number: number) => Promise<void>,
  everyMs = REPORT_MS,
) {
  const waiting = new Map<string, Batch>();
  const unanswered = new Map<string, { batch: Batch; number: number }>();
  let numbers = 0;
  let flushing: Promise<unknown> | null = null;

  async function send(name: string, { batch, number }: { batch: Batch; number: number }): Promise<void> {
    await note(name, batch, number);
    unanswered.delete(name);
  }

  async function pass(name: string): Promise<void> {
    const earlier = unanswered.get(name);
    if (earlier !== undefined) await send(name, earlier);
    const batch = waiting.get(name);
    if (batch === undefined) return;
    const report = { batch, number: ++numbers };
    waiting.delete(name);
    unanswered.set(name, report);
    await send(name, report);
  }

  function flush(): Promise<unknown> {
    const names = new Set([...unanswered.keys(), ...waiting.keys()]);
    // The store says itself that it is away.
    flushing ??= Promise.allSettled([...names].map(pass)).finally(() => {
      flushing = null;
    });
    return flushing;
  }

  const timer = setInterval(() => void flush(), everyMs);
  timer.unref();
  return {
    /** The batch of a name; undefined where there is none yet. */
    begun: (name: string): Batch | undefined => waiting.get(name),
    /** The batch of a name, to be added to. */
    of(name: string): Batch {
      const batch = waiting.get(name) ?? begin();
      waiting.set(name, batch);
      return batch;
    },
    /** Passes on what is left. */
    async stop(): Promise<void> {
      clearInterval(timer);
      await flushing;
      await flush();
    },
  };
}

interface TagHealthOptions {
  table: SettingsTable;
  /** Passes notes of a site on, as `createBatchedReporter` says. */
  note(siteId: string, notes: TagNotes, number: number): Promise<void>;
  nowMs(): number;
}

export type TagHealth = ReturnType<typeof createTagHealth>;

/** Counts what comes from browsers, so that a tag that has stopped working is seen, and passes it on every 2 s. */
export function createTagHealth({ table, note, nowMs }: TagHealthOptions) {
  const waiting = createBatchedReporter(newNotes, note);
  const definitionsOf = knownDefinitions(table);
  return {
    /** Reads the events of one request; what it returns notes them. Those that servers sent say nothing of a tag. */
    read(siteId: string, events: readonly Event[]): () => void {
      if (events[0]?.caller !== 'browser') return noteNothing;
      const definitions = definitionsOf(siteId);
      let page: string | null = null;
      const all = events.map(({ event, properties }) => {
        const signs = signsOf(event, properties);
        // It is noted with the event before.
        if (signs.page === page) signs.page = null;
        else page = signs.page;
        // Anybody can name a definition that does not exist.
        if (signs.definition !== null && !definitions.has(signs.definition)) signs.definition = null;
        return signs;
      });
      return () => {
        const notes = waiting.of(siteId);
        const atMs = nowMs();
        for (const signs of all) noteEvent(notes, signs, atMs);
      };
    },
    stop: waiting.stop,
  };
}

/** Where nothing of a request is to be noted. */
export const noteNothing = (): void => undefined;

/** The ids of a site's event definitions, read once for each state of the settings. */
function knownDefinitions(table: SettingsTable): (siteId: string) => ReadonlySet<string> {
  const known = new Map<string, ReadonlySet<string>>();
  let version = table.version;
  return (siteId) => {
    if (version !== table.version) known.clear();
    version = table.version;
    const ids = known.get(siteId) ?? new Set(definitionsOf(table.site(siteId) ?? NO_DEFINITIONS).map(({ id }) => id));
    known.set(siteId, ids);
    return ids;
  };
}

const NO_DEFINITIONS = { event_definitions: [] };

interface KeyUseOptions {
  /** Passes uses on; where it throws they are passed on again. */
  note(uses: KeyUses): Promise<void>;
  nowMs(): number;
}

/** A key that is used all the time is passed on so often. */
const REPORTED_EVERY_MS = 60_000;
const KEY_USE_FLUSH_MS = 1_000;

export type KeyUse = ReturnType<typeof createKeyUse>;

/** Passes on at once that a key was used, and then no more than once a minute for each key: else it costs a look into a map. */
export function createKeyUse({ note, nowMs }: KeyUseOptions) {
  const reportedAtMs = new Map<string, number>();
  const begin = (): Map<string, number> => new Map();
  const waiting = createBatchedReporter(begin, (_name, uses) => note(uses), KEY_USE_FLUSH_MS);
  return {
    record(keyHash: string): void {
      const now = nowMs();
      // A clock that was set back tells nothing of how long ago it was.
      const agoMs = now - (reportedAtMs.get(keyHash) ?? Number.NEGATIVE_INFINITY);
      if (agoMs >= 0 && agoMs < REPORTED_EVERY_MS) return;
      reportedAtMs.set(keyHash, now);
      waiting.of('keys').set(keyHash, now);
    },
    stop: waiting.stop,
  };
}
