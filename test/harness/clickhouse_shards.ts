import { randomBytes } from 'node:crypto';
import { cpSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Cluster } from '#infra/clickhouse/cluster.ts';
import { LOCAL_SHARDS, planClickhouse } from '#services/local/parts/clickhouse/clickhouse.ts';
import { credentialsPath } from '#services/local/parts/clickhouse/users.ts';
import { choosePorts, LocalPart } from '#services/local/parts/part.ts';

/** Servers that have the rows of a shard each, and the same users. */
export interface ClickhouseShards {
  /** Of all of them, as CLICKHOUSE_URL is. */
  url: string;
  cluster: Cluster;
  servers: readonly LocalPart[];
  /** The data folder of the first, in which the passwords are. */
  dataDir: string;
}

/** Ends them at once: what they have is thrown away. */
export async function stopShards({ servers }: Pick<ClickhouseShards, 'servers'>): Promise<void> {
  for (const server of servers) server.kill('SIGKILL');
  await Promise.all(servers.map((server) => server.stop()));
}

const SHARDS = [1, 2];

/** Starts two shards of one server each, on loopback. */
export async function startClickhouseShards(dataDir: string): Promise<ClickhouseShards> {
  const ports = await choosePorts(
    dataDir,
    SHARDS.flatMap((number) => [`http${number}`, `tcp${number}`]),
  );
  const portOf = (name: string): number => ports[name] ?? 0;
  const shard = { tcpPorts: SHARDS.map((number) => portOf(`tcp${number}`)), secret: randomBytes(18).toString('hex') };
  const folder = (number: number): string => join(dataDir, `shard${number}`);
  const plans = SHARDS.map((number) => {
    const [first, own] = [folder(1), folder(number)].map((dir) => credentialsPath(dir, 'clickhouse')) as [
      string,
      string,
    ];
    mkdirSync(dirname(own), { recursive: true });
    if (number > 1) cpSync(first, own);
    return planClickhouse(folder(number), portOf(`http${number}`), { ...shard, tcpPort: portOf(`tcp${number}`) });
  });
  const servers = plans.map((plan) => new LocalPart(plan, () => undefined));
  await Promise.all(servers.map((server) => server.start()));
  const hosts = plans.map(({ address }) => new URL(address).host);
  const url = (plans[0]?.address ?? '').replace(hosts[0] ?? '', hosts.join());
  return { url, cluster: { name: LOCAL_SHARDS, isReplicated: false }, servers, dataDir: folder(1) };
}
