import { setTimeout as sleep } from 'node:timers/promises';
import type { Admin } from 'kafkajs';

/** The leader of a partition that was just made, or whose broker just started, is not available yet. */
const LEADERLESS = new Set(['NOT_LEADER_FOR_PARTITION', 'LEADER_NOT_AVAILABLE', 'REPLICA_NOT_AVAILABLE']);
const TRIES_MAX = 100;
const PAUSE_MS = 100;

/** Where a topic's partitions begin and end now. Waits up to 10 s for their leaders, which the client does not. */
export function topicOffsets(admin: Admin, topic: string): ReturnType<Admin['fetchTopicOffsets']> {
  return withLeaders(() => admin.fetchTopicOffsets(topic));
}

/** By partition the first offset stamped at a time (milliseconds since 1970 UTC) or later. Waits like topicOffsets. */
export function topicOffsetsAt(
  admin: Admin,
  topic: string,
  timeMs: number,
): ReturnType<Admin['fetchTopicOffsetsByTimestamp']> {
  return withLeaders(() => admin.fetchTopicOffsetsByTimestamp(topic, timeMs));
}

async function withLeaders<T>(ask: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await ask();
    } catch (error) {
      const { type } = error as { type?: unknown };
      if (typeof type !== 'string' || !LEADERLESS.has(type) || tries === TRIES_MAX) throw error;
      await sleep(PAUSE_MS);
    }
  }
}
