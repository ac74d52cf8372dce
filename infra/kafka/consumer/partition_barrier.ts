import type { Consumption } from './consumption.ts';
import type { TopicPartition } from './partition_state.ts';

/**
 * Runs a task between batches of several partitions at once. It begins when none of them has anything else in work, and is
 * given those that are still ours; they go on when it has ended. If it fails, each of them is read again from its committed
 * offset.
 */
export async function runAtBarrier<At extends TopicPartition>(
  { between }: Pick<Consumption, 'between'>,
  partitions: readonly At[],
  task: (ours: At[]) => Promise<void>,
): Promise<void> {
  const ours: At[] = [];
  const answered = Promise.withResolvers<void>();
  const done = Promise.withResolvers<void>();
  let awaited = partitions.length;
  const answer = (): void => {
    if (--awaited === 0) answered.resolve();
  };
  const turns = partitions.map(async (at) => {
    let came = false;
    await between(at, () => {
      came = true;
      ours.push(at);
      answer();
      return done.promise;
    });
    if (!came) answer();
  });
  await answered.promise;
  // With none of them ours there is nobody to hear of a failure, and nothing that could fail.
  if (ours.length > 0) await task(ours).then(done.resolve, done.reject);
  await Promise.all(turns);
}
