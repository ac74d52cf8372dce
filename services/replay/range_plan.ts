import { setTimeout as sleep } from 'node:timers/promises';
import { TOPICS } from '#infra/kafka/topics.ts';
import { holdRecords, isCaughtUp, MARKERS_MAX, partitionFacts } from '#infra/replay/offsets.ts';
import { replayTopic } from '#pipelines/delivery/lanes.ts';
import { gapsOf, type Range, rangeOf } from '#pipelines/replay/offset_range.ts';
import type { Replay } from '#schemas/setting.ts';
import type { ReplayContext } from './run_context.ts';
import type { Source } from './source.ts';

const POLL_MS = 500;
/** How long delivery may take to come to the end of the range by itself, before the rest is left to it. */
const REACH_MS_MAX = 30_000;

export interface PlanOptions {
  stopped(): boolean;
  /** Called with a stable code when it begins to wait for something else. */
  waitsFor(what: string): Promise<void>;
}

/**
 * Decides what a replay reads, once everything is known of it: delivery has come as far as it does by itself, what an
 * earlier replay wrote is taken, and every outcome up to now is in ClickHouse. Null where it is to stop before.
 */
export async function planRange(
  context: ReplayContext,
  replay: Replay,
  source: Source,
  { stopped, waitsFor }: PlanOptions,
): Promise<Range | null> {
  const { session, nowMs } = context;
  const delivery = session.groupOf(`delivery.${replay.destination}`);
  const until = async (what: string, isSo: () => Promise<boolean>, untilMs = Number.POSITIVE_INFINITY) => {
    for (let waits = false; !(await isSo()) && nowMs() < untilMs && !stopped(); ) {
      if (!waits) await waitsFor(what);
      waits = true;
      await sleep(POLL_MS);
    }
  };
  const group = source.sharedWithDelivery ? delivery : null;
  const facts = () => partitionFacts(session, source.topic, [replay.from, replay.to], group);
  const hasReached = async (): Promise<boolean> => {
    const gaps = gapsOf(await facts());
    if (gaps.some(({ first, end }) => end - first > MARKERS_MAX)) return false;
    return !(await holdRecords(session, source.topic, gaps));
  };
  await until('delivery', hasReached, nowMs() + REACH_MS_MAX);
  await until('earlier_replay', () => isCaughtUp(session, delivery, replayTopic(replay.destination)));
  const reached = await hasReached();
  const found = rangeOf(await facts());
  const range = reached ? { ...found, notReached: 0 } : found;
  const warehouse = session.groupOf('warehouse');
  if (!replay.force) await until('warehouse', () => isCaughtUp(session, warehouse, TOPICS.outcomes));
  return stopped() ? null : range;
}
