import type { Metrics } from '#infra/metrics/metrics.ts';
import type { FetchScript, VendorScript } from '#pipelines/loaders/vendor_scripts.ts';
import { encodeScript, type Script } from '../tag/scripts.ts';

export interface ScriptCacheOptions {
  fetch: FetchScript;
  metrics: Metrics;
  /** Milliseconds of a clock that only goes forward. */
  nowMs(): number;
  /** Told what nobody foresaw of a fetch that no request waits for. */
  onFailed(error: unknown): void;
  /** Bytes of all scripts that are kept, in all their codings; absent: 128 MiB. */
  bytesMax?: number;
}

/** A script of a vendor; one that is stale is older than it should be, as the vendor does not give a newer one. */
interface CachedScript {
  script: Script;
  isStale: boolean;
}

/** Vendors' scripts in the memory of this process, shared by all sites. */
export interface ScriptCache {
  /** Null where the vendor has not given it, lately. */
  get(wanted: VendorScript): Promise<CachedScript | null>;
}

interface Entry {
  script: Script | null;
  gotAtMs: number;
  triedAtMs: number;
  bytes: number;
}

const FRESH_MS = 300_000;
/** How long a script is shown that the vendor gives no more: as long as browsers may (`stale-if-error`). */
const STALE_MS_MAX = 86_400_000;
/** After a failure the vendor is left alone for so long. */
const RETRY_MS = 15_000;
/** Fetches under way with which no other is begun behind an answer. */
const FETCHES_MAX = 16;
const BYTES_MAX = 128 * 1024 * 1024;
/** An entry that holds nothing costs something too. */
const ENTRY_BYTES = 1_024;
const NEVER = Number.NEGATIVE_INFINITY;

/**
 * Each script is fetched once at a time, and at the most every 5 minutes. Nobody waits for a newer one while there is one to
 * show: it is fetched behind the answer. What was asked for longest ago gives way.
 */
export function createScriptCache(options: ScriptCacheOptions): ScriptCache {
  const { fetch, metrics, nowMs, onFailed, bytesMax = BYTES_MAX } = options;
  const entries = new Map<string, Entry>();
  const underWay = new Map<string, Promise<Entry>>();
  let bytes = 0;
  const fetches = metrics.counter('svc_edge_loader_fetches_total', "Fetches of vendors' scripts", ['vendor', 'result']);

  function put(key: string, entry: Entry): void {
    bytes += entry.bytes - (entries.get(key)?.bytes ?? 0);
    entries.delete(key);
    entries.set(key, entry);
    for (const [oldest, { bytes: freed }] of entries) {
      if (bytes <= bytesMax || oldest === key) break;
      entries.delete(oldest);
      bytes -= freed;
    }
  }

  async function refresh(key: string, wanted: VendorScript, before: Entry | undefined): Promise<Entry> {
    const got = await fetch(wanted);
    const now = nowMs();
    fetches.inc({ vendor: wanted.vendor, result: got.ok ? 'got' : got.reason });
    const entry = got.ok
      ? entryOf(await encodeScript(key, got.bytes, 'quickly'), now)
      : { script: null, gotAtMs: NEVER, bytes: ENTRY_BYTES, ...before, triedAtMs: now };
    put(key, entry);
    return entry;
  }

  function refreshOnce(key: string, wanted: VendorScript, before: Entry | undefined): Promise<Entry> {
    const running = underWay.get(key);
    if (running !== undefined) return running;
    const started = refresh(key, wanted, before).finally(() => underWay.delete(key));
    underWay.set(key, started);
    return started;
  }

  function refreshBehind(key: string, wanted: VendorScript, before: Entry): void {
    if (underWay.has(key) || underWay.size >= FETCHES_MAX) return;
    refreshOnce(key, wanted, before).catch((error: unknown) => {
      put(key, { ...before, triedAtMs: nowMs() });
      onFailed(error);
    });
  }

  return {
    async get(wanted) {
      const key = `${wanted.vendor} ${wanted.path}`;
      const known = entries.get(key);
      if (known !== undefined) put(key, known);
      const now = nowMs();
      const isDue = known === undefined || (!isFresh(known, now) && now - known.triedAtMs >= RETRY_MS);
      const shown = known === undefined ? null : shownOf(known, now);
      if (!isDue) return shown;
      if (known === undefined || shown === null) return shownOf(await refreshOnce(key, wanted, known), nowMs());
      refreshBehind(key, wanted, known);
      return shown;
    },
  };
}

function shownOf({ script, gotAtMs }: Entry, now: number): CachedScript | null {
  const ageMs = now - gotAtMs;
  return script === null || ageMs >= STALE_MS_MAX ? null : { script, isStale: ageMs >= FRESH_MS };
}

function isFresh({ script, gotAtMs }: Entry, now: number): boolean {
  return script !== null && now - gotAtMs < FRESH_MS;
}

function entryOf(script: Script, now: number): Entry {
  const bytes = Object.values(script.bodies).reduce((sum, body) => sum + body.bytes.length, ENTRY_BYTES);
  return { script, gotAtMs: now, triedAtMs: now, bytes };
}
