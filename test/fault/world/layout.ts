/** What a world is made of: how many of what it may lose. */
export interface Layout {
  /** Of three one may be away: topics have three copies then, and two acknowledge. */
  brokers: 1 | 3;
  /** Redis is three masters with a replica each. */
  redisCluster: boolean;
  /** ClickHouse is two servers, each with the rows of a shard. */
  shards: boolean;
  /** Of each stage. */
  processes: 1 | 2;
}

export const SINGLE: Layout = { brokers: 1, redisCluster: false, shards: false, processes: 1 };
export const CLUSTER: Layout = { brokers: 3, redisCluster: true, shards: true, processes: 2 };

/** Which kind of world a row needs, where that is not the common one. */
export type PlaceKind =
  | 'growing'
  | 'own_platforms'
  | 'three_brokers'
  | 'redis_cluster'
  | 'shards'
  | 'small_disk'
  | 'earlier_version';

/** The layout of a row's world, which has at least what it needs. */
export function layoutFor(kind: PlaceKind | undefined, common: Layout): Layout {
  // What the version before knows of clusters is another question.
  if (kind === 'earlier_version') return SINGLE;
  return {
    ...common,
    brokers: kind === 'three_brokers' ? 3 : common.brokers,
    redisCluster: common.redisCluster || kind === 'redis_cluster',
    shards: common.shards || kind === 'shards',
  };
}

const OWN: ReadonlySet<PlaceKind> = new Set(['growing', 'own_platforms', 'small_disk', 'earlier_version']);

/** Whether the common world has all that a row of this kind needs. */
export function isCommon(kind: PlaceKind | undefined, common: Layout): boolean {
  if (kind === undefined) return true;
  return !OWN.has(kind) && JSON.stringify(layoutFor(kind, common)) === JSON.stringify(common);
}
