import { createMutex } from '#infra/concurrency/mutex.ts';
import type { FencedProducer, PartitionRecords } from '#infra/kafka/producer/fenced_producer.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import type { Codec } from '#infra/registry/codec.ts';
import type { ReplayProgress } from '#schemas/replay_progress.ts';

/** What was written cannot be known here: the process ends, and the next one reads it behind a fence. */
class ReplayNotSavedError extends Error {
  readonly code = 'replay_not_saved';
}

type Change = (now: ReplayProgress) => ReplayProgress;

/** How far a replay is, in memory and on its topic. Changes are made one after the other. */
export interface ProgressLog {
  now(): ReplayProgress;
  /** Changes it and writes it down, in one transaction with these records. */
  save(change: Change, records?: readonly PartitionRecords[]): Promise<void>;
  /** Changes it in memory only: the next `save` writes it down too. */
  note(change: Change): Promise<void>;
}

export interface ProgressLogOptions {
  /** Behind whose fence nobody else writes. */
  producer: FencedProducer;
  codec: Codec<ReplayProgress>;
  /** How far the replay is by now. */
  progress: ReplayProgress;
  saved(progress: ReplayProgress): void;
}

export function createProgressLog({ producer, codec, progress, saved }: ProgressLogOptions): ProgressLog {
  const mutex = createMutex();
  let current = progress;
  return {
    now: () => current,
    save: (change, records = []) =>
      mutex.run(async () => {
        const next = change(current);
        const place: PartitionRecords = [TOPICS.replays, 0, [{ key: next.replay_id, value: codec.encode(next) }]];
        await producer.appendAll([...records, place]).catch((error: unknown) => {
          throw new ReplayNotSavedError('it cannot be said whether it was written', { cause: error });
        });
        current = next;
        saved(next);
      }),
    note: (change) =>
      mutex.run(async () => {
        current = change(current);
      }),
  };
}
