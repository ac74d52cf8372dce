import { setTimeout as sleep } from 'node:timers/promises';
import type { LocalPart, PartName } from '#services/local/parts/parts.ts';
import { until } from '#test/harness/until.ts';
import type { Row, RowContext } from '../row.ts';
import type { ProxyMode } from '../world/clickhouse_proxy.ts';
import type { World } from '../world/fault_world.ts';
import { emptyRedisFolder, redisCommand } from '../world/redis.ts';

/** While a part is away: enough for clients to be told no, few enough to be sent again. */
const CALM_REQUESTS_PER_SECOND = 20;

export function partOf(world: World, name: PartName): LocalPart {
  const part = world.parts.parts[name];
  if (part === undefined) throw new Error(`${name} does not run here`);
  return part;
}

const singleOf = (name: PartName): Pick<Row, 'single'> =>
  name === 'redis' || name === 'clickhouse' ? { single: name } : {};

/** kill -9 of a part; it starts again on its own data after some events. */
export function partKilled(name: PartName, extra: Partial<Row> = {}): Row {
  return {
    name: `${name}.killed`,
    ...singleOf(name),
    requestsPerSecond: CALM_REQUESTS_PER_SECOND,
    ...extra,
    async fault({ world, untilSent, events }) {
      await untilSent(events / 4);
      await killAndWait(partOf(world, name));
      await partOf(world, name).start();
      await untilSent(events / 2);
    },
  };
}

/** Resolves when the process is gone: until then a start would find it alive. */
export async function killAndWait(part: LocalPart): Promise<void> {
  part.kill('SIGKILL');
  await until(
    `${part.name} is gone`,
    () => part.pid,
    (pid) => pid === undefined,
  );
}

/** A part is stopped cleanly for a time and started again. */
export function partStopped(name: PartName, stoppedMs: number, extra: Partial<Row> = {}): Row {
  return {
    name: `${name}.stopped`,
    ...singleOf(name),
    requestsPerSecond: CALM_REQUESTS_PER_SECOND,
    ...extra,
    async fault({ world, untilSent, events }) {
      await untilSent(events / 4);
      await partOf(world, name).stop();
      await sleep(stoppedMs);
      await partOf(world, name).start();
      await untilSent(events / 2);
    },
  };
}

/** A part that is there and does nothing, as behind a network that swallows. */
export function partStalled(name: PartName, stalledMs: number): Row {
  return {
    name: `${name}.stalled`,
    requestsPerSecond: CALM_REQUESTS_PER_SECOND,
    resends: true,
    async fault({ world, untilSent, events }) {
      await untilSent(events / 4);
      partOf(world, name).kill('SIGSTOP');
      await sleep(stalledMs);
      partOf(world, name).kill('SIGCONT');
    },
  };
}

/** Just below the limit of 1000 requests in 10 s for a key. */
const FULL_REQUESTS_PER_SECOND = 90;

/** The broker stops answering for five seconds, then the edge that waits for it dies, at full load. */
export const BROKER_STALLED_THEN_EDGE_KILLED: Row = {
  name: 'kafka.stalled_then_edge_killed',
  requestsPerSecond: FULL_REQUESTS_PER_SECOND,
  resends: true,
  async fault({ world, untilSent, events }) {
    await untilSent(events / 2);
    partOf(world, 'kafka').kill('SIGSTOP');
    await sleep(5_000);
    world.fleet.signal('edge.1', 'SIGKILL');
    partOf(world, 'kafka').kill('SIGCONT');
    await world.fleet.allReady();
  },
};

/** Warm processes go on without the registry; one that starts is not ready until it is back. */
export const REGISTRY_DOWN: Row = {
  name: 'registry.down',
  requestsPerSecond: CALM_REQUESTS_PER_SECOND,
  async fault({ world, untilSent, ledger, events }) {
    await untilSent(events / 4);
    await killAndWait(partOf(world, 'registry'));
    await untilSent(ledger.size() + events / 2);
    world.fleet.signal('dedup', 'SIGKILL');
    await sleep(COLD_START_MS);
    if (world.fleet.isReady('dedup')) throw new Error('dedup started without a registry and said it was ready');
    await partOf(world, 'registry').start();
    await world.fleet.allReady();
  },
};

/** A process that starts with everything there is ready in a third of this. */
const COLD_START_MS = 6_000;

/** Inserts meet a proxy in this mode until so many were disturbed. */
export function clickhouseThroughProxy(name: string, mode: ProxyMode, disturbedMin: number): Row {
  return {
    name: `clickhouse.${name}`,
    requestsPerSecond: CALM_REQUESTS_PER_SECOND,
    async fault({ world, untilSent, events }) {
      await untilSent(events / 4);
      const before = world.proxy.disturbed();
      world.proxy.set(mode);
      const disturbed = (): number => world.proxy.disturbed() - before;
      await until('inserts disturbed', disturbed, (count) => count >= disturbedMin, { timeoutMs: DISTURBED_MS });
      world.proxy.set({ kind: 'pass' });
      await untilSent(events / 2);
    },
  };
}

const DISTURBED_MS = 60_000;

/** Redis loses everything while events flow, and old events are sent again afterwards. */
export function redisEmptied(
  name: string,
  empty: (context: RowContext) => Promise<void>,
  extra: Pick<Row, 'smoke' | 'single'>,
): Row {
  return {
    name: `redis.${name}`,
    ...extra,
    requestsPerSecond: CALM_REQUESTS_PER_SECOND,
    async fault(context) {
      const { untilSent, ledger, events } = context;
      await untilSent(events / 2);
      await empty(context);
      await untilSent(ledger.size() + events / 2);
    },
  };
}

export const flushAll = async ({ world }: RowContext): Promise<void> => {
  await redisCommand(world, 'FLUSHALL');
};

export const restartEmpty = async ({ world }: RowContext): Promise<void> => {
  await killAndWait(partOf(world, 'redis'));
  emptyRedisFolder(world);
  await partOf(world, 'redis').start();
};

/** Redis takes no more writes for a while. */
export const REDIS_FULL: Row = {
  name: 'redis.maxmemory',
  requestsPerSecond: CALM_REQUESTS_PER_SECOND,
  async fault({ world, untilSent, ledger, events }) {
    await untilSent(events / 4);
    await redisCommand(world, 'CONFIG', 'SET', 'maxmemory', '1');
    await sleep(FULL_MS);
    await redisCommand(world, 'CONFIG', 'SET', 'maxmemory', '0');
    await untilSent(ledger.size() + events / 4);
  },
};

const FULL_MS = 5_000;
