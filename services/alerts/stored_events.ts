// Whether events that had come by a time are stored: figures of an interval are wrong for as long as some are under way.

import type { KafkaSession } from '#infra/kafka/client.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import { createStoredMark } from '#services/stage/stored_mark.ts';

/** What events pass through, in its order. */
const WAY = [
  ['dedup', [TOPICS.raw]],
  ['identity', [TOPICS.unique]],
  ['warehouse', [TOPICS.identified]],
] as const;
const LOOK_MS = 1_000;

/** Follows marks along the way of events, one after the other, and only while somebody asks. */
export function createStoredEvents(session: KafkaSession, nowMs: () => number) {
  const advance = createStoredMark(session, WAY, nowMs);
  let storedToMs = Number.NEGATIVE_INFINITY;
  let lookedMs = Number.NEGATIVE_INFINITY;
  return async (byMs: number): Promise<boolean> => {
    if (storedToMs >= byMs) return true;
    if (nowMs() - lookedMs < LOOK_MS) return false;
    lookedMs = nowMs();
    const mark = await advance();
    if (mark.isStored) storedToMs = mark.beganMs;
    return storedToMs >= byMs;
  };
}
