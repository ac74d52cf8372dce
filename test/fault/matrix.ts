import type { Row } from './row.ts';
import { allAtOnce } from './rows/all_at_once.ts';
import { REDIS_LOST_WITH_CAPPED_PERSONS } from './rows/capped_persons.ts';
import { clockOff } from './rows/clocks.ts';
import { REBALANCE_DURING_DELIVERY, TRANSACTION_FAILS } from './rows/delivery.ts';
import { DUPLICATE_STORM } from './rows/duplicates.ts';
import { GROUPS_DELETED, GROUPS_SET_BACK } from './rows/groups_lost.ts';
import { clientHangs } from './rows/hang.ts';
import { killed, killedAtFailpoints, killedAtFailpointsTogether, killedAtRandom } from './rows/kills.ts';
import { rebalanceStorm, rollingRestart, terminated, zombie } from './rows/membership.ts';
import { OTHERS_UNDELAYED, OTHERS_UNDELAYED_BY_PLATFORM } from './rows/others_undelayed.ts';
import { DESTINATION_OUTAGE, SECOND_DESTINATION_OUTAGE } from './rows/outage.ts';
import { PARTITIONS_ADDED, PARTITIONS_BELIEVED } from './rows/partitions.ts';
import {
  BROKER_STALLED_THEN_EDGE_KILLED,
  clickhouseThroughProxy,
  flushAll,
  partKilled,
  partStalled,
  partStopped,
  REDIS_FULL,
  REGISTRY_DOWN,
  redisEmptied,
  restartEmpty,
} from './rows/parts.ts';
import { BROKERS_ROLLED, DISK_FULL, LEADER_OF_THREE_KILLED, SHARD_AWAY } from './rows/places.ts';
import { POISON, POISON_EVENT } from './rows/poison.ts';
import { REDIS_MASTERS_LOST, REDIS_SLOTS_MOVED } from './rows/redis_cluster.ts';
import { REPLAY_MISSED } from './rows/replay.ts';
import { IDLE_LANE } from './rows/retention.ts';
import { TABLE_AWAY } from './rows/table_away.ts';
import { TOKEN_FORGOTTEN } from './rows/token_forgotten.ts';
import { TOPICS_REMADE } from './rows/topics_remade.ts';
import { EARLIER_BESIDE, ROLLED_BACK, UPGRADED } from './rows/upgrade.ts';
import { PAUSED_BACKLOG, SLOW_WEBHOOK } from './rows/webhook_of_one_site.ts';

const PIPELINES = ['dedup', 'identity', 'quota', 'warehouse', 'delivery.webhook'] as const;
const STAGES = [...PIPELINES, 'delivery.meta'] as const;
const EDGES = ['edge.1', 'edge.2'] as const;
const PROCESSES: readonly [string, ...string[]] = [...STAGES, ...EDGES];
const MINUTES_AT_ONCE = 10;

/** Every fault, in the order in which they are run on one set of parts. */
export const MATRIX: readonly Row[] = [
  killed('edge.1', 3),
  ...['edge.1', ...PIPELINES].map(killedAtFailpoints),
  killedAtFailpointsTogether(['edge.1', ...PIPELINES]),
  killedAtRandom(STAGES, 20),
  zombie('dedup', 'stage.before_send', 'smoke'),
  zombie('identity', 'stage.after_offsets'),
  zombie('quota', 'quota.after_settle'),
  zombie('warehouse', 'sink.after_plan'),
  zombie('delivery.webhook', 'delivery.after_answer'),
  rebalanceStorm(STAGES, 4),
  terminated(PROCESSES),
  rollingRestart(PROCESSES),
  // With the broker goes the transaction in which a delivery that was made would be written down.
  partKilled('kafka', { smoke: true, resends: true }),
  partStalled('kafka', 20_000),
  BROKER_STALLED_THEN_EDGE_KILLED,
  clientHangs(['edge.1', 'dedup', 'warehouse', 'quota']),
  // Before groups are deleted: where nothing comes afterwards, nothing is committed until something does.
  IDLE_LANE,
  GROUPS_DELETED,
  GROUPS_SET_BACK,
  REGISTRY_DOWN,
  partStopped('clickhouse', 60_000),
  partKilled('clickhouse', { smoke: true }),
  clickhouseThroughProxy('erroring', { kind: 'erroring' }, 5),
  clickhouseThroughProxy('mute', { kind: 'mute' }, 3),
  clickhouseThroughProxy('slow', { kind: 'slow', delayMs: 3_000 }, 3),
  TOKEN_FORGOTTEN,
  TABLE_AWAY,
  partKilled('redis'),
  redisEmptied('restarted_empty', restartEmpty, { single: 'redis' }),
  redisEmptied('flushed', flushAll, { smoke: true }),
  REDIS_LOST_WITH_CAPPED_PERSONS,
  REDIS_FULL,
  clockOff(9),
  clockOff(-9),
  DUPLICATE_STORM,
  POISON,
  POISON_EVENT,
  DESTINATION_OUTAGE,
  SECOND_DESTINATION_OUTAGE,
  OTHERS_UNDELAYED,
  SLOW_WEBHOOK,
  PAUSED_BACKLOG,
  REPLAY_MISSED,
  TRANSACTION_FAILS,
  REBALANCE_DURING_DELIVERY,
  allAtOnce(PROCESSES, MINUTES_AT_ONCE),
  OTHERS_UNDELAYED_BY_PLATFORM,
  LEADER_OF_THREE_KILLED,
  BROKERS_ROLLED,
  REDIS_MASTERS_LOST,
  REDIS_SLOTS_MOVED,
  SHARD_AWAY,
  DISK_FULL,
  TOPICS_REMADE,
  PARTITIONS_ADDED,
  PARTITIONS_BELIEVED,
  UPGRADED,
  EARLIER_BESIDE,
  ROLLED_BACK,
];
