import { setTimeout as sleep } from 'node:timers/promises';
import type { Random } from '#services/local/demo/world/random.ts';
import type { LocalPart, PartName } from '#services/local/parts/parts.ts';
import type { Row, RowContext } from '../row.ts';
import type { ProxyMode } from '../world/clickhouse_proxy.ts';
import type { World } from '../world/fault_world.ts';
import { heal } from '../world/heal.ts';
import { partsIn } from '../world/parts_in.ts';
import { flushAll, killAndWait } from './parts.ts';

type Fault = (context: RowContext, processes: readonly [string, ...string[]]) => Promise<void>;

const PAUSE_MS_MAX = 4_000;

const killProcess: Fault = async ({ world, random }, processes) => {
  world.fleet.signal(random.pick(processes), 'SIGKILL');
};

/** A server of one of these kinds: none of a kind is hit more often for being many. */
function anyPart(world: World, random: Random, kinds: readonly [PartName, ...PartName[]]): LocalPart {
  const wanted = random.pick(kinds);
  const found = partsIn(world).filter(({ kind }) => kind === wanted);
  const one = found[random.whole(0, found.length - 1)];
  if (one === undefined) throw new Error(`${wanted} does not run here`);
  return one.part;
}

const stallProcess: Fault = async ({ world, random }, processes) => {
  const process = random.pick(processes);
  world.fleet.signal(process, 'SIGSTOP');
  await sleep(random.whole(500, 10_000));
  world.fleet.signal(process, 'SIGCONT');
};

const restartProcess: Fault = async ({ world, random }, processes) => {
  const process = random.pick(processes);
  await world.fleet.stop(process);
  world.fleet.launch(process);
};

const killPart: Fault = async ({ world, random }) => {
  const part = anyPart(world, random, ['kafka', 'redis', 'clickhouse', 'registry']);
  await killAndWait(part);
  await sleep(random.whole(0, 3_000));
  await part.start();
};

const stallPart: Fault = async ({ world, random }) => {
  const part = anyPart(world, random, ['kafka', 'redis', 'clickhouse']);
  part.kill('SIGSTOP');
  await sleep(random.whole(500, 8_000));
  part.kill('SIGCONT');
};

const disturbClickhouse: Fault = async ({ world, random }) => {
  world.proxy.set(
    random.pick<ProxyMode>([
      { kind: 'erroring' },
      { kind: 'mute' },
      { kind: 'slow', delayMs: random.whole(100, 3_000) },
    ]),
  );
  await sleep(random.whole(500, 5_000));
  world.proxy.set({ kind: 'pass' });
};

/** One hand for processes and one for parts, so that both may be broken at the same time. */
const ON_PROCESSES: readonly [number, Fault][] = [
  [5, killProcess],
  [3, stallProcess],
  [2, restartProcess],
];
const ON_PARTS: readonly [number, Fault][] = [
  [3, killPart],
  [3, stallPart],
  [3, disturbClickhouse],
  [1, flushAll],
];

/** Everything at once at random, for a time; the seed says what and in which order. */
export function allAtOnce(processes: readonly [string, ...string[]], minutes: number): Row {
  return {
    name: 'all_at_once',
    resends: true,
    requestsPerSecond: 8,
    async fault(context) {
      const deadline = performance.now() + minutes * 60_000;
      const hand = async (faults: readonly [number, Fault][], random: Random): Promise<void> => {
        while (performance.now() < deadline) {
          await sleep(random.whole(0, PAUSE_MS_MAX));
          const fault = random.weigh(faults as readonly [[number, Fault], ...[number, Fault][]]);
          await fault({ ...context, random }, processes);
        }
      };
      await Promise.all([hand(ON_PROCESSES, context.random), hand(ON_PARTS, context.random)]);
      await heal(context.world, context.say);
    },
  };
}
