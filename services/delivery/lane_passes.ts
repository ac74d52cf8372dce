import type { InBatch } from '#infra/kafka/consumer/in_batch.ts';
import { DELIVERY_DRAIN_MS } from '#pipelines/delivery/contract.ts';

/**
 * Passes over lanes. What a site's return made due may lie behind others' records that are not due for hours: those make way,
 * once, up to what was written when the pass began.
 */
export interface LanePasses {
  /**
   * How many of the records read, from the first on, make way.
   *
   * @param latestReleaseMs when anything was last made due that may lie on the lane.
   */
  passing(
    batch: Pick<InBatch, 'topic' | 'partition' | 'records'>,
    delayMs: number,
    latestReleaseMs: number,
    nowMs: number,
  ): number;
}

/** Share of a lane's delay for which it rests between two passes, and the bounds of that rest in milliseconds. */
const REST_SHARE = 1 / 60;
const REST_MS_MIN = 1_000;
const REST_MS_MAX = 300_000;

export function createLanePasses(): LanePasses {
  const passes = new Map<string, { beforeMs: number; againMs: number }>();
  return {
    passing({ topic, partition, records }, delayMs, latestReleaseMs, nowMs) {
      const name = `${topic}/${partition}`;
      let pass = passes.get(name) ?? { beforeMs: 0, againMs: 0 };
      // What was released may be written so much later, by a batch that had asked before.
      if (latestReleaseMs + DELIVERY_DRAIN_MS > pass.beforeMs && nowMs >= pass.againMs) {
        const restMs = Math.min(Math.max(delayMs * REST_SHARE, REST_MS_MIN), REST_MS_MAX);
        pass = { beforeMs: nowMs, againMs: nowMs + restMs };
        passes.set(name, pass);
      }
      const first = records.findIndex(({ timestampMs }) => timestampMs >= pass.beforeMs);
      return first < 0 ? records.length : first;
    },
  };
}
