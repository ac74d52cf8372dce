import { setTimeout as sleep } from 'node:timers/promises';
import { FAILPOINTS, type FailpointName } from '#infra/failpoint.ts';
import type { Row, RowContext } from '../row.ts';

const PASS_MAX = 4;
/** Slow enough that a row of many kills does not send tens of thousands of events. */
const CALM_REQUESTS_PER_SECOND = 15;

/** `delivery.webhook` is a delivery process, `edge.1` an edge. */
function kindOf(process: string): string {
  return process.split('.')[0] ?? process;
}

function failpointsOf(process: string): FailpointName[] {
  return (Object.keys(FAILPOINTS) as FailpointName[]).filter((name) =>
    (FAILPOINTS[name] as readonly string[]).includes(kindOf(process)),
  );
}

const resends = (process: string): { resends?: true } => (kindOf(process) === 'delivery' ? { resends: true } : {});

/** kill -9 of a process while events flow: of an edge, with requests open. */
export function killed(process: string, times = 1): Row {
  return {
    name: `killed.${process}`,
    ...resends(process),
    async fault({ world, untilSent, ledger, events, random }) {
      await untilSent(events / 4);
      for (let count = 0; count < times; count++) {
        world.fleet.signal(process, 'SIGKILL');
        await untilSent(ledger.size() + events / 4);
        await world.fleet.allReady();
        await sleep(random.whole(0, 300));
      }
    },
  };
}

/** The process dies at each of its failpoints, one after the other. */
export function killedAtFailpoints(process: string): Row {
  return {
    name: `failpoint.${process}`,
    ...resends(process),
    requestsPerSecond: CALM_REQUESTS_PER_SECOND,
    async fault(context) {
      for (const failpoint of failpointsOf(process)) {
        await dieAt(context, process, failpoint);
        await context.world.fleet.allReady();
      }
    },
  };
}

/** The process dies at one failpoint. */
export function killedAt(process: string, failpoint: FailpointName): Row {
  return {
    name: `failpoint.${process}.${failpoint}`,
    ...resends(process),
    requestsPerSecond: CALM_REQUESTS_PER_SECOND,
    fault: (context) => dieAt(context, process, failpoint),
  };
}

/** Every stage dies at each of its failpoints, all stages side by side; the next is armed once it died. */
export function killedAtFailpointsTogether(processes: readonly string[]): Row {
  return {
    name: 'failpoints_together',
    smoke: true,
    resends: true,
    requestsPerSecond: CALM_REQUESTS_PER_SECOND,
    async fault(context) {
      await Promise.all(
        processes.map(async (process) => {
          for (const failpoint of failpointsOf(process)) await dieAt(context, process, failpoint);
        }),
      );
    },
  };
}

async function dieAt({ world, random, say }: RowContext, process: string, failpoint: FailpointName): Promise<void> {
  const before = world.fleet.deaths(process);
  const pass = random.whole(1, PASS_MAX);
  say(`  ${process} dies at ${failpoint}:${pass}`);
  await world.fleet.arm(process, failpoint, pass);
  await world.fleet.died(process, before + 1);
}

/** Each process dies so often at random moments, side by side: now while it joins its group, now while it works. */
export function killedAtRandom(processes: readonly string[], times: number): Row {
  return {
    name: 'killed_at_random',
    resends: true,
    requestsPerSecond: CALM_REQUESTS_PER_SECOND,
    async fault({ world, random }) {
      const delays = processes.map((process) => ({
        process,
        pausesMs: Array.from({ length: times }, () => random.whole(0, PAUSE_MS_MAX)),
      }));
      await Promise.all(
        delays.map(async ({ process, pausesMs }) => {
          for (const pauseMs of pausesMs) {
            await sleep(pauseMs);
            await world.fleet.allReady();
            world.fleet.signal(process, 'SIGKILL');
          }
        }),
      );
    },
  };
}

/** Past the session timeout, so that some of the killed had work in hand. */
const PAUSE_MS_MAX = 8_000;
