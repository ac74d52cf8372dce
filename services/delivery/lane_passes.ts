import type { InBatch } from '#infra/kafka/consumer/in_batch.ts';
import { DELIVERY_DRAIN_MS } from '#pipelines/delivery/contract.ts';
import { PAUSED_LANE_MS_MIN } from '#pipelines/delivery/lanes.ts';
import { putNewest } from '#pipelines/delivery/put_newest.ts';
import type { Source } from '#pipelines/delivery/uncommitted.ts';

/**
 * Passes over lanes. What was released of a site may lie behind others' records that are not due for hours: those make way,
 * once, up to what was written when the pass began. A pass writes the whole lane anew, so that it begins only where
 * something of the released site lies, as far as this process knows.
 */
export interface LanePasses {
  /** A record of a site lies on a lane, written by then. @param isDue whether it is due at once, as its site was released before. */
  lies(lane: Source, siteId: string, writtenMs: number, isDue: boolean): void;
  /** What waits of a site is due now. */
  released(siteId: string, nowMs: number): void;
  /** How many of the records read, from the first on, make way. */
  passing(batch: Pick<InBatch, 'topic' | 'partition' | 'records'>, delayMs: number, nowMs: number): number;
  /** Looks whether others read or write lanes; whether a lane that rests is to be read, for what became due or for a pass. */
  look(nowMs: number): boolean;
}

export interface LanePassOptions {
  beganMs: number;
  /** Whether no other process reads and writes the lanes. */
  isAlone(): boolean;
}

interface LaneState {
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
  /** When the newest record was written, or seen there, that is known of a site. */
  sites: Map<string, number>;
}

/** Share of a lane's delay for which it rests between two passes, and the bounds of that rest in milliseconds. */
const REST_SHARE = 1 / 60;
const REST_MS_MIN = 1_000;
const REST_MS_MAX = 300_000;
/** The share for a pass of which it is not known whether it finds anything, as other processes write to the lane. */
const DOUBT_SHARE = 1 / 2;
/** Sites remembered of a lane at the most; what lies there of one that is forgotten is due at its own time. */
const SITES_MAX = 20_000;

export function createLanePasses({ beganMs, isAlone }: LanePassOptions): LanePasses {
  const lanes = new Map<string, LaneState>();
  let othersMs = beganMs;

  /** Of a lane that was not read yet nothing is known: it is passed over at once. */
  function laneOf({ topic, partition }: Source): LaneState {
    const name = `${topic}/${partition}`;
    const fresh = {
      delayMs: 0,
      beforeMs: 0,
      passFromMs: 0,
      frontMs: 0,
      isStale: false,
      wakeFromMs: 0,
      sites: new Map(),
    };
    const lane = lanes.get(name) ?? fresh;
    lanes.set(name, lane);
    return lane;
  }

  function noticeOthers(nowMs: number): void {
    if (!isAlone()) othersMs = nowMs;
  }

  return {
    lies(place, siteId, writtenMs, isDue) {
      const lane = laneOf(place);
      putNewest(lane.sites, siteId, writtenMs, SITES_MAX);
      if (isDue) passAfter(lane, restMsOf(lane), writtenMs);
    },
    released(siteId, nowMs) {
      const all = [...lanes.values()];
      const isSeen = all.some((lane) => mayLie(lane, siteId));
      for (const lane of all) {
        const isKnown = lane.beforeMs > othersMs + DELIVERY_DRAIN_MS;
        // Where others write, what a site waits with first is written by any of them, and what waits longer by who reads its lanes.
        const isLikely = isSeen && !isKnown && lane.delayMs <= PAUSED_LANE_MS_MIN;
        if (isLikely || mayLie(lane, siteId)) passAfter(lane, restMsOf(lane), nowMs);
        else if (!isKnown) passAfter(lane, lane.delayMs * DOUBT_SHARE, nowMs);
      }
    },
    passing(batch, delayMs, nowMs) {
      const lane = laneOf(batch);
      noticeOthers(nowMs);
      lane.delayMs = delayMs;
      lane.isStale = false;
      lane.frontMs = batch.records[0]?.timestampMs ?? lane.frontMs;
      if (nowMs >= lane.passFromMs) {
        lane.beforeMs = nowMs;
        lane.passFromMs = Number.POSITIVE_INFINITY;
      }
      const first = batch.records.findIndex(({ timestampMs }) => timestampMs >= lane.beforeMs);
      return first < 0 ? batch.records.length : first;
    },
    look(nowMs) {
      noticeOthers(nowMs);
      const waiting = [...lanes.values()].filter((lane) => isToWake(lane, nowMs));
      for (const lane of waiting) {
        lane.isStale = false;
        if (nowMs >= lane.passFromMs) lane.wakeFromMs = nowMs + restMsOf(lane);
      }
      return waiting.length > 0;
    },
  };
}

function restMsOf({ delayMs }: LaneState): number {
  return Math.min(Math.max(delayMs * REST_SHARE, REST_MS_MIN), REST_MS_MAX);
}

function passAfter(lane: LaneState, restMs: number, nowMs: number): void {
  lane.isStale = true;
  lane.passFromMs = Math.min(lane.passFromMs, Math.max(nowMs, lane.beforeMs + restMs));
}

/** What was written before the last pass began is met by that pass, and due there. The broker's clock may be another. */
function mayLie({ sites, frontMs, beforeMs }: LaneState, siteId: string): boolean {
  return (sites.get(siteId) ?? Number.NEGATIVE_INFINITY) + DELIVERY_DRAIN_MS > Math.max(frontMs, beforeMs);
}

/** A lane in work when it is woken does not hear it; one of another process never does, and what lies there is due by itself in the end. */
function isToWake(lane: LaneState, nowMs: number): boolean {
  if (lane.isStale) return true;
  return nowMs >= lane.passFromMs && nowMs < lane.passFromMs + lane.delayMs && nowMs >= lane.wakeFromMs;
}
