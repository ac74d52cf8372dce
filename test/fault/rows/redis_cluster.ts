import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ClusterServer, RedisCluster } from '#test/harness/redis_cluster.ts';
import type { Row } from '../row.ts';
import type { World } from '../world/fault_world.ts';

const REQUESTS_PER_SECOND = 20;
/** A server that joined is known after this, and slots may be moved to it. */
const KNOWN_MS = 12_000;
/** Of shards of the dedup keys, of persons, and of the checkpoints of quota. */
const MOVED = ['d:{A}:epoch', 'd:{m}:epoch', 'd:{_}:epoch', 'i:{3}:epoch', 'i:{c}:epoch', 'q:{edges}checkpoints'];

function clusterOf({ special: { redis } }: World): RedisCluster {
  if (redis === undefined) throw new Error('this world has no cluster of Redis');
  return redis;
}

/** Two masters are killed, one after the other, each after it took writes that its replica never got. */
export const REDIS_MASTERS_LOST: Row = {
  name: 'redis_cluster.masters_lost',
  place: 'redis_cluster',
  requestsPerSecond: REQUESTS_PER_SECOND,
  async fault({ world, random, untilSent, ledger, events }) {
    const cluster = clusterOf(world);
    await untilSent(events / 4);
    const masters = await cluster.masters();
    const first = random.whole(0, masters.length - 1);
    for (const at of [first, first + 1]) {
      const master = masters[at % masters.length] as ClusterServer;
      await cluster.killWithLoss(master, () => untilSent(ledger.size() + events / 8));
      await untilSent(ledger.size() + events / 8);
      await master.part.start();
      await cluster.whole();
    }
    await untilSent(ledger.size() + events / 4);
  },
};

/** Slots are moved to a server that has joined while all that is in them is asked for; nothing is read back for it. */
export const REDIS_SLOTS_MOVED: Row = {
  name: 'redis_cluster.slots_moved',
  place: 'redis_cluster',
  requestsPerSecond: REQUESTS_PER_SECOND,
  async fault({ world, untilSent, ledger, events }) {
    const cluster = clusterOf(world);
    await untilSent(events / 8);
    const joined = await cluster.grow();
    await sleep(KNOWN_MS);
    const before = rebuildsOf(world);
    for (const key of MOVED) await cluster.move(key, joined, () => untilSent(ledger.size() + events / 16));
    await untilSent(ledger.size() + events / 4);
    if (rebuildsOf(world) !== before) throw new Error('an index was rebuilt, though nothing was lost');
  },
};

function rebuildsOf({ dataDir, fleet }: World): number {
  const names = fleet.names().filter((name) => /^(dedup|identity)\b/.test(name));
  const logs = names.map((name) => readFileSync(join(dataDir, 'log', `${name}.log`), 'utf8'));
  return logs.join('').split('rebuilding the index').length;
}
