import type { FailpointName } from '#infra/failpoint.ts';
import type { Row } from '../row.ts';
import { untilMembers } from '../world/groups.ts';

const CALM_REQUESTS_PER_SECOND = 20;

/**
 * A process stalls at a failpoint past its session, another takes its partitions over and does its work, then the first
 * wakes up and goes on where it stood.
 */
export function zombie(process: string, failpoint: FailpointName, smoke?: 'smoke'): Row {
  return {
    name: `zombie.${process}`,
    ...(smoke === undefined ? {} : { smoke: true as const }),
    ...(process.startsWith('delivery') ? { resends: true as const } : {}),
    requestsPerSecond: CALM_REQUESTS_PER_SECOND,
    async fault({ world, random, untilSent, ledger, events }) {
      await world.fleet.arm(process, failpoint, random.whole(2, 5), 'stall');
      await untilSent(events / 4);
      await world.fleet.stalled(process);
      const replica = await world.fleet.replicate(process);
      await untilMembers(world, process, 1);
      await untilSent(ledger.size() + events / 4);
      world.fleet.signal(process, 'SIGCONT');
      await untilMembers(world, process, 2);
      await untilSent(ledger.size() + events / 4);
      await world.fleet.stop(replica);
    },
  };
}

/** Members join and leave every group again and again while events flow. */
export function rebalanceStorm(processes: readonly string[], rounds: number): Row {
  return {
    name: 'rebalance_storm',
    requestsPerSecond: CALM_REQUESTS_PER_SECOND,
    resends: true,
    async fault({ world, untilSent, events }) {
      await untilSent(events / 8);
      for (let round = 0; round < rounds; round++) {
        const replicas = await Promise.all(processes.map((process) => world.fleet.replicate(process)));
        await Promise.all(replicas.map((replica) => world.fleet.stop(replica)));
      }
    },
  };
}

const STOP_MS_MAX = 25_000;

/** SIGTERM to every process at once under load: each leaves in time and with a good conscience. */
export function terminated(processes: readonly string[]): Row {
  return {
    name: 'sigterm_of_everything',
    async fault({ world, untilSent, events }) {
      await untilSent(events / 3);
      const endings = await Promise.all(
        processes.map(async (process) => ({ process, ...(await world.fleet.stop(process)) })),
      );
      await Promise.all(processes.map((process) => world.fleet.restart(process)));
      for (const { process, code, signal, tookMs } of endings) {
        if (code !== 0 || tookMs > STOP_MS_MAX) {
          throw new Error(`${process} ended on SIGTERM with ${signal ?? code} after ${Math.round(tookMs)} ms`);
        }
      }
      await untilSent(events);
    },
  };
}

/** One after the other, as a deployment goes. */
export function rollingRestart(processes: readonly string[]): Row {
  return {
    name: 'rolling_restart',
    requestsPerSecond: CALM_REQUESTS_PER_SECOND,
    async fault({ world, untilSent, events }) {
      await untilSent(events / 4);
      for (const process of processes) await world.fleet.restart(process);
    },
  };
}
