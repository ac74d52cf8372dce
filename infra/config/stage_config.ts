import { type StaticDecode, Type } from 'typebox';
import { EVENT_TOPIC_DAYS } from '#infra/kafka/topics.ts';
import {
  choice,
  type Environment,
  flag,
  HTTP_URL,
  integer,
  optionalText,
  readSettings,
  scaled,
} from './environment.ts';
import { CLICKHOUSE_PROCESS, FLOW_PROCESS, REDIS_PROCESS, SECRETS } from './service_config.ts';

const HOUR_MS = 3_600_000;
const MIB = 1024 * 1024;
const DAYS_MAX = 36_500;
/** A year and a month, so that a month can be compared with that of a year before. */
const KEPT_DAYS = 400;

/** A shorter window would make the warehouse look up nearly every event: isLate of pipelines/warehouse/block.ts. */
const DEDUP_WINDOW_HOURS_MIN = 72;

const DEDUP_WINDOW = Type.Object({
  dedupWindowMs: scaled('DEDUP_WINDOW_HOURS', HOUR_MS, {
    default: 192,
    range: [DEDUP_WINDOW_HOURS_MIN, 24 * EVENT_TOPIC_DAYS],
    description:
      'How long an event id stays claimed at least, 8 days by default; dedup and the warehouse must have the same. After a change, and where Redis lost them, claims are made anew from `events.unique`, which is kept for 9 days: the window cannot be longer. Events that arrive later than the window less 49 hours are looked for in ClickHouse before they are inserted: with less than 3 days that would be nearly all.',
  }),
});

export const DEDUP = Type.Object({
  ...DEDUP_WINDOW.properties,
  dedupBucketChars: integer('DEDUP_BUCKET_CHARS', {
    default: 3,
    range: [1, 5],
    description:
      "Characters of an event id's hash that choose a claim's bucket: 3 suit up to about 100 million claims in the window, and each one more 64 times as many. After a change all claims are made anew.",
  }),
});

export const WAREHOUSE = Type.Object({
  blockRowsMax: integer('WAREHOUSE_BLOCK_ROWS', {
    default: 100_000,
    range: [1, 1_000_000],
    description: 'Rows at which a block is inserted.',
  }),
  blockBytesMax: scaled('WAREHOUSE_BLOCK_MIB', MIB, {
    default: 64,
    range: [1, 128],
    description: 'MiB of records at which a block is inserted; its rows take a few times that in memory.',
  }),
  flushIntervalMs: integer('WAREHOUSE_FLUSH_INTERVAL_MS', {
    default: 1_050,
    range: [50, 60_000],
    description:
      'The least time between two inserts of blocks that reach neither size: such a block is inserted with the first records that come after that time, or, if none come, after another quarter of it.',
  }),
  eventDays: integer('WAREHOUSE_EVENT_DAYS', {
    default: KEPT_DAYS,
    maximum: DAYS_MAX,
    description:
      'Days for which events are kept from when they happened, or came where that is later, and two years more their hourly counts; `0` keeps them for ever. Those that are older go within about a week.',
  }),
  outcomeDays: integer('WAREHOUSE_OUTCOME_DAYS', {
    default: KEPT_DAYS,
    maximum: DAYS_MAX,
    description:
      'Days for which delivery outcomes and inventory are kept, and duplicates where it is less than 30; `0` keeps outcomes and inventory for ever. Those that are older go within about a week.',
  }),
  personMergeHour: integer('PERSON_MERGE_HOUR', {
    default: 3,
    maximum: 23,
    description:
      'Hour of the day, in UTC, at which the warehouse writes the persons that were merged since into the stored rows.',
  }),
});

/** What control allows when a site's URL is saved, and delivery when it calls it. */
export const EGRESS = Type.Object({
  allowLoopback: flag('EGRESS_ALLOW_LOOPBACK', {
    default: false,
    startDefault: '`true`',
    description:
      "Whether a site's URLs may be `http` and lead to loopback, for development only; read by control, which saves them, and delivery, which calls them.",
  }),
});

const baseUrlSetting = (name: string) =>
  optionalText(`DELIVERY_${name.toUpperCase()}_BASE_URL`, {
    ...HTTP_URL,
    defaultText: "the platform's own",
    description:
      'Another address for a destination, as in `DELIVERY_META_BASE_URL`; control reads it too, for test events.',
  });

export const deliveryBaseUrls = (names: readonly string[]) =>
  Type.Object(Object.fromEntries(names.map((name) => [name, baseUrlSetting(name)])));

/** What only a delivery process reads: `name` is its destination's, `names` are those there are. */
export function deliverySettings(name: string, names: readonly string[]) {
  return Type.Object({
    destination: choice('DELIVERY_DESTINATION', [...names], {
      description: 'Destination that this delivery process sends to.',
    }),
    baseUrl: baseUrlSetting(name),
  });
}

export const DEDUP_PROCESS = Type.Object({
  ...REDIS_PROCESS.properties,
  ...DEDUP.properties,
  identitySecret: SECRETS.identitySecret,
});
export const IDENTITY_PROCESS = Type.Object({ ...REDIS_PROCESS.properties, identitySecret: SECRETS.identitySecret });
export const WAREHOUSE_PROCESS = Type.Object({
  ...CLICKHOUSE_PROCESS.properties,
  ...DEDUP_WINDOW.properties,
  ...WAREHOUSE.properties,
  identitySecret: SECRETS.identitySecret,
});

export function deliveryProcess(name: string, names: readonly string[]) {
  return Type.Object({
    ...FLOW_PROCESS.properties,
    ...deliverySettings(name, names).properties,
    ...EGRESS.properties,
    secretsKeys: SECRETS.secretsKeys,
    identitySecret: SECRETS.identitySecret,
  });
}

export type DedupConfig = StaticDecode<typeof DEDUP_PROCESS>;
export type IdentityConfig = StaticDecode<typeof IDENTITY_PROCESS>;
export type WarehouseConfig = StaticDecode<typeof WAREHOUSE_PROCESS>;

export const dedupConfig = (env: Environment): DedupConfig => readSettings(DEDUP_PROCESS, env);
export const identityConfig = (env: Environment): IdentityConfig => readSettings(IDENTITY_PROCESS, env);
export const warehouseConfig = (env: Environment): WarehouseConfig => readSettings(WAREHOUSE_PROCESS, env);

export type DeliveryConfig = StaticDecode<ReturnType<typeof deliveryProcess>>;

/** Reads a delivery process's environment; `names` are the destinations there are. */
export function deliveryConfig(env: Environment, names: readonly string[]): DeliveryConfig {
  return readSettings(deliveryProcess(env['DELIVERY_DESTINATION'] ?? '', names), env);
}
