import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { findingsOf } from '#services/cli/status/findings.ts';
import type { Observed } from '#services/cli/status/observed.ts';
import { anchorsIn } from '#test/harness/headings.ts';

const NOW_MS = Date.UTC(2027, 0, 5, 12);
const MINUTE_MS = 60_000;
const SINCE_MS = NOW_MS - 5 * MINUTE_MS;
const GIB = 1024 ** 3;

type Control = Exclude<Observed['control'], string | null>;

interface Part {
  waits?: string[];
  away?: string[];
  metrics?: string;
  /** It has no answer, since then. */
  hangs?: true;
  silentSinceMs?: number;
  /** When its parts went, by its own clock. */
  sinceMs?: number;
  diedMs?: number[];
}

/** A process, whose parts that are not well are so since five minutes. */
function process(
  name: string,
  { waits = [], away = [], metrics = '', hangs, diedMs = [], silentSinceMs, sinceMs = SINCE_MS }: Part = {},
) {
  const since = Object.fromEntries([...waits, ...away].map((part) => [part, sinceMs]));
  const body = JSON.stringify({ ready: waits.length === 0, waiting_for: waits, away, since });
  const ready = hangs ? null : { status: waits.length === 0 ? 200 : 503, body };
  return {
    name,
    isAsked: true,
    ready,
    metrics: hangs ? null : { status: 200, body: `${metrics}\n` },
    diedMs,
    silentSinceMs: silentSinceMs ?? null,
  };
}

const EDGE_WELL = { answer: { status: 200, body: '{"ok":true,"ratelimit":"redis"}' } };
const EDGE_AWAY = { answer: { status: 503, body: '{"ok":false,"ratelimit":"redis"}' } };

function observed(
  parts: Partial<Omit<Observed, 'control'>> & { control?: Partial<Control> | 'silent' | 'refused' },
): Observed {
  const control = parts.control ?? null;
  const nothing = { stages: null, destinations: null, accounts: null, openDeadLetters: new Map() };
  return {
    ...{ nowMs: NOW_MS, edge: EDGE_WELL, processes: [process('dedup')], parts: [], disks: [], ...parts },
    control: typeof control === 'string' || control === null ? control : { ...nothing, ...control },
  };
}

const stage = (name: string, facts: object) =>
  ({ stage: name, consumers: 1, lag: 0, waits_longer_than_ms: null, on_lanes: 0, rate: 1, ...facts }) as never;
const destination = (facts: object) =>
  ({ site_id: 'shop', destination: 'webhook', waiting: 12, delivered_at: SINCE_MS, ...facts }) as never;
const account = (used: number) => ({ account_id: 'acme', monthly_allowance: 200, used_this_month: used }) as never;

const ago = (sinceMs: number | null): string => (sinceMs === null ? '?' : `${(NOW_MS - sinceMs) / MINUTE_MS} min`);

/** What is read of an installation in each failure, and what is said: severity, since when, what. */
const FAILURES: [failure: string, read: Observed, said: string[]][] = [
  ['nothing', observed({ control: { stages: [stage('dedup', {})], destinations: [], accounts: [account(0)] } }), []],
  [
    'Kafka hangs',
    observed({
      edge: EDGE_AWAY,
      processes: [process('edge', { waits: ['kafka'] }), process('dedup', { waits: ['kafka'] })],
    }),
    [
      'critical, 5 min: The edge answers 503: no event is accepted, and clients send again',
      'critical, 5 min: Kafka does not answer: edge, dedup wait for it',
    ],
  ],
  [
    'ClickHouse hangs',
    observed({
      processes: [
        process('dedup'),
        process('warehouse', { waits: ['clickhouse'], metrics: lag('warehouse', 1043, 290) }),
      ],
    }),
    [
      'critical, 5 min: ClickHouse does not answer: warehouse waits for it',
      'warning, 4.833333333333333 min: warehouse is 4 min behind: 1,043 records wait',
    ],
  ],
  [
    'Redis hangs or is killed',
    observed({
      processes: [
        process('edge', { away: ['redis'] }),
        process('dedup', { waits: ['redis'], metrics: 'svc_index_rebuilt_ratio{index="claims",stage="dedup"} 1' }),
        process('quota', { waits: ['redis'] }),
      ],
    }),
    ['critical, 5 min: Redis does not answer: dedup, quota wait for it, edge goes on without it'],
  ],
  [
    'a stage hangs',
    observed({
      processes: [process('edge'), process('dedup', { hangs: true, silentSinceMs: SINCE_MS })],
      control: { stages: [stage('dedup', { consumers: 0, lag: 900, waits_longer_than_ms: 60_000 })] },
    }),
    [
      'critical, 5 min: dedup does not answer: it hangs, was killed, or cannot be reached from here',
      'warning, 1 min: dedup is 60 s behind: 900 records wait',
    ],
  ],
  [
    'the registry is away',
    observed({ processes: [process('edge', { away: ['registry'] }), process('dedup', { away: ['registry'] })] }),
    ['warning, 5 min: The registry does not answer: edge, dedup go on without it'],
  ],
  [
    'a destination answers 500',
    observed({ control: { destinations: [destination({ state: 'failing', reason: 'http_500' })] } }),
    ['warning, 5 min: webhook of shop fails (http_500): 12 events wait'],
  ],
  [
    'a token was revoked at a destination',
    observed({ control: { destinations: [destination({ state: 'waits_for_settings', reason: 'http_401' })] } }),
    ['warning, 5 min: webhook of shop refuses the credentials or settings (http_401): 12 events wait'],
  ],
  [
    'a destination throttles and another hangs, one of them of many sites',
    observed({
      control: {
        destinations: [
          destination({ state: 'failing', reason: 'throttled', delivered_at: null }),
          ...['a', 'b', 'c', 'd', 'e', 'f'].map((site_id) =>
            destination({ site_id, state: 'failing', reason: 'timeout' }),
          ),
          destination({ state: 'delivering', reason: '' }),
        ],
      },
    }),
    [
      'warning, ?: webhook of shop fails (throttled): 12 events wait',
      'warning, 5 min: webhook of a, b, c, d and 2 more fails (timeout): 72 events wait',
    ],
  ],
  [
    'a breaker is open, and ClickHouse cannot say why',
    observed({
      processes: [
        process('delivery.meta', {
          metrics:
            'svc_delivery_breakers_open{cause="credentials_broken",stage="delivery.meta"} 2\nsvc_delivery_away{stage="delivery.meta"} 1',
        }),
      ],
      control: { destinations: null },
    }),
    [
      'critical, ?: The whole destination of delivery.meta is unavailable: its events wait in the main topic',
      'warning, ?: delivery.meta has open circuit breakers: the destination of 2 sites refuses the credentials',
    ],
  ],
  [
    'the clock of an edge is ahead, and that of a stage behind',
    observed({
      processes: [
        process('edge', {
          waits: ['clock'],
          sinceMs: SINCE_MS + 259_200_000,
          metrics: 'svc_clock_ahead_seconds{stage="edge"} 259200',
        }),
        process('dedup', { metrics: 'svc_clock_ahead_seconds{stage="dedup"} -8.2' }),
      ],
    }),
    [
      'critical, 5 min: The clock of edge is 259,200 s ahead of that of Redis, so that it takes no events',
      'warning, ?: The clock of dedup is 8 s behind that of Redis',
    ],
  ],
  [
    'poison was found',
    observed({
      processes: [
        process('dedup', {
          metrics:
            'svc_events_dead_total{reason="wire_magic",stage="dedup"} 3\nsvc_events_dead_total{reason="wire_null",stage="dedup"} 1',
        }),
        process('quota', { metrics: 'svc_events_dead_total{reason="wire_null",stage="quota"} 1' }),
      ],
      control: {
        openDeadLetters: new Map<string, number | 'none'>([
          ['dedup', SINCE_MS],
          ['quota', 'none'],
        ]),
      },
    }),
    ['warning, 5 min: dedup gave events up since it started: wire_magic 3, wire_null 1'],
  ],
  [
    'an allowance is used up, another nearly',
    observed({
      control: { accounts: [account(240), { ...(account(170) as object), account_id: 'beta' } as never, account(100)] },
    }),
    [
      "warning, ?: The month's allowance is used up, and events beyond its grace are dropped: acme (120 %)",
      "notice, ?: The month's allowance is nearly used up: beta (85 %)",
    ],
  ],
  [
    'the clock of a sender is ahead',
    observed({
      processes: [
        process('edge', {
          metrics:
            'svc_edge_warned_total{code="timestamp_ahead",stage="edge"} 40\nsvc_edge_warned_total{code="placeholder_id",stage="edge"} 900\nsvc_events_passed_total{stage="edge"} 1000',
        }),
        process('edge@other', {
          metrics:
            'svc_edge_warned_total{code="timestamp_ahead",stage="edge"} 12\nsvc_events_passed_total{stage="edge"} 90000',
        }),
      ],
    }),
    [
      "notice, ?: 40 of the events that edge took say a time more than a day ahead, or none that can be: a sender's clock is wrong",
    ],
  ],
  [
    'senders have keys that are no longer good',
    observed({
      processes: [
        process('edge', {
          metrics:
            'svc_edge_refused_requests_total{code="key_revoked",stage="edge"} 12\nsvc_edge_refused_requests_total{code="body_too_large",stage="edge"} 7',
        }),
        process('edge@other', {
          metrics: 'svc_edge_refused_requests_total{code="body_too_large",stage="edge"} 7',
        }),
      ],
    }),
    [
      'notice, ?: edge has refused 12 requests since it started, whose key was revoked or has expired; their events are lost unless the sender keeps them',
    ],
  ],
  [
    'a call hangs, and one that is only slow is told of by nobody',
    observed({
      processes: [
        process('delivery.webhook', {
          metrics: 'svc_delivery_oldest_call_seconds{stage="delivery.webhook"} 60',
        }),
        process('delivery.meta', { metrics: 'svc_delivery_oldest_call_seconds{stage="delivery.meta"} 4.9' }),
        process('delivery.ga4', { metrics: 'svc_delivery_oldest_call_seconds{stage="delivery.ga4"} 9' }),
      ],
      control: { destinations: [destination({ destination: 'ga4-shop', state: 'failing', reason: 'timeout' })] },
    }),
    [
      'warning, 5 min: ga4-shop of shop fails (timeout): 12 events wait',
      'warning, 1 min: A destination of delivery.webhook does not answer: a call has been waiting for 60 s',
    ],
  ],
  [
    'the disk is full',
    observed({
      edge: EDGE_AWAY,
      processes: [process('edge', { waits: ['kafka'] })],
      disks: [
        { path: '/srv/data', freeBytes: 50 * GIB, totalBytes: 100 * GIB },
        { path: '/srv/data/kafka', freeBytes: 0, totalBytes: 100 * GIB },
      ],
      parts: [
        { name: 'kafka', isRunning: false, diedMs: [SINCE_MS], said: 'java.io.IOException: No space left on device' },
      ],
    }),
    [
      'critical, ?: The disk of /srv/data/kafka is full: 0.0 GiB left; Kafka, Redis and ClickHouse stop on a full one',
      'critical, 5 min: The edge answers 503: no event is accepted, and clients send again',
      'critical, 5 min: Kafka has ended, and does not run: java.io.IOException: No space left on device',
      'critical, 5 min: Kafka does not answer: edge waits for it',
    ],
  ],
  [
    'a part was killed and started again, another ends again and again, and one did so yesterday',
    observed({
      parts: [
        { name: 'redis', isRunning: true, diedMs: [SINCE_MS], said: null },
        { name: 'registry', isRunning: true, diedMs: [SINCE_MS, SINCE_MS, NOW_MS], said: 'Out of memory' },
        { name: 'clickhouse', isRunning: true, diedMs: [NOW_MS - 1_440 * MINUTE_MS], said: null },
        { name: 'kafka', isRunning: true, diedMs: [], said: null },
      ],
    }),
    [
      'critical, 5 min: The registry dies again and again: 3 times in ten minutes: Out of memory',
      'notice, 5 min: Redis ended and was started again',
    ],
  ],
  [
    'the disk fills up',
    observed({ disks: [{ path: '/srv/data', freeBytes: 6 * GIB, totalBytes: 100 * GIB }] }),
    ['warning, ?: The disk of /srv/data is nearly full: 6.0 GiB left; Kafka, Redis and ClickHouse stop on a full one'],
  ],
  [
    'everything was killed',
    observed({
      edge: { answer: null },
      processes: [process('edge', { hangs: true }), process('dedup', { hangs: true })],
    }),
    ['critical, ?: Nothing answers: the service was killed, or its machine started anew'],
  ],
  [
    'a stage crash-loops',
    observed({
      processes: [
        process('edge'),
        process('dedup', { hangs: true, diedMs: [20, 4, 3, 2, 1].map((minutes) => NOW_MS - minutes * MINUTE_MS) }),
      ],
    }),
    ['critical, 4 min: dedup dies again and again: 4 times in ten minutes'],
  ],
  [
    'a stage crash-looped, and lives longer now than it did between',
    observed({
      processes: [process('dedup', { diedMs: [4, 3.5, 2.9].map((minutes) => NOW_MS - minutes * MINUTE_MS) })],
    }),
    ['notice, 2.9 min: dedup died 3 times in ten minutes, and has lived since'],
  ],
  [
    'a stage that lives as long as between its deaths may die again',
    observed({ processes: [process('dedup', { diedMs: [9, 6, 3].map((minutes) => NOW_MS - minutes * MINUTE_MS) })] }),
    ['critical, 9 min: dedup dies again and again: 3 times in ten minutes'],
  ],
  [
    'the edge hangs',
    observed({
      edge: { answer: null },
      processes: [process('edge', { hangs: true, silentSinceMs: SINCE_MS }), process('dedup')],
    }),
    [
      'critical, 5 min: The edge does not answer: no event is accepted',
      'critical, 5 min: edge does not answer: it hangs, was killed, or cannot be reached from here',
    ],
  ],
  [
    'a poison pill is searched',
    observed({
      processes: [
        process('dedup', {
          metrics:
            'svc_poison_pill_search{topic="events.raw",stage="dedup"} 1\nsvc_poison_pill_search{topic="again.identity",stage="dedup"} 0',
          diedMs: [NOW_MS - MINUTE_MS],
        }),
      ],
    }),
    ['warning, 1 min: dedup looks for a record of events.raw that kills it, in ever smaller groups'],
  ],
  [
    'an index is rebuilt',
    observed({
      processes: [
        process('dedup', {
          waits: ['start', 'redis'],
          metrics: 'svc_index_rebuilt_ratio{index="claims",stage="dedup"} 0.456',
        }),
      ],
    }),
    [
      'critical, 5 min: dedup is starting and does no work yet',
      'critical, 5 min: dedup passes nothing while its index in Redis is made again: 45 % done',
    ],
  ],
  [
    'partitions differ from what processes know',
    observed({
      processes: [
        process('edge', {
          waits: ['partitions'],
          metrics: 'svc_partitions_difference{topic="events.raw",stage="edge"} -6',
        }),
        process('dedup', { metrics: 'svc_partitions_difference{topic="events.unique",stage="dedup"} 12' }),
      ],
    }),
    [
      'critical, 5 min: events.raw: fewer partitions than edge is configured for',
      'warning, ?: events.unique: more partitions than dedup is configured for',
    ],
  ],
  [
    'a group has no offsets, and retention overtook another',
    observed({
      processes: [
        process('dedup', { metrics: 'svc_events_in_total{stage="dedup"} 20' }),
        process('identity', { metrics: 'svc_skipped_offsets_total{topic="events.unique",stage="identity"} 1200' }),
        process('quota', { metrics: 'svc_events_in_total{stage="quota"} 0' }),
      ],
      control: { stages: [stage('dedup', { lag: null }), stage('quota', { lag: null })] },
    }),
    [
      'critical, ?: The group of dedup has no offsets, though it has taken events: Kafka has lost them',
      'critical, ?: Retention deleted 1,200 offsets of events.unique before identity read them: data is lost',
    ],
  ],
  [
    'events wait for another attempt, as they are meant to',
    observed({
      processes: [
        process('delivery.meta', {
          metrics: 'svc_lag_seconds{topic="delivery.meta.retry.6h",stage="delivery.meta"} 9000',
        }),
      ],
    }),
    [],
  ],
  [
    'nobody works on a stage, and another is far behind',
    observed({
      control: {
        stages: [
          stage('identity', { consumers: 0 }),
          stage('delivery.meta', { lag: 90_000, waits_longer_than_ms: 3_600_000 }),
        ],
      },
    }),
    [
      'critical, ?: Nobody works on identity: its group has no consumer',
      'critical, 60 min: delivery.meta is 60 min behind: 90,000 records wait',
    ],
  ],
  [
    'ClickHouse has many parts and a full disk',
    observed({
      processes: [0, 1].map((index) =>
        process(`warehouse@host-${index}:9464`, {
          metrics: [
            'svc_clickhouse_parts{table="event_rows",stage="warehouse"} 1700',
            'svc_clickhouse_parts{table="inventory",stage="warehouse"} 640',
            'svc_clickhouse_parts{table="duplicates",stage="warehouse"} 12',
            'svc_clickhouse_disk_free_ratio{disk="default",stage="warehouse"} 0.0251',
          ].join('\n'),
        }),
      ),
    }),
    [
      "critical, ?: ClickHouse's table event_rows has 1,700 active parts in a partition; inserts are refused at 3,000",
      "critical, ?: ClickHouse's disk default has 2 % left",
      "warning, ?: ClickHouse's table inventory has 640 active parts in a partition; inserts are refused at 3,000",
    ],
  ],
  [
    'a server of ClickHouse is away',
    observed({
      processes: [
        process('warehouse', {
          metrics: [
            'svc_clickhouse_server_alive{server="a:8123",stage="warehouse"} 1',
            'svc_clickhouse_server_alive{server="b:8123",stage="warehouse"} 0',
          ].join('\n'),
        }),
      ],
    }),
    [
      "critical, ?: ClickHouse's server b:8123 does not answer: rows and questions wait, where no replica has its shard",
    ],
  ],
  [
    'a table of ClickHouse refuses rows',
    observed({
      processes: [
        process('warehouse', {
          waits: ['tables'],
          metrics: 'svc_warehouse_waiting{table="event_rows",stage="warehouse"} 1',
        }),
      ],
    }),
    ["critical, 5 min: ClickHouse's table event_rows takes no rows of warehouse: it is not as the service knows it"],
  ],
  [
    'Redis is full and stores nothing',
    observed({
      processes: [
        process('dedup', {
          metrics: 'svc_redis_memory_ratio{stage="dedup"} 0.9812\nsvc_redis_storing{stage="dedup"} 0',
        }),
        process('identity', {
          metrics: 'svc_redis_memory_ratio{stage="identity"} 0.98\nsvc_redis_storing{stage="identity"} 0',
        }),
      ],
    }),
    [
      'critical, ?: Redis has used 98 % of its memory; when it is full, dedup, identity and quota stop',
      'critical, ?: Redis cannot store its data on disk: what it holds is lost when it ends, and it may refuse writes',
    ],
  ],
  [
    'buckets of event ids fill up',
    observed({
      processes: [
        process('dedup', { metrics: 'svc_dedup_bucket_fill_ratio{stage="dedup"} 0.74' }),
        process('dedup.2', { metrics: 'svc_dedup_bucket_fill_ratio{stage="dedup"} 0.761' }),
      ],
    }),
    ['warning, ?: Buckets of event ids are 76 % full: beyond 100 % an id takes five times the memory of Redis'],
  ],
  [
    'the control service hangs',
    observed({ control: 'silent' }),
    ['critical, ?: control does not answer: it hangs, was killed, or cannot be reached from here'],
  ],
  [
    'the token is no longer known',
    observed({ control: 'refused' }),
    ['warning, ?: The control service refuses the admin token: stages, destinations and allowances were not looked at'],
  ],
  [
    'what answers is no process of ours',
    observed({ processes: [{ ...process('dedup'), ready: { status: 502, body: '<html>' } }] }),
    ['critical, ?: dedup is not ready'],
  ],
];

function lag(name: string, records: number, seconds: number): string {
  return `svc_lag_records{topic="t",partition="0",stage="${name}"} ${records}\nsvc_lag_seconds{topic="t",stage="${name}"} ${seconds}`;
}

test.each(FAILURES)('where %s', (_, read, said) => {
  const findings = findingsOf(read).map(({ severity, what, sinceMs }) => `${severity}, ${ago(sinceMs)}: ${what}`);
  expect(findings).toEqual(said);
});

test('everything that is to be done names what to type, and a heading of the runbook that is there', () => {
  const headings = anchorsIn(readFileSync('docs/operations.md', 'utf8'));
  const todos = FAILURES.flatMap(([, read]) => findingsOf(read)).map(({ todo }) => todo);
  const named = todos.flatMap((todo) =>
    [...todo.matchAll(/docs\/operations\.md#(\S+)/g)].map(([, anchor = '']) => anchor),
  );
  expect(named.length).toBeGreaterThan(20);
  expect(named.filter((anchor) => !headings.has(anchor))).toEqual([]);
  expect(todos.filter((todo) => todo.trim() === '')).toEqual([]);
});
