import { join } from 'node:path';
import { planKafka } from '#services/local/parts/kafka.ts';
import { choosePorts, LocalPart } from '#services/local/parts/part.ts';
import { installParts } from '#services/local/parts/parts.ts';

/** Three nodes of one cluster, each a process that can be killed and started again alone. */
export interface ThreeBrokers {
  /** host:port, separated by commas. */
  addresses: string;
  brokers: LocalPart[];
}

const NODES = 3;
/** One broker may die: two copies are enough for an acknowledgement. */
const IN_SYNC_MIN = 2;

export async function startThreeBrokers(dataDir: string, say: (line: string) => void): Promise<ThreeBrokers> {
  const { kafka } = await installParts(new Set(['kafka']), say);
  if (kafka === undefined) throw new Error('kafka was not installed');
  const ids = Array.from({ length: NODES }, (_, index) => index + 1);
  const ports = await choosePorts(
    dataDir,
    ids.flatMap((id) => [`node${id}`, `controller${id}`]),
  );
  const controllerPorts = ids.map((id) => ports[`controller${id}`] as number);
  const brokers: LocalPart[] = [];
  for (const id of ids) {
    const node = {
      folder: join(dataDir, `kafka.${id}`),
      port: ports[`node${id}`] as number,
      controllerPort: controllerPorts[id - 1] as number,
      cluster: { nodeId: id, controllerPorts, replicas: NODES, inSyncMin: IN_SYNC_MIN },
    };
    const plan = await planKafka(node, join(dataDir, 'log', `kafka.${id}.log`), kafka);
    brokers.push(new LocalPart(plan, () => undefined));
  }
  // None is ready before two are.
  await Promise.all(brokers.map((broker) => broker.start()));
  return { addresses: brokers.map(({ address }) => address).join(','), brokers };
}
