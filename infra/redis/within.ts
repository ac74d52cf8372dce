import { deadline } from '#infra/concurrency/deadline.ts';
import { RedisUnavailableError } from './client.ts';

/** What is told of an answer that did not come in time. */
export const tooLate = (): RedisUnavailableError => new RedisUnavailableError('redis: too late');

/**
 * Waits for an answer of Redis, and throws RedisUnavailableError where it takes longer than `deadlineMs`; what was asked
 * may still happen then.
 */
export async function within<T>(deadlineMs: number, answer: Promise<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const end = deadline(deadlineMs, () => reject(tooLate()));
  try {
    return await Promise.race([answer, late]);
  } finally {
    end();
  }
}
