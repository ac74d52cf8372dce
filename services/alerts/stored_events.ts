// Whether events that had come by a time are stored: figures of an interval are wrong for as long as some are under way.

import type { KafkaSession } from '#infra/kafka/client.ts';
import { topicOffsets } from '#infra/kafka/offsets.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import { hasPassed, type TopicEnds } from '#infra/redelivery/replay_topics.ts';

/** What events pass through, in its order. */
const WAY = [
  ['dedup', TOPICS.raw],
  ['identity', TOPICS.unique],
  ['warehouse', TOPICS.identified],
] as const;
const LOOK_MS = 1_000;

/** How far events have come that were there when it was begun. */
interface Mark {
  atMs: number;
  step: number;
  ends: TopicEnds;
}

/** Follows marks along the way of events, one after the other, and only while somebody asks. */
export function createStoredEvents(session: KafkaSession, nowMs: () => number) {
  let storedToMs = Number.NEGATIVE_INFINITY;
  let mark: Mark | null = null;
  let lookedMs = Number.NEGATIVE_INFINITY;

  async function advance(): Promise<void> {
    mark ??= { atMs: nowMs(), step: 0, ends: await topicOffsets(session.admin, TOPICS.raw) };
    for (;;) {
      const [stage, topic] = WAY[mark.step] as (typeof WAY)[number];
      if (!(await hasPassed(session, session.groupOf(stage), topic, mark.ends))) return;
      const next: (typeof WAY)[number] | undefined = WAY[mark.step + 1];
      if (next === undefined) {
        storedToMs = mark.atMs;
        mark = null;
        return;
      }
      mark = { ...mark, step: mark.step + 1, ends: await topicOffsets(session.admin, next[1]) };
    }
  }

  return async (byMs: number): Promise<boolean> => {
    if (storedToMs >= byMs) return true;
    if (nowMs() - lookedMs < LOOK_MS) return false;
    lookedMs = nowMs();
    await advance();
    return storedToMs >= byMs;
  };
}
