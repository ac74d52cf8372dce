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
/** After this long the coordinator is looked up again; if it moved earlier, its refusal has the producer made anew. */
const KEPT_MS = 2_000;

let patched = false;

/**
 * Makes the client cache for a while which brokers coordinate a transactional id and the group whose offsets go with it.
 * The client looks them up four times in each transaction: a quarter of all requests of a transactional stage. Only the
 * clients of transactional producers cache anything: consumers, and whatever commits offsets by itself, look up the
 * coordinator each time.
 */
export function patchCoordinatorCache(): void {
  if (patched) return;
  patched = true;
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
