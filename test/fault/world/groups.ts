import { Kafka, logLevel } from 'kafkajs';
import { until } from '#test/harness/until.ts';
import type { World } from './fault_world.ts';

/** Sessions of 6 s run out within this, on a busy machine too. */
const TAKEN_OVER_MS = 40_000;

/** Waits until a stage's group has so many members and its partitions are theirs. */
export async function untilMembers({ addresses }: World, stage: string, members: number): Promise<void> {
  const kafka = new Kafka({ brokers: addresses.kafkaBrokers.split(','), logLevel: logLevel.NOTHING });
  const admin = kafka.admin();
  await admin.connect();
  try {
    const state = async (): Promise<{ state: string; members: number }> => {
      const [group] = (await admin.describeGroups([`svc.${stage}`])).groups;
      return { state: group?.state ?? 'none', members: group?.members.length ?? 0 };
    };
    const isSo = (seen: Awaited<ReturnType<typeof state>>): boolean =>
      seen.state === 'Stable' && seen.members === members;
    await until(`${members} members of ${stage}`, state, isSo, { timeoutMs: TAKEN_OVER_MS, everyMs: 200 });
  } finally {
    await admin.disconnect();
  }
}
