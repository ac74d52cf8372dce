import { PartitionLostError } from '#infra/errors.ts';
import type { OffsetCommit } from './consumption.ts';
import { type Member, slotOf } from './member.ts';

/** Commits offsets in one request, as `Consumption.commitAll` has it. */
export async function commitOffsets(member: Member, offsets: readonly OffsetCommit[]): Promise<void> {
  if (offsets.some((at) => slotOf(member, at).acquired !== member.generation)) {
    throw new PartitionLostError('partition lost before its commit');
  }
  await member.watchdog.watch('a commit', () =>
    member.committer.commit(offsets.map(({ offset, ...at }) => ({ ...at, offset: String(offset) }))),
  );
}
