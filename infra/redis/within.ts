import { RedisUnavailableError } from './client.ts';

/**
 * Waits for an answer of Redis, and throws RedisUnavailableError where it takes longer than `deadlineMs`; what was asked
 * may still happen then. A process that was held up itself reads what has arrived before it says that nothing did.
 */
export async function within<T>(deadlineMs: number, answer: Promise<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const giveUp = (): void => reject(new RedisUnavailableError('redis: too late'));
  const timer = setTimeout(() => setImmediate(giveUp), deadlineMs);
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}
