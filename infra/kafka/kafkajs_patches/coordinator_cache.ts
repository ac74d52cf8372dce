import { createRequire } from 'node:module';

interface Asked {
  groupId: string;
  /** 0: of a group, 1: of a transactional id. */
  coordinatorType: number;
}

interface Cluster {
  findGroupCoordinatorMetadata(this: Cluster, asked: Asked): Promise<unknown>;
}

interface Found {
  metadata: unknown;
  atMs: number;
}

const require = createRequire(import.meta.url);
const ClusterOfClient = require('kafkajs/src/cluster/index.js') as { prototype: Cluster };

const OF_TRANSACTION = 1;
/** A coordinator that moved is asked for anew after this long, where its refusal does not have the producer made anew before. */
const KEPT_MS = 2_000;

let mended = false;

/**
 * Makes the client keep for a while which brokers coordinate a transactional id and the group whose offsets go with it. It
 * asks for them four times in each transaction, a quarter of all requests of a stage that makes transactions. Only the
 * clients of transactional producers keep anything: what joins groups or commits offsets by itself asks as ever.
 */
export function mendCoordinatorMemory(): void {
  if (mended) return;
  mended = true;
  const known = new WeakMap<Cluster, Map<string, Found>>();
  const { findGroupCoordinatorMetadata } = ClusterOfClient.prototype;
  ClusterOfClient.prototype.findGroupCoordinatorMetadata = async function (asked) {
    if (asked.coordinatorType === OF_TRANSACTION && !known.has(this)) known.set(this, new Map());
    const ofCluster = known.get(this);
    const name = `${asked.coordinatorType}/${asked.groupId}`;
    const found = ofCluster?.get(name);
    if (found !== undefined && performance.now() - found.atMs < KEPT_MS) return found.metadata;
    const metadata = await findGroupCoordinatorMetadata.call(this, asked);
    ofCluster?.set(name, { metadata, atMs: performance.now() });
    return metadata;
  };
}
