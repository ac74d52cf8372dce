import { recoveryOf, StageFailedError } from '#infra/errors.ts';
import { fetchFrom } from './flow_control.ts';
import type { Member } from './member.ts';
import type { Slot } from './partition_state.ts';

const FAILURES_MAX = 12;
/** Waiting for a part that will come back counts no further, so that an error after it does not end the process. */
const FAILURES_WAITING_MAX = 6;
const BACKOFF_MS = 50;
const BACKOFF_MS_MAX = 2_000;

/**
 * After a failure: fetches the last batch again, whose partition is then acquired again and read from its committed offset.
 * Answers how many milliseconds to wait before that.
 */
export function recover(member: Member, slot: Slot, error: unknown): number {
  const { logger, onFatal } = member.options;
  const recovery = recoveryOf(error);
  const { topic, partition } = slot;
  if (recovery === 'again' || slot.failures < FAILURES_WAITING_MAX) slot.failures++;
  if (recovery === 'stop' || slot.failures > FAILURES_MAX) {
    onFatal(recovery === 'stop' ? error : new StageFailedError('retries used up', { cause: error }));
    return BACKOFF_MS_MAX;
  }
  const facts = { topic, partition, failures: slot.failures, err: error };
  logger.warn(facts, 'batch failed, trying again from the committed offset');
  fetchFrom(member, slot, slot.takenOffset);
  return Math.min(BACKOFF_MS * 2 ** slot.failures, BACKOFF_MS_MAX);
}
