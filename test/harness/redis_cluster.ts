import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Redis as Server } from 'ioredis';
import { choosePorts, LocalPart } from '#services/local/parts/part.ts';
import { installParts } from '#services/local/parts/parts.ts';
import type { RedisProgram } from '#services/local/parts/redis.ts';
import { until } from './until.ts';

/** A server of a cluster: its process, and a connection to it alone. */
export interface ClusterServer {
  id: string;
  port: number;
  busPort: number;
  part: LocalPart;
  client: Server;
}

const HOST = '127.0.0.1';
const MASTERS = 3;
const SLOTS = 16_384;
const KEYS_AT_ONCE = 100;
const MOVE_MS_MAX = 5_000;
/** A master that says nothing for so long is voted out, where one is to be. */
const NODE_TIMEOUT_MS = 4_000;
/** Replicas sign in as a user of their own, so that they can be kept from a master to which clients still write. */
const REPLICA = 'replica';

/** One server on ports of its own, and a connection to it. */
export async function startRedisServer(
  dataDir: string,
  name: string,
  program: RedisProgram,
  settings: Readonly<Record<string, string>>,
): Promise<Omit<ClusterServer, 'id' | 'busPort'>> {
  const port = (await choosePorts(dataDir, [name]))[name] as number;
  const folder = join(dataDir, name);
  mkdirSync(folder, { recursive: true });
  const all = {
    bind: HOST,
    port: String(port),
    dir: folder,
    'repl-diskless-sync-delay': '0',
    appendonly: 'yes',
    appendfsync: 'everysec',
    save: '',
    'maxmemory-policy': 'noeviction',
    masteruser: REPLICA,
    masterauth: REPLICA,
    ...settings,
  };
  const client = new Server({ host: HOST, port, lazyConnect: true, retryStrategy: () => 100 });
  // Servers are killed; whoever waits for one sees it by its answers.
  client.on('error', () => undefined);
  const args = Object.entries(all).flatMap(([setting, value]) => [`--${setting}`, value]);
  const part = new LocalPart(
    {
      name: 'redis',
      address: `redis://${HOST}:${port}`,
      logPath: join(dataDir, 'log', `${name}.log`),
      command: program.command,
      args: [...args, '--user', REPLICA, 'on', `>${REPLICA}`, '~*', '&*', '+@all'],
      cwd: folder,
      env: program.libraries === undefined ? {} : { LD_LIBRARY_PATH: program.libraries },
      isReady: async () => (await client.ping()) === 'PONG',
    },
    () => undefined,
  );
  await part.start();
  return { port, part, client };
}

async function startNode(
  dataDir: string,
  name: string,
  program: RedisProgram,
  nodeTimeoutMs: number,
): Promise<ClusterServer> {
  const busPort = (await choosePorts(dataDir, [`${name}bus`]))[`${name}bus`] as number;
  const server = await startRedisServer(dataDir, name, program, {
    'cluster-enabled': 'yes',
    'cluster-port': String(busPort),
    'cluster-node-timeout': String(nodeTimeoutMs),
    // However long it was cut off.
    'cluster-replica-validity-factor': '0',
    'cluster-allow-replica-migration': 'no',
  });
  return { ...server, id: String(await server.client.cluster('MYID')), busPort };
}

/** Lets a server take writes that no replica gets any more. */
export async function cutReplicasOff({ client }: Pick<ClusterServer, 'client'>): Promise<void> {
  await client.acl('SETUSER', REPLICA, 'off');
  await client.call('CLIENT', 'KILL', 'TYPE', 'replica');
}

export type RedisCluster = Awaited<ReturnType<typeof startRedisCluster>>;

/** Three masters with a replica each, on loopback. */
export async function startRedisCluster(dataDir: string, nodeTimeoutMs = NODE_TIMEOUT_MS) {
  const { redis: program } = await installParts(new Set(['redis']), () => undefined);
  if (program === undefined) throw new Error('redis was not installed');
  const servers: ClusterServer[] = [];
  const add = async (): Promise<ClusterServer> => {
    const server = await startNode(dataDir, `redis${servers.length + 1}`, program, nodeTimeoutMs);
    servers.push(server);
    return server;
  };
  for (let count = 0; count < 2 * MASTERS; count++) await add();
  const masters = servers.slice(0, MASTERS);
  for (const [at, { client }] of masters.entries()) {
    const [from, end] = [at, at + 1].map((part) => Math.floor((part * SLOTS) / MASTERS)) as [number, number];
    await client.cluster('ADDSLOTS', ...Array.from({ length: end - from }, (_, slot) => from + slot));
  }
  await meet(servers);
  await Promise.all(masters.map((master, at) => replicate(servers[MASTERS + at] as ClusterServer, master)));
  await untilWhole(servers);
  await until('all to know the replicas', async () => {
    const views = await Promise.all(servers.map(({ client }) => client.cluster('SLOTS')));
    return views.flat().every(([, , ...nodes]) => nodes.length > 1);
  });

  return {
    url: `redis://${masters.map(({ port }) => `${HOST}:${port}`).join(',')}`,
    servers,
    /** Adds a server without slots. */
    async grow(): Promise<ClusterServer> {
      const server = await add();
      await meet(servers);
      await untilWhole(servers);
      return server;
    },
    whole: (): Promise<void> => untilWhole(servers),
    masters: (): Promise<ClusterServer[]> => mastersOf(servers),
    async ownerOf(key: string): Promise<ClusterServer> {
      const slot = await slotOf(servers, key);
      return until(
        `an owner of ${key}`,
        () => ownerOf(servers, slot),
        (owner) => owner !== undefined,
      ) as Promise<ClusterServer>;
    },
    /** Moves the slot of a key while it is used, as operators do; `halfway` runs when some of its keys are there and some here. */
    async move(key: string, to: ClusterServer, halfway: () => Promise<void> = async () => undefined): Promise<void> {
      const slot = await slotOf(servers, key);
      const from = await ownerOf(servers, slot);
      if (from === undefined || from === to) throw new Error('nothing to move');
      await to.client.cluster('SETSLOT', slot, 'IMPORTING', from.id);
      await from.client.cluster('SETSLOT', slot, 'MIGRATING', to.id);
      const keys = (): Promise<string[]> =>
        from.client.cluster('GETKEYSINSLOT', slot, KEYS_AT_ONCE) as Promise<string[]>;
      const send = (some: readonly string[]): Promise<unknown> =>
        from.client.call('MIGRATE', HOST, to.port, '', 0, MOVE_MS_MAX, 'KEYS', ...some);
      const first = await keys();
      if (first.length > 1) await send(first.slice(0, Math.floor(first.length / 2)));
      await halfway();
      for (let some = await keys(); some.length > 0; some = await keys()) await send(some);
      for (const { client } of [to, from]) await client.cluster('SETSLOT', slot, 'NODE', to.id);
    },
    /** Kills a master after it has taken writes that no replica has; resolves when its replica has taken over. */
    async killWithLoss(master: ClusterServer, write: () => Promise<void>): Promise<void> {
      const { length } = await mastersOf(servers);
      await cutReplicasOff(master);
      await write();
      master.part.kill('SIGKILL');
      await until('a replica to take over', async () => (await mastersOf(servers)).length >= length);
      await untilWhole(servers);
    },
    stop: (): Promise<void> => stopAll(servers),
  };
}

const running = (servers: readonly ClusterServer[]): ClusterServer[] =>
  servers.filter(({ part }) => part.pid !== undefined);

/** Everybody whom the first does not know yet. */
async function meet(servers: readonly ClusterServer[]): Promise<void> {
  const [first, ...others] = servers as [ClusterServer, ...ClusterServer[]];
  const known = String(await first.client.cluster('NODES'));
  for (const { id, port, busPort } of others) {
    if (!known.includes(id)) await first.client.call('CLUSTER', 'MEET', HOST, port, busPort);
  }
  await until('the servers to know each other', async () => {
    const views = await Promise.all(servers.map(({ client }) => client.cluster('NODES')));
    return views.every((view) => servers.every(({ id }) => new RegExp(`^${id} .* connected`, 'm').test(String(view))));
  });
}

async function replicate(replica: ClusterServer, master: ClusterServer): Promise<void> {
  await replica.client.cluster('REPLICATE', master.id);
  await until('a replica to have everything', async () =>
    (await replica.client.info('replication')).includes('master_link_status:up'),
  );
}

async function untilWhole(servers: readonly ClusterServer[]): Promise<void> {
  await until('the cluster to be whole', async () => {
    const states = await Promise.all(running(servers).map(({ client }) => client.cluster('INFO')));
    return states.every((state) => String(state).includes('cluster_state:ok'));
  });
}

async function mastersOf(servers: readonly ClusterServer[]): Promise<ClusterServer[]> {
  const alive = running(servers);
  const roles = await Promise.all(alive.map(({ client }) => client.info('replication')));
  return alive.filter((_server, at) => roles[at]?.includes('role:master'));
}

async function slotOf(servers: readonly ClusterServer[], key: string): Promise<number> {
  return Number(await running(servers)[0]?.client.cluster('KEYSLOT', key));
}

async function ownerOf(servers: readonly ClusterServer[], slot: number): Promise<ClusterServer | undefined> {
  for (const server of await mastersOf(servers)) {
    const ranges = await server.client.cluster('SLOTS');
    if (ranges.some(([from, to, owner]) => from <= slot && slot <= to && owner?.[2] === server.id)) return server;
  }
  return undefined;
}

export async function stopAll(servers: readonly Pick<ClusterServer, 'client' | 'part'>[]): Promise<void> {
  for (const { client, part } of servers) {
    client.disconnect();
    part.kill('SIGKILL');
    await part.stop();
  }
}
