// Whether what had come by some time is stored: what stands on its way then, no figure and no row says yet.

import type { KafkaSession } from '#infra/kafka/client.ts';
import { topicOffsets } from '#infra/kafka/offsets.ts';
import { hasPassed, type TopicEnds } from '#infra/redelivery/replay_topics.ts';

/** Stages with the topics that each of them has to pass, behind those that write these. */
export type Way = readonly (readonly [stage: string, topics: readonly string[]])[];

/** How far events have come that were there when it was begun. */
interface Mark {
  beganMs: number;
  turn: number;
  /** Of the stage whose turn it is, where its topics ended by then; without those that it has passed. */
  ends: Map<string, TopicEnds> | null;
}

/** What was on the way when the mark was begun is stored, or a topic where some of it waits. */
export type MarkState = { isStored: true; beganMs: number } | { isStored: false; topic: string };

/**
 * Follows one mark along a way, as far as stages are whenever it is called: each stage has to come to where its topics ended when its
 * turn came. Once the mark has come to the end, the next call begins another one.
 */
export function createStoredMark(session: KafkaSession, way: Way, nowMs: () => number): () => Promise<MarkState> {
  let mark: Mark | null = null;
  return async () => {
    mark ??= { beganMs: nowMs(), turn: 0, ends: null };
    for (let step = way[mark.turn]; step !== undefined; step = way[mark.turn]) {
      const [stage, topics] = step;
      if (mark.ends === null) {
        const ends = new Map<string, TopicEnds>();
        for (const topic of topics) ends.set(topic, await topicOffsets(session.admin, topic));
        mark.ends = ends;
      }
      for (const [topic, ends] of mark.ends) {
        if (!(await hasPassed(session, session.groupOf(stage), topic, ends))) return { isStored: false, topic };
        mark.ends.delete(topic);
      }
      mark.turn += 1;
      mark.ends = null;
    }
    const { beganMs } = mark;
    mark = null;
    return { isStored: true, beganMs };
  };
}
