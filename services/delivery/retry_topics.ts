// Retry topics: which records are passed over for now, and which are released early.
import type { Consumption, InBatch } from '#infra/kafka/consumer/consumption.ts';
import { putNewest } from '#pipelines/delivery/concurrency.ts';
import { DELIVERY_DRAIN_MS } from '#pipelines/delivery/contract.ts';
import type { Source } from '#pipelines/delivery/delivery_run.ts';
import { targetKey } from '#pipelines/delivery/destination_id.ts';
import { PAUSED_DELAY_MS_MIN } from '#pipelines/delivery/retry_topics.ts';
import type { SettingsTable } from '#pipelines/settings/table.ts';
import type { Runtime } from '#services/stage/runtime.ts';

/**
 * Passes over retry topics. What was released of a site may lie behind others' records that are not due for hours: those make way,
 * once, up to what was written when the pass began. A pass writes the whole retry topic anew, so that it begins only where
 * something of the released site lies, as far as this process knows.
 */
export type RetryPolls = ReturnType<typeof createRetryPolls>;

interface RetryTopicState {
  delayMs: number;
  /** What the last pass has come to, or comes to: all that was written before. */
  beforeMs: number;
  /** When the next pass begins; infinite while none is to. */
  passFromMs: number;
  /** When the first record that was read the last time was written: nothing older lies there. */
  frontMs: number;
  /** Whether what was read of it may have become due since. */
  isStale: boolean;
  /** Not woken for a pass again before. */
  wakeFromMs: number;
  /** When the newest record was written, or seen there, that is known of a destination of a site, by its `targetKey`. */
  targets: Map<string, number>;
}

/** Share of a retry topic's delay for which it rests between two passes, and the bounds of that rest in milliseconds. */
const REST_SHARE = 1 / 60;
const REST_MS_MIN = 1_000;
const REST_MS_MAX = 300_000;
/** The share for a pass of which it is not known whether it finds anything, as other processes write to the retry topic. */
const DOUBT_SHARE = 1 / 2;
/** Destinations of sites remembered of a retry topic at the most; what lies there for one that is forgotten is due at its own time. */
const TARGETS_MAX = 20_000;

/** @param isAlone whether no other process reads and writes the retry topics. */
export function createRetryPolls(beganMs: number, isAlone: () => boolean) {
  const retryTopics = new Map<string, RetryTopicState>();
  let othersMs = beganMs;

  /** Of a retry topic that was not read yet nothing is known: it is passed over at once. */
  function retryTopicOf({ topic, partition }: Source): RetryTopicState {
    const name = `${topic}/${partition}`;
    const times = { delayMs: 0, beforeMs: 0, passFromMs: 0, frontMs: 0, wakeFromMs: 0 };
    const retryTopic = retryTopics.get(name) ?? { ...times, isStale: false, targets: new Map() };
    retryTopics.set(name, retryTopic);
    return retryTopic;
  }

  function noticeOthers(nowMs: number): void {
    if (!isAlone()) othersMs = nowMs;
  }

  return {
    /**
     * A record for a destination of a site lies on a retry topic, written by then. @param isDue whether it is due at once, as that was released
     * before.
     */
    recordParked(place: Source, target: string, writtenMs: number, isDue: boolean): void {
      const retryTopic = retryTopicOf(place);
      putNewest(retryTopic.targets, target, writtenMs, TARGETS_MAX);
      if (isDue) passAfter(retryTopic, restMsOf(retryTopic), writtenMs);
    },
    /** What waits for a destination of a site is due now. */
    released(target: string, nowMs: number): void {
      const all = [...retryTopics.values()];
      const isSeen = all.some((retryTopic) => mayBeParked(retryTopic, target));
      for (const retryTopic of all) {
        const isKnown = retryTopic.beforeMs > othersMs + DELIVERY_DRAIN_MS;
        // Where others write, what a site waits with first is written by any of them, and what waits longer by who reads its retry topics.
        const isLikely = isSeen && !isKnown && retryTopic.delayMs <= PAUSED_DELAY_MS_MIN;
        if (isLikely || mayBeParked(retryTopic, target)) passAfter(retryTopic, restMsOf(retryTopic), nowMs);
        else if (!isKnown) passAfter(retryTopic, retryTopic.delayMs * DOUBT_SHARE, nowMs);
      }
    },
    /** How many of the records read, from the first on, make way. */
    skipCount(batch: Pick<InBatch, 'topic' | 'partition' | 'records'>, delayMs: number, nowMs: number): number {
      const retryTopic = retryTopicOf(batch);
      noticeOthers(nowMs);
      retryTopic.delayMs = delayMs;
      retryTopic.isStale = false;
      retryTopic.frontMs = batch.records[0]?.timestampMs ?? retryTopic.frontMs;
      if (nowMs >= retryTopic.passFromMs) {
        retryTopic.beforeMs = nowMs;
        retryTopic.passFromMs = Number.POSITIVE_INFINITY;
      }
      const first = batch.records.findIndex(({ timestampMs }) => timestampMs >= retryTopic.beforeMs);
      return first < 0 ? batch.records.length : first;
    },
    /** Looks whether others read or write retry topics; whether a retry topic that rests is to be read, for what became due or for a pass. */
    look(nowMs: number): boolean {
      noticeOthers(nowMs);
      const waiting = [...retryTopics.values()].filter((retryTopic) => isToWake(retryTopic, nowMs));
      for (const retryTopic of waiting) {
        retryTopic.isStale = false;
        if (nowMs >= retryTopic.passFromMs) retryTopic.wakeFromMs = nowMs + restMsOf(retryTopic);
      }
      return waiting.length > 0;
    },
  };
}

function restMsOf({ delayMs }: RetryTopicState): number {
  return Math.min(Math.max(delayMs * REST_SHARE, REST_MS_MIN), REST_MS_MAX);
}

function passAfter(retryTopic: RetryTopicState, restMs: number, nowMs: number): void {
  retryTopic.isStale = true;
  retryTopic.passFromMs = Math.min(retryTopic.passFromMs, Math.max(nowMs, retryTopic.beforeMs + restMs));
}

/** What was written before the last pass began is met by that pass, and due there. The broker's clock may be another. */
function mayBeParked({ targets, frontMs, beforeMs }: RetryTopicState, target: string): boolean {
  return (targets.get(target) ?? Number.NEGATIVE_INFINITY) + DELIVERY_DRAIN_MS > Math.max(frontMs, beforeMs);
}

/**
 * A retry topic in work when it is woken does not hear it; one of another process never does, and what lies there is due by itself
 * in the end.
 */
function isToWake(retryTopic: RetryTopicState, nowMs: number): boolean {
  if (retryTopic.isStale) return true;
  return (
    nowMs >= retryTopic.passFromMs &&
    nowMs < retryTopic.passFromMs + retryTopic.delayMs &&
    nowMs >= retryTopic.wakeFromMs
  );
}

export type Releases = ReturnType<typeof watchReleases>;

interface ReleaseOptions {
  table: Pick<SettingsTable, 'destinationsOfKind'>;
  kind: string;
  /** Whether nothing is to be asked now of a destination of a site, by its `targetKey`. */
  isInTrouble(target: string): boolean;
  scans: Pick<RetryPolls, 'released' | 'look'>;
  beganMs: number;
}

/** Destinations whose return is remembered at the most; what waits for one that is forgotten is due at its own time. */
const RETURNS_MAX = 100_000;

/**
 * What makes events that wait on retry topics due before their time: a change of their site's settings, as this process has seen
 * it, and that the site's destination takes events again after it was in trouble. Milliseconds since 1970 UTC. What came
 * before the watch is not known, so that its beginning counts as the return of all: what is paused is tried once then.
 */
export function watchReleases({ table, kind, isInTrouble, scans, beganMs }: ReleaseOptions) {
  const bySite = table.destinationsOfKind(kind);
  let seen = new Map(bySite);
  const changes = new Map<string, number>();
  const returns = new Map<string, number>();
  return {
    /** Whether an event is due at once that waits since then. */
    isReleased(target: string, waitsSinceMs: number, isPaused: boolean): boolean {
      if (waitsSinceMs === 0) return false;
      if (waitsSinceMs < (changes.get(target) ?? 0)) return true;
      return waitsSinceMs < (returns.get(target) ?? (isPaused ? beganMs : 0)) && !isInTrouble(target);
    },
    /** The site's destination takes events again. */
    returned(target: string, nowMs: number): void {
      putNewest(returns, target, nowMs, RETURNS_MAX);
      scans.released(target, nowMs);
    },
    /** Looks whether settings changed; whether retry topics that rest are to be read, as what was released may lie there. */
    look(nowMs: number): boolean {
      let isChanged = false;
      for (const [siteId, destinations] of bySite) {
        const before = seen.get(siteId);
        if (before === destinations) continue;
        isChanged = true;
        for (const destination of destinations) {
          if (before?.includes(destination) === true) continue;
          const target = targetKey(siteId, destination.name);
          changes.set(target, nowMs);
          scans.released(target, nowMs);
        }
      }
      if (isChanged) seen = new Map(bySite);
      return scans.look(nowMs);
    },
  };
}

/** How soon a release brings what waits for it. */
const RELEASES_POLL_MS = 500;

/** Looks for releases until the process stops; after one, what waits for a time is looked at again. */
export function retryOnRelease(
  { onStop }: Pick<Runtime, 'onStop'>,
  releases: Pick<Releases, 'look'>,
  consumption: Pick<Consumption, 'wake'>,
): void {
  const looking = setInterval(() => {
    if (releases.look(Date.now())) consumption.wake();
  }, RELEASES_POLL_MS);
  onStop(async () => clearInterval(looking));
}
