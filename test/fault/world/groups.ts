import { type Admin, Kafka, logLevel } from 'kafkajs';
import { until } from '#test/harness/until.ts';
import type { World } from './fault_world.ts';

/** Sessions of 6 s run out within this, on a busy machine too. */
const TAKEN_OVER_MS = 40_000;

/** The processes that stand beside the first of a stage. */
export const secondsOf = ({ fleet }: World): string[] => fleet.names().filter((name) => /^(?!edge).*\.\d+$/.test(name));

/** Waits until a stage's group has so many members, beside those that are there in every row, and its partitions are theirs. */
export async function untilMembers(world: World, stage: string, more: number): Promise<void> {
  const members =
    secondsOf(world).filter((name) => name.startsWith(`${stage}.`) && world.fleet.isReady(name)).length + more;
  await withAdmin(world, async (admin) => {
    const state = async (): Promise<{ state: string; members: number }> => {
      const [group] = (await admin.describeGroups([`svc.${stage}`])).groups;
      return { state: group?.state ?? 'none', members: group?.members.length ?? 0 };
    };
    const isSo = (seen: Awaited<ReturnType<typeof state>>): boolean =>
      seen.state === 'Stable' && seen.members === members;
    await until(`${members} members of ${stage}`, state, isSo, { timeoutMs: TAKEN_OVER_MS, everyMs: 200 });
  });
}

/**
 * Lets a stage that nobody runs begin behind what a topic holds now. A group that is new would read from the start, and
 * write dead letters for records that earlier rows planted for others.
 */
export async function beginAtEnd(world: World, stage: string, topic: string): Promise<void> {
  await withAdmin(world, async (admin) => {
    const ends = await admin.fetchTopicOffsets(topic);
    const partitions = ends.map(({ partition, high }) => ({ partition, offset: high }));
    await admin.setOffsets({ groupId: `svc.${stage}`, topic, partitions });
  });
}

/** Whether the broker answers for the groups of these processes within a time; it is asked again and again. */
export async function areCoordinated(world: World, names: readonly string[], timeoutMs: number): Promise<boolean> {
  const groups = names.map((name) => `svc.${name}`);
  const isAnswered = (): Promise<boolean> =>
    withAdmin(world, async (admin) => void (await admin.describeGroups(groups))).then(
      () => true,
      () => false,
    );
  return until('every coordinator', isAnswered, Boolean, { timeoutMs, everyMs: 500 }).catch(() => false);
}

export async function withAdmin({ addresses }: World, task: (admin: Admin) => Promise<void>): Promise<void> {
  const kafka = new Kafka({ brokers: addresses.kafkaBrokers.split(','), logLevel: logLevel.NOTHING });
  const admin = kafka.admin();
  await admin.connect();
  try {
    await task(admin);
  } finally {
    await admin.disconnect();
  }
}
