import { type StaticDecode, Type } from 'typebox';
import { EVENT_TOPIC_DAYS } from '#infra/kafka/topics.ts';
import {
  choice,
  type Environment,
  flag,
  HTTP_URL,
  integer,
  list,
  optionalText,
  orNull,
  readSettings,
  scaled,
} from './environment.ts';
import { ANY_PROCESS, CLICKHOUSE_PROCESS, FLOW_PROCESS, REDIS_PROCESS, SECRETS } from './service_config.ts';

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
      'How long an event id is remembered at least, at most as long as topics keep events; the same for dedup and warehouse. A change [rebuilds dedup keys](operations.md#rebuilding-dedup-keys). Events later than the window less 49 hours are looked up in ClickHouse before they are inserted.',
  }),
});

export const DEDUP = Type.Object({
  ...DEDUP_WINDOW.properties,
  dedupBucketChars: orNull(
    integer('DEDUP_BUCKET_CHARS', {
      range: [1, 5],
      description:
        'Characters of the hash that choose a bucket, by [rate](sizing.md). Unset: as the keys in Redis were made, `4` for new ones. A change [rebuilds dedup keys](operations.md#rebuilding-dedup-keys).',
    }),
  ),
});

const NIGHT = Type.Object({
  personMergeHour: integer('PERSON_MERGE_HOUR', {
    default: 3,
    maximum: 23,
    description:
      'Hour (UTC) of writing merged persons into rows, deleting old rows and, in erasure, forgetting persons; for both.',
  }),
});

export const WAREHOUSE = Type.Object({
  blockRowsMax: integer('WAREHOUSE_BLOCK_ROWS', {
    default: 100_000,
    range: [1, 1_000_000],
    description: 'Rows of a block at which it is inserted.',
  }),
  blockBytesMax: scaled('WAREHOUSE_BLOCK_MIB', MIB, {
    default: 64,
    range: [1, 128],
    description: 'MiB of records at which it is inserted; a few times that in memory.',
  }),
  flushIntervalMs: integer('WAREHOUSE_FLUSH_INTERVAL_MS', {
    default: 1_050,
    range: [50, 60_000],
    description:
      'Least time between inserts of smaller blocks; up to twice as long where more than 5,000 rows a second come.',
  }),
  eventDays: integer('WAREHOUSE_EVENT_DAYS', {
    default: KEPT_DAYS,
    maximum: DAYS_MAX,
    description:
      'Days for which events are kept; `0`: for ever ([retention](operations.md#retention)). The same for erasure, which forgets persons behind their events.',
  }),
  outcomeDays: integer('WAREHOUSE_OUTCOME_DAYS', {
    default: KEPT_DAYS,
    maximum: DAYS_MAX,
    description: 'The same for delivery outcomes and inventory, and for duplicates below 30.',
  }),
  ...NIGHT.properties,
  placeDatabases: list('WAREHOUSE_PLACE_DATABASES', {
    default: ['package'],
    allowed: '`package`, `none` or paths of MMDB files, separated by commas',
    check: (item) => item !== '',
    description:
      "Where visitors' [places](analytics.md#visitors) come from, the first that knows an address: countries by `package`, your own files; read again within a minute of a change.",
  }),
});

/** What control allows when a site's URL is saved, and delivery when it calls it. */
export const EGRESS = Type.Object({
  allowLoopback: flag('EGRESS_ALLOW_LOOPBACK', {
    default: false,
    startDefault: '`true`',
    description:
      "Lets sites' URLs be `http` and lead to loopback, for development; for control, delivery, erasure and alerts.",
  }),
});

const baseUrlSetting = (name: string) =>
  optionalText(`DELIVERY_${name.toUpperCase()}_BASE_URL`, {
    ...HTTP_URL,
    defaultText: "the platform's own",
    description:
      "Another address of a platform (`DELIVERY_META_BASE_URL`); also for control's test events and erasure.",
  });

export const deliveryBaseUrls = (names: readonly string[]) =>
  Type.Object(Object.fromEntries(names.map((name) => [name, baseUrlSetting(name)])));

/** What only a delivery process reads: `name` is its destination's, `names` are those there are. */
export function deliverySettings(name: string, names: readonly string[]) {
  return Type.Object({
    destination: choice('DELIVERY_DESTINATION', [...names], {
      description: 'What this process delivers to.',
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

/** What erases tells destinations of it. */
export function erasureProcess(names: readonly string[]) {
  return Type.Object({
    ...ANY_PROCESS.properties,
    ...EGRESS.properties,
    ...NIGHT.properties,
    eventDays: WAREHOUSE.properties.eventDays,
    secretsKeys: SECRETS.secretsKeys,
    identitySecret: SECRETS.identitySecret,
    deliveryBaseUrls: deliveryBaseUrls(names),
  });
}

export const ALERTS = Type.Object({
  mail: Type.Refine(
    Type.Object({
      smtpUrl: optionalText('ALERTS_SMTP_URL', {
        pattern: '^smtps?://.',
        allowed: 'a `smtp://user:password@host:587` or `smtps://` URL',
        defaultText: 'none: no e-mail is sent',
        description: 'Mail server of [alerts](alerts.md); `?requireTLS=true` refuses one without STARTTLS.',
      }),
      mailFrom: optionalText('ALERTS_MAIL_FROM', {
        pattern: '^[^\\r\\n]*@[^\\r\\n]+$',
        allowed: 'an e-mail address, or `Name <address>`',
        description: 'Sender of their e-mails; required with a mail server.',
      }),
    }),
    ({ smtpUrl, mailFrom }) => smtpUrl === null || mailFrom !== null,
    () => 'ALERTS_MAIL_FROM is not set: it must be, as ALERTS_SMTP_URL is set',
  ),
  dashboardUrl: optionalText('ALERTS_DASHBOARD_URL', {
    ...HTTP_URL,
    defaultText: 'none: messages have no link',
    description: 'Address of the dashboard, for links in messages.',
  }),
});

export const ALERTS_PROCESS = Type.Object({
  ...ANY_PROCESS.properties,
  ...EGRESS.properties,
  ...ALERTS.properties,
  secretsKeys: SECRETS.secretsKeys,
});
export type AlertsConfig = StaticDecode<typeof ALERTS_PROCESS>;
export const alertsConfig = (env: Environment): AlertsConfig => readSettings(ALERTS_PROCESS, env);

export type DedupConfig = StaticDecode<typeof DEDUP_PROCESS>;
export type IdentityConfig = StaticDecode<typeof IDENTITY_PROCESS>;
export type WarehouseConfig = StaticDecode<typeof WAREHOUSE_PROCESS>;

export const dedupConfig = (env: Environment): DedupConfig => readSettings(DEDUP_PROCESS, env);
export const identityConfig = (env: Environment): IdentityConfig => readSettings(IDENTITY_PROCESS, env);
export const warehouseConfig = (env: Environment): WarehouseConfig => readSettings(WAREHOUSE_PROCESS, env);

export type ErasureConfig = StaticDecode<ReturnType<typeof erasureProcess>>;

/** Reads the erasure process's environment; `names` are the destinations there are. */
export const erasureConfig = (env: Environment, names: readonly string[]): ErasureConfig =>
  readSettings(erasureProcess(names), env);

export type DeliveryConfig = StaticDecode<ReturnType<typeof deliveryProcess>>;

/** Reads a delivery process's environment; `names` are the destinations there are. */
export function deliveryConfig(env: Environment, names: readonly string[]): DeliveryConfig {
  return readSettings(deliveryProcess(env['DELIVERY_DESTINATION'] ?? '', names), env);
}
