/** What recovery an error of the client calls for. */
export type Recovery = 'rejoin' | 'again' | 'wait' | 'stop';

/** A group membership error: the client rejoins by itself when it is thrown on. */
const REJOIN_TYPES = new Set([
  'REBALANCE_IN_PROGRESS',
  'ILLEGAL_GENERATION',
  'UNKNOWN_MEMBER_ID',
  'NOT_COORDINATOR_FOR_GROUP',
]);

/**
 * Reads an error from anywhere in a stage. Client errors and errors that say `recovery: 'again'` are tried again from
 * the committed offset, so many times; `recovery: 'wait'` for ever, as nothing is gained by another process; anything
 * else is unknown and stops the process.
 */
export function recoveryOf(error: unknown): Recovery {
  if (!(error instanceof Error)) return 'stop';
  const facts = error as Error & { type?: unknown; recovery?: unknown };
  if (typeof facts.type === 'string' && REJOIN_TYPES.has(facts.type)) return 'rejoin';
  if (facts.recovery === 'again' || facts.recovery === 'wait') return facts.recovery;
  return error.name.startsWith('KafkaJS') ? 'again' : 'stop';
}

/** A retry budget was used up: the process stops and its supervisor starts it anew. */
export class StageFailedError extends Error {
  readonly code = 'stage_failed';
  readonly recovery = 'stop';
}

/** The partition went to another member; nothing was committed. */
export class PartitionLostError extends Error {
  readonly code = 'partition_lost';
  readonly recovery = 'again';
}
