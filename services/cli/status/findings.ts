// What is wrong with an installation, of what was read of it: worst first, in words, with what to do.

import { isRetryTopic } from '#pipelines/delivery/retry_topics.ts';
import type { HealthItem } from '#services/control_api/destinations.ts';
import type { StageItem } from '#services/control_api/operations.ts';
import type { AccountItem } from '#services/control_api/sites.ts';
import { renderNumber } from '#services/stage/terminal.ts';
import { fillOf, inGib, type ObservedDisk } from '../local_folder.ts';
import { objectIn } from '../read.ts';
import { type ReadMetric, readMetrics } from './metrics_text.ts';

/** critical: events do not flow, or are lost; warning: they will be, or some of them; notice: nothing is wrong yet. */
type Severity = 'critical' | 'warning' | 'notice';

export interface Finding {
  severity: Severity;
  what: string;
  /** Milliseconds since 1970 UTC; null where it is not known. */
  sinceMs: number | null;
  todo: string;
}

export interface HttpAnswer {
  status: number;
  body: string;
}

/** What one process answered; null where it did not, or has no address. */
interface ObservedProcess {
  name: string;
  isAsked: boolean;
  ready: HttpAnswer | null;
  metrics: HttpAnswer | null;
  /** When its supervisor last saw it die, the oldest first, in milliseconds since 1970 UTC; empty where nobody watches it. */
  diedMs: readonly number[];
}

interface ObservedPart {
  name: string;
  isRunning: boolean;
  /** When it ended unasked, the oldest first, in milliseconds since 1970 UTC. */
  diedMs: readonly number[];
  /** The trouble that its log tells of the last time. */
  said: string | null;
}

/** Everything that was read. A list of the control service is null where it could not be had. */
export interface Observed {
  nowMs: number;
  /** What `/v1/health` answered; null where no edge is known. */
  edge: { answer: HttpAnswer | null } | null;
  processes: readonly ObservedProcess[];
  /** `silent`: it does not answer; `refused`: it does not know the token; null: none is known. */
  control:
    | 'silent'
    | 'refused'
    | null
    | {
        stages: readonly StageItem[] | null;
        destinations: readonly HealthItem[] | null;
        accounts: readonly AccountItem[] | null;
        /** By stage, of those that wrote dead letters since they started: whether one is open; null where that is not known. */
        openDeadLetters: ReadonlyMap<string, boolean | null>;
      };
  /** Parts that run beside what was started here, with what supervises them. */
  parts: readonly ObservedPart[];
  /** The disks with the local data. */
  disks: readonly ObservedDisk[];
}

/** A process that answers, read. */
interface Reading {
  name: string;
  waitingFor: readonly string[];
  away: readonly string[];
  since: Readonly<Record<string, number>>;
  metric: ReadMetric;
}

interface Context {
  observed: Observed;
  readings: readonly Reading[];
  /** Names of processes that should answer and do not. */
  silent: readonly string[];
}

const MINUTE_MS = 60_000;
const OPERATIONS = 'docs/operations.md';
const SEVERITIES: readonly Severity[] = ['critical', 'warning', 'notice'];

/** What is wrong, worst first: among those of one severity first what explains the others. */
export function findingsOf(observed: Observed): Finding[] {
  const asked = observed.processes.filter(({ isAsked }) => isAsked);
  const silent = asked.filter(({ ready }) => ready === null).map(({ name }) => name);
  const readings = asked.flatMap(({ name, ready, metrics }) =>
    ready === null ? [] : [readingOf(name, ready, metrics?.status === 200 ? metrics.body : '')],
  );
  const context: Context = { observed, readings, silent };
  if (asked.length > 0 && readings.length === 0 && !observed.edge?.answer) {
    return sorted([...diskFindings(context), NOTHING_ANSWERS]);
  }
  return sorted(CHECKS.flatMap((check) => check(context)));
}

const sorted = (findings: readonly Finding[]): Finding[] =>
  SEVERITIES.flatMap((severity) => findings.filter((finding) => finding.severity === severity));

const NOTHING_ANSWERS: Finding = {
  severity: 'critical',
  what: 'Nothing answers: the service was killed, or its machine started anew',
  sinceMs: null,
  todo: 'start it (npm start); what was accepted is kept',
};

/** @param text Of its metrics. */
function readingOf(name: string, ready: HttpAnswer, text: string): Reading {
  const body = objectIn(ready.body) ?? {};
  const names = (value: unknown): string[] => (Array.isArray(value) ? value.map(String) : []);
  const since = Object.entries(typeof body['since'] === 'object' ? { ...body['since'] } : {});
  const waitingFor = names(body['waiting_for']);
  return {
    name,
    waitingFor: waitingFor.length === 0 && ready.status !== 200 ? ['unknown'] : waitingFor,
    away: names(body['away']),
    since: Object.fromEntries(since.map(([part, sinceMs]) => [part, Number(sinceMs)])),
    metric: readMetrics(text),
  };
}

/** In the order in which one explains the others. */
const CHECKS: readonly ((context: Context) => Finding[])[] = [
  diskFindings,
  edgeFindings,
  partDeathFindings,
  partFindings,
  silentFindings,
  deathFindings,
  rebuildFindings,
  partitionFindings,
  clockFindings,
  redisFindings,
  clickhouseFindings,
  stageFindings,
  offsetFindings,
  deliveryFindings,
  deadLetterFindings,
  accountFindings,
  senderClockFindings,
  loginFindings,
  tokenFindings,
];

function diskFindings({ observed: { disks } }: Context): Finding[] {
  return disks.flatMap((disk): Finding[] => {
    const fill = fillOf(disk);
    if (fill === 'free') return [];
    const isFull = fill === 'full';
    return [
      {
        severity: isFull ? 'critical' : 'warning',
        what: `The disk of ${disk.path} is ${isFull ? 'full' : 'nearly full'}: ${inGib(disk.freeBytes)} left; Kafka, Redis and ClickHouse stop on a full one`,
        sinceMs: null,
        todo: `free space, then everything goes on by itself: ${OPERATIONS}#disks-and-parts`,
      },
    ];
  });
}

function edgeFindings({ observed: { edge }, readings }: Context): Finding[] {
  if (edge === null) return [];
  const { answer } = edge;
  const isWell = answer?.status === 200 && objectIn(answer.body)?.['ok'] === true;
  if (isWell) return [];
  const since = readings.filter(({ name }) => isNamed(name, 'edge')).flatMap((one) => one.since['kafka'] ?? []);
  return [
    {
      severity: 'critical',
      what:
        answer === null
          ? 'The edge does not answer: no event is accepted'
          : `The edge answers ${answer.status}: no event is accepted, and clients send again`,
      sinceMs: earliest(since),
      todo: `${answer === null ? 'look at its log and start it again' : 'Kafka acknowledges nothing: see what follows'}: ${OPERATIONS}#events-are-not-accepted`,
    },
  ];
}

const PART_TODOS: Record<string, string> = {
  kafka: `look at the broker's log (a full disk ends it) and start it again: ${OPERATIONS}#disks-and-parts`,
  redis: `look at Redis' log, start it again; nothing accepted is lost: ${OPERATIONS}#disks-and-parts`,
  clickhouse: `look at ClickHouse's log, start it again; rows wait in Kafka for nine days: ${OPERATIONS}#disks-and-parts`,
  registry: `start the schema registry again; processes that start now wait for it: ${OPERATIONS}#logs`,
};
const PART_NAMES: Record<string, string> = { kafka: 'Kafka', redis: 'Redis', clickhouse: 'ClickHouse' };

/** Parts that processes wait for or miss, each once; those that other checks tell more of are left to them. */
function partFindings({ readings }: Context): Finding[] {
  const found = readings.flatMap((reading) => [
    ...reading.waitingFor.map((part) => ({ part, reading, isNeeded: true })),
    ...reading.away.map((part) => ({ part, reading, isNeeded: false })),
  ]);
  const told = found.filter(({ part, reading }) => part in PART_TODOS && !(part === 'redis' && isRebuilding(reading)));
  const parts = [...Map.groupBy(told, ({ part }) => part)].map(([part, all]): Finding => {
    const waiting = all.filter(({ isNeeded }) => isNeeded);
    const goesOn = all.filter(({ isNeeded }) => !isNeeded);
    const who = [
      ...(waiting.length === 0 ? [] : [`${namesOf(waiting)} ${waiting.length === 1 ? 'waits' : 'wait'} for it`]),
      ...(goesOn.length === 0 ? [] : [`${namesOf(goesOn)} ${goesOn.length === 1 ? 'goes' : 'go'} on without it`]),
    ];
    return {
      severity: waiting.length > 0 ? 'critical' : 'warning',
      what: `${PART_NAMES[part] ?? `The ${part}`} does not answer: ${who.join(', ')}`,
      sinceMs: earliest(all.flatMap(({ reading }) => reading.since[part] ?? [])),
      todo: PART_TODOS[part] ?? '',
    };
  });
  const others = found.filter(({ part }) => part === 'start' || part === 'unknown');
  const starting = others.map(
    ({ reading, part }): Finding => ({
      severity: 'critical',
      what: part === 'start' ? `${reading.name} is starting and does no work yet` : `${reading.name} is not ready`,
      sinceMs: reading.since['start'] ?? null,
      todo: `wait a minute, then look at what it waits for and at its log: ${OPERATIONS}#logs`,
    }),
  );
  return [...parts, ...starting];
}

/** Parts that were started again are only told of: what they did not do is told by those that waited. */
function partDeathFindings({ observed }: Context): Finding[] {
  return observed.parts.flatMap(({ name, isRunning, diedMs, said }): Finding[] => {
    const deaths = recentDeaths(observed, diedMs);
    const lastMs = diedMs.at(-1) ?? null;
    if (lastMs === null || (isRunning && deaths.length === 0)) return [];
    const isLoop = deaths.length >= CRASHES_MIN;
    const why = said === null ? '' : `; it says: ${said}`;
    // Of several brokers each is told of by its number.
    const [kind = name, number] = name.split('.');
    const part = `${PART_NAMES[kind] ?? `The ${kind}`}${number === undefined ? '' : ` (broker ${number})`}`;
    const again = `dies again and again: ${deaths.length} times in ten minutes`;
    const once = isRunning ? 'ended and was started again' : 'has ended, and does not run';
    return [
      {
        severity: isRunning && !isLoop ? 'notice' : 'critical',
        what: `${part} ${isLoop ? again : once}${why}`,
        sinceMs: deaths[0] ?? lastMs,
        todo: PART_TODOS[kind] ?? '',
      },
    ];
  });
}

const namesOf = (all: readonly { reading: Reading }[]): string => listed(all.map(({ reading }) => reading.name));

function silentFindings({ observed, silent }: Context): Finding[] {
  const hung = silent.filter((name) => !isCrashLooping(observed, name));
  const control = observed.control === 'silent' && !silent.some((name) => isNamed(name, 'control')) ? ['control'] : [];
  return [...hung, ...control].map((name) => ({
    severity: 'critical',
    what: `${name} does not answer: it hangs, was killed, or cannot be reached from here`,
    sinceMs: observed.processes.find((one) => one.name === name)?.diedMs.at(-1) ?? null,
    todo: `look at its log; kill it where it hangs, whatever supervises it starts it again: ${OPERATIONS}#logs`,
  }));
}

const CRASHES_MIN = 3;
const CRASHES_MS = 10 * MINUTE_MS;

const recentDeaths = ({ nowMs }: Observed, diedMs: readonly number[]): number[] =>
  diedMs.filter((atMs) => nowMs - atMs < CRASHES_MS);

function isCrashLooping(observed: Observed, name: string): boolean {
  const died = observed.processes.find((one) => one.name === name)?.diedMs ?? [];
  return recentDeaths(observed, died).length >= CRASHES_MIN;
}

function deathFindings({ observed, readings }: Context): Finding[] {
  const loops = observed.processes
    .filter(({ name }) => isCrashLooping(observed, name))
    .map(({ name, diedMs }): Finding => {
      const deaths = recentDeaths(observed, diedMs);
      return {
        severity: 'critical',
        what: `${name} dies again and again: ${deaths.length} times in ten minutes`,
        sinceMs: deaths[0] ?? null,
        todo: `the end of its log says why; a record that kills it becomes a dead letter by itself: ${OPERATIONS}#a-process-that-dies-again-and-again`,
      };
    });
  const searches = readings.flatMap(({ name, metric }) => {
    const partitions = metric('svc_poison_pill_search').filter(({ value }) => value === 1);
    return [...new Set(partitions.map(({ labels }) => labels['topic']))].map(
      (topic): Finding => ({
        severity: 'warning',
        what: `${name} looks for a record of ${topic} that kills it, in ever smaller groups`,
        sinceMs: observed.processes.find((one) => one.name === name)?.diedMs[0] ?? null,
        todo: `wait: it becomes a dead letter (svc dead list --reason poison_pill): ${OPERATIONS}#a-process-that-dies-again-and-again`,
      }),
    );
  });
  return [...loops, ...searches];
}

const isRebuilding = ({ metric }: Reading): boolean => metric('svc_index_rebuilt_ratio').some(({ value }) => value < 1);

function rebuildFindings({ readings }: Context): Finding[] {
  return readings.filter(isRebuilding).map((reading) => {
    const ratios = reading.metric('svc_index_rebuilt_ratio').filter(({ value }) => value < 1);
    const percent = Math.floor(100 * Math.min(...ratios.map(({ value }) => value)));
    return {
      severity: 'critical',
      what: `${reading.name} passes nothing while its index in Redis is made again: ${percent} % done`,
      sinceMs: reading.since['redis'] ?? reading.since['start'] ?? null,
      todo: `wait, nothing is lost; its log says how long it takes: ${OPERATIONS}#rebuilding-dedup-keys`,
    };
  });
}

function partitionFindings({ readings }: Context): Finding[] {
  const differing = readings.flatMap(({ name, metric, since }) =>
    metric('svc_partitions_difference').map(({ labels, value }) => ({
      name,
      topic: labels['topic'] ?? '',
      value,
      since,
    })),
  );
  return [...Map.groupBy(differing, ({ value }) => Math.sign(value))].map(([sign, all]): Finding => {
    const topics = listed([...new Set(all.map(({ topic }) => topic))]);
    const names = [...new Set(all.map(({ name }) => name))];
    return {
      severity: sign < 0 ? 'critical' : 'warning',
      what: `${topics}: ${sign < 0 ? 'fewer' : 'more'} partitions than ${listed(names)} ${names.length === 1 ? 'is' : 'are'} configured for`,
      sinceMs: earliest(all.flatMap(({ since }) => since['partitions'] ?? [])),
      todo: `set EVENT_PARTITIONS to what there is, the same for all, and restart them: ${OPERATIONS}#mismatch-lines`,
    };
  });
}

const CLOCK_SECONDS_MAX = 5;

function clockFindings({ readings }: Context): Finding[] {
  return readings.flatMap(({ name, metric, waitingFor, since }): Finding[] => {
    const ahead = metric('svc_clock_ahead_seconds')[0]?.value ?? 0;
    const stopsWork = waitingFor.includes('clock');
    if (Math.abs(ahead) <= CLOCK_SECONDS_MAX && !stopsWork) return [];
    const by = `${renderNumber(Math.round(Math.abs(ahead)))} s ${ahead < 0 ? 'behind' : 'ahead of'}`;
    return [
      {
        severity: stopsWork ? 'critical' : 'warning',
        what: `The clock of ${name} is ${by} that of Redis${stopsWork ? ', so that it takes no events' : ''}`,
        sinceMs: since['clock'] ?? null,
        todo: `run NTP on both; where all processes say so, the clock of Redis is wrong: ${OPERATIONS}#clocks`,
      },
    ];
  });
}

const REDIS_WARNING = 0.85;
const REDIS_CRITICAL = 0.97;

function redisFindings({ readings }: Context): Finding[] {
  const valuesOf = (name: string): number[] => readings.flatMap(({ metric }) => metric(name).map(({ value }) => value));
  const memory = Math.max(0, ...valuesOf('svc_redis_memory_ratio'));
  const full: Finding = {
    severity: memory >= REDIS_CRITICAL ? 'critical' : 'warning',
    what: `Redis has used ${Math.floor(100 * memory)} % of its memory; when it is full, dedup, identity and quota stop`,
    sinceMs: null,
    todo: `raise maxmemory or the machine's memory; never let it evict keys: ${OPERATIONS}#rebuilding-dedup-keys`,
  };
  const unstored: Finding = {
    severity: 'critical',
    what: 'Redis cannot store its data on disk: what it holds is lost when it ends, and it may refuse writes',
    sinceMs: null,
    todo: `free its disk; its log has the cause: ${OPERATIONS}#disks-and-parts`,
  };
  return [...(memory >= REDIS_WARNING ? [full] : []), ...(valuesOf('svc_redis_storing').includes(0) ? [unstored] : [])];
}

/** ClickHouse slows inserts down from 1,000 active parts of a partition on, and refuses them from 3,000. */
const PARTS_WARNING = 600;
const PARTS_CRITICAL = 1_500;
const DISK_WARNING = 0.1;
const DISK_CRITICAL = 0.03;

function clickhouseFindings({ readings }: Context): Finding[] {
  const found: Finding[] = [];
  for (const { name, metric, since } of readings) {
    for (const { labels, value } of metric('svc_warehouse_waiting')) {
      if (value === 0) continue;
      found.push({
        severity: 'critical',
        what: `ClickHouse's table ${labels['table']} takes no rows of ${name}: it is not as the service knows it`,
        sinceMs: since['tables'] ?? null,
        todo: `run node services/provision/main.ts; the log of ${name} has the reason: ${OPERATIONS}#a-table-that-does-not-match`,
      });
    }
    for (const { labels, value } of metric('svc_clickhouse_server_alive')) {
      if (value === 1) continue;
      found.push({
        severity: 'critical',
        what: `ClickHouse's server ${labels['server']} does not answer: rows and questions wait, where no replica has its shard`,
        sinceMs: null,
        todo: `look at its log, start it again; rows wait in Kafka for nine days: ${OPERATIONS}#a-clickhouse-cluster`,
      });
    }
    for (const { labels, value } of metric('svc_clickhouse_parts')) {
      if (value < PARTS_WARNING) continue;
      found.push({
        severity: value >= PARTS_CRITICAL ? 'critical' : 'warning',
        what: `ClickHouse's table ${labels['table']} has ${renderNumber(value)} active parts in a partition; inserts are refused at 3,000`,
        sinceMs: null,
        todo: `let merges catch up (system.merges, disk, cores), then raise WAREHOUSE_FLUSH_INTERVAL_MS: ${OPERATIONS}#disks-and-parts`,
      });
    }
    for (const { labels, value } of metric('svc_clickhouse_disk_free_ratio')) {
      if (value >= DISK_WARNING) continue;
      found.push({
        severity: value < DISK_CRITICAL ? 'critical' : 'warning',
        what: `ClickHouse's disk ${labels['disk']} has ${Math.floor(100 * value)} % left`,
        sinceMs: null,
        todo: `free space, or keep rows for fewer days (WAREHOUSE_EVENT_DAYS): ${OPERATIONS}#retention`,
      });
    }
  }
  // Each warehouse process says the same of one server.
  return [...new Map(found.map((finding) => [finding.what, finding])).values()];
}

const LATE_MS = MINUTE_MS;
const VERY_LATE_MS = 10 * MINUTE_MS;

/** Stages that nobody works on, or that lag, by Kafka's own word where the control service has it, else by theirs. */
function stageFindings({ observed, readings, silent }: Context): Finding[] {
  const { control, nowMs } = observed;
  const stages = answersOf(control)?.stages ?? null;
  const own = readings.flatMap(({ name, metric }) => {
    // What waits on a retry topic is meant to.
    const seconds = metric('svc_lag_seconds')
      .filter(({ labels }) => !isRetryTopic(labels['topic'] ?? ''))
      .map(({ value }) => value);
    const [stage = name] = name.split('@');
    return seconds.length === 0
      ? []
      : [{ name: stage, waitsMs: 1_000 * Math.max(...seconds), records: sumOf(metric('svc_lag_records')) }];
  });
  const told = (stages ?? []).map(({ stage, waits_longer_than_ms, lag }) => ({
    name: stage,
    waitsMs: waits_longer_than_ms ?? 0,
    records: lag ?? 0,
  }));
  const absent = (stages ?? []).filter(
    ({ stage, consumers }) => consumers === 0 && !silent.some((name) => isNamed(name, stage)),
  );
  const late = [...Map.groupBy([...told, ...own], ({ name }) => name)].flatMap(([name, all]): Finding[] => {
    const waitsMs = Math.max(...all.map((one) => one.waitsMs));
    if (waitsMs < LATE_MS) return [];
    const records = renderNumber(Math.max(...all.map((one) => one.records)));
    return [
      {
        severity: waitsMs >= VERY_LATE_MS ? 'critical' : 'warning',
        what: `${name} is ${spanText(waitsMs)} behind: ${records} records wait`,
        sinceMs: nowMs - waitsMs,
        todo: `where nothing else is wrong, start more of it or give it a core: ${OPERATIONS}#a-stage-that-lags`,
      },
    ];
  });
  return [
    ...absent.map(
      ({ stage }): Finding => ({
        severity: 'critical',
        what: `Nobody works on ${stage}: its group has no consumer`,
        sinceMs: null,
        todo: `start it; what waits is kept for nine days: ${OPERATIONS}#starting-stopping-upgrading`,
      }),
    ),
    ...late,
  ];
}

function offsetFindings({ observed: { control }, readings }: Context): Finding[] {
  const stages = answersOf(control)?.stages ?? [];
  const lost = stages.flatMap(({ stage, lag }): Finding[] => {
    const taken = readings
      .filter(({ name }) => isNamed(name, stage))
      .map(({ metric }) => metric('svc_events_in_total'));
    if (lag !== null || !taken.some((samples) => sumOf(samples) > 0)) return [];
    return [
      {
        severity: 'critical',
        what: `The group of ${stage} has no offsets, though it has taken events: Kafka has lost them`,
        sinceMs: null,
        todo: `restart the broker that coordinates it, and reset nothing: it reads on by stage.offsets: ${OPERATIONS}#starting-stopping-upgrading`,
      },
    ];
  });
  const skipped = readings.flatMap(({ name, metric }) =>
    metric('svc_skipped_offsets_total').flatMap(({ labels, value }): Finding[] => {
      if (value === 0) return [];
      return [
        {
          severity: 'critical',
          what: `Retention deleted ${renderNumber(value)} offsets of ${labels['topic']} before ${name} read them: data is lost`,
          sinceMs: null,
          todo: `keep the topic for longer, and ${name} from lagging; its log has the range: ${OPERATIONS}#a-stage-that-lags`,
        },
      ];
    }),
  );
  return [...lost, ...skipped];
}

const CAUSES: Record<string, string> = {
  credentials_broken: 'refuses the credentials',
  throttled: 'asks for a pause',
  failing: 'fails',
};

/** Answers of those who do not wait for settings by themselves, such as a site's own webhook. */
const REFUSALS: ReadonlySet<string> = new Set(['http_401', 'http_403']);

/** How destinations do: by their outcomes, where the control service has them; by open breakers of those it says nothing wrong of. */
function deliveryFindings({ observed: { control }, readings }: Context): Finding[] {
  const items = answersOf(control)?.destinations ?? [];
  const troubled = items.filter(({ state }) => state === 'failing' || state === 'waits_for_settings');
  const groups = Map.groupBy(troubled, (one) => `${one.destination} ${one.state} ${one.reason}`);
  const failing = [...groups.values()].map((all): Finding => {
    const [{ destination, state, reason } = { destination: '', state: '', reason: '' }] = all;
    const waiting = renderNumber(all.reduce((sum, one) => sum + one.waiting, 0));
    const sites = listed(all.map((one) => one.site_id));
    const refuses = state === 'waits_for_settings' || REFUSALS.has(reason);
    return {
      severity: 'warning',
      what: `${destination} of ${sites} ${refuses ? 'refuses the credentials or settings' : 'fails'} (${reason}): ${waiting} events wait`,
      sinceMs: earliest(all.flatMap((one) => one.delivered_at ?? [])),
      todo: refuses
        ? `change its secret or settings (svc destination set); events wait 72 hours: ${OPERATIONS}#outages-of-destinations`
        : `look at its attempts (svc destination health); events are retried for 72 hours: ${OPERATIONS}#outages-of-destinations`,
    };
  });
  const whole = readings.filter(({ metric }) => sumOf(metric('svc_delivery_away')) > 0);
  const away = whole.map(
    ({ name }): Finding => ({
      severity: 'critical',
      what: `The whole destination of ${name} is unavailable: its events wait in the main topic`,
      sinceMs: null,
      todo: `nothing, where the platform is down; else look at egress and DNS: ${OPERATIONS}#outages-of-destinations`,
    }),
  );
  const known = new Set(troubled.map(({ destination }) => `delivery.${destination}`));
  const open = readings
    .filter(({ name }) => ![...known].some((stage) => isNamed(name, stage)))
    .flatMap(({ name, metric }) =>
      metric('svc_delivery_breakers_open').flatMap(({ labels, value }): Finding[] => {
        if (value === 0) return [];
        const sites = `${renderNumber(value)} ${value === 1 ? 'site' : 'sites'}`;
        return [
          {
            severity: 'warning',
            what: `${name} has open circuit breakers: the destination of ${sites} ${CAUSES[labels['cause'] ?? ''] ?? 'fails'}`,
            sinceMs: null,
            todo: `svc destination health says which and why: ${OPERATIONS}#outages-of-destinations`,
          },
        ];
      }),
    );
  return [...away, ...failing, ...open];
}

function deadLetterFindings({ observed: { control }, readings }: Context): Finding[] {
  const openOf = answersOf(control)?.openDeadLetters;
  return readings.flatMap(({ name, metric }): Finding[] => {
    const dead = metric('svc_events_dead_total').filter(({ value }) => value > 0);
    const stage = stageOfDeadLetters(name);
    if (dead.length === 0 || openOf?.get(stage) === false) return [];
    const reasons = dead.map(({ labels, value }) => `${labels['reason']} ${renderNumber(value)}`).join(', ');
    return [
      {
        severity: 'warning',
        what: `${name} gave events up since it started: ${reasons}`,
        sinceMs: null,
        todo: `svc dead list --stage ${stage} --state open, then resend or resolve them: ${OPERATIONS}#dead-letters`,
      },
    ];
  });
}

/** Deliveries share a topic of dead letters. */
export function stageOfDeadLetters(processName: string): string {
  return processName.split(/[.@]/)[0] ?? processName;
}

const NEAR = 0.8;

function accountFindings({ observed: { control } }: Context): Finding[] {
  const accounts = answersOf(control)?.accounts ?? [];
  const near = accounts.flatMap(({ account_id, monthly_allowance, used_this_month: used }) => {
    const share = used === null || used === 0 ? 0 : used / monthly_allowance;
    return share < NEAR ? [] : [{ name: `${account_id} (${Math.floor(100 * share)} %)`, isOver: share >= 1 }];
  });
  return [...Map.groupBy(near, ({ isOver }) => isOver)].map(([isOver, all]): Finding => {
    const names = listed(all.map(({ name }) => name));
    return {
      severity: isOver ? 'warning' : 'notice',
      what: isOver
        ? `The month's allowance is used up, and events beyond its grace are dropped: ${names}`
        : `The month's allowance is nearly used up: ${names}`,
      sinceMs: null,
      todo: `svc account set ACCOUNT --allowance N, or tell the customer: ${OPERATIONS}#allowances`,
    };
  });
}

/** Of what an edge took since it started; a few are always off. */
const OFF_SHARE = 0.01;
const OFF_MIN = 10;
const OFF_CODES: ReadonlySet<string> = new Set(['timestamp_ahead', 'timestamp_too_old', 'timestamp_invalid']);

function senderClockFindings({ readings }: Context): Finding[] {
  return readings.flatMap(({ name, metric }): Finding[] => {
    const off = sumOf(metric('svc_edge_warned_total').filter(({ labels }) => OFF_CODES.has(labels['code'] ?? '')));
    const taken = sumOf(metric('svc_events_passed_total'));
    if (off < OFF_MIN || off < OFF_SHARE * taken) return [];
    return [
      {
        severity: 'notice',
        what: `${renderNumber(off)} of the events that ${name} took say a time more than a day ahead, or none that can be: a sender's clock is wrong`,
        sinceMs: null,
        todo: `svc site rejections SITE --samples says which key sends them: ${OPERATIONS}#what-was-not-accepted`,
      },
    ];
  });
}

/** Processes of one user that sign in by two passwords. */
function loginFindings({ readings }: Context): Finding[] {
  const logins = readings.flatMap(({ metric }) => metric('svc_login').map(({ labels }) => labels));
  const users = Map.groupBy(logins, ({ part, user }) => `${user} of ${part}`);
  const several = [...users].flatMap(([name, all]) =>
    new Set(all.map((one) => one['digest'])).size > 1 ? [name] : [],
  );
  if (several.length === 0) return [];
  return [
    {
      severity: 'notice',
      what: `Processes sign in by an old and a new password: ${listed(several)}`,
      sinceMs: null,
      todo: `start all of them anew, then svc password finish: ${OPERATIONS}#changing-passwords`,
    },
  ];
}

function tokenFindings({ observed: { control } }: Context): Finding[] {
  if (control !== 'refused') return [];
  return [
    {
      severity: 'warning',
      what: 'The control service refuses the admin token: stages, destinations and allowances were not looked at',
      sinceMs: null,
      todo: 'set SVC_ADMIN_TOKEN to one that is active (svc token list)',
    },
  ];
}

/** What the control service answered; null where it did not. */
const answersOf = (control: Observed['control']) => (typeof control === 'string' ? null : control);

/** A process of an address that was given is called `STAGE@ADDRESS`. */
/** `dedup`, `dedup.2` beside it, or `dedup@host:port`. */
const isNamed = (name: string, stage: string): boolean =>
  name.startsWith(stage) && /^(?:\.\d+)?(?:@|$)/.test(name.slice(stage.length));

const sumOf = (samples: ReturnType<ReadMetric>): number => samples.reduce((sum, { value }) => sum + value, 0);

const earliest = (times: readonly number[]): number | null => (times.length === 0 ? null : Math.min(...times));

const LISTED_MAX = 4;

function listed(names: readonly string[]): string {
  const more = names.length - LISTED_MAX;
  return more > 0 ? `${names.slice(0, LISTED_MAX).join(', ')} and ${more} more` : names.join(', ');
}

/** A span of time in its largest unit. */
export function spanText(ms: number): string {
  const seconds = Math.round(ms / 1_000);
  if (seconds < 120) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 120) return `${minutes} min`;
  return minutes < 48 * 60 ? `${Math.floor(minutes / 60)} h` : `${Math.floor(minutes / 1_440)} days`;
}
