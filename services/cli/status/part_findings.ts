// What is wrong with the parts and the processes of an installation.

import { renderNumber } from '#services/stage/terminal.ts';
import { fillOf, inGib } from '../local_folder.ts';
import { objectIn } from '../read.ts';
import {
  type Context,
  earliest,
  type Finding,
  isNamed,
  listed,
  type Observed,
  OPERATIONS,
  type Reading,
} from './observed.ts';

/** In the order in which one explains the others. */
export const PART_CHECKS: readonly ((context: Context) => Finding[])[] = [
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
];

export function diskFindings({ observed: { disks } }: Context): Finding[] {
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

function edgeFindings({ observed, readings, silent }: Context): Finding[] {
  const { edge } = observed;
  if (edge === null) return [];
  const { answer } = edge;
  const isWell = answer?.status === 200 && objectIn(answer.body)?.['ok'] === true;
  if (isWell) return [];
  const waits = readings.filter(({ name }) => isNamed(name, 'edge')).flatMap((one) => one.since['kafka'] ?? []);
  const hangs = silent.filter((name) => isNamed(name, 'edge')).flatMap((name) => silentSince(observed, name) ?? []);
  return [
    {
      severity: 'critical',
      what:
        answer === null
          ? 'The edge does not answer: no event is accepted'
          : `The edge answers ${answer.status}: no event is accepted, and clients send again`,
      sinceMs: earliest(answer === null ? hangs : waits),
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
    const isLoop = loopOf(observed, diedMs) === 'dies';
    const why = said === null ? '' : `: ${said}`;
    // Of several brokers each is told of by its number.
    const [kind = name, number] = name.split('.');
    const part = `${PART_NAMES[kind] ?? `The ${kind}`}${number === undefined ? '' : ` (broker ${number})`}`;
    const again = `dies again and again: ${deaths.length} times in ten minutes`;
    const once = isRunning ? 'ended and was started again' : 'has ended, and does not run';
    return [
      {
        severity: isRunning && !isLoop ? 'notice' : 'critical',
        what: `${part} ${isLoop ? again : once}${why}`,
        sinceMs: isLoop ? (deaths[0] ?? lastMs) : lastMs,
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
    sinceMs: silentSince(observed, name),
    todo: `look at its log; kill it where it hangs, whatever supervises it starts it again: ${OPERATIONS}#logs`,
  }));
}

const silentSince = ({ processes }: Observed, name: string): number | null =>
  processes.find((one) => one.name === name)?.silentSinceMs ?? null;

const CRASHES_MIN = 3;
const CRASHES_MS = 10 * 60_000;
/** A loop is over where what died lives for so long, and for twice as long as the last time. */
const STEADY_MS = 30_000;

const recentDeaths = ({ nowMs }: Observed, diedMs: readonly number[]): number[] =>
  diedMs.filter((atMs) => nowMs - atMs < CRASHES_MS);

function isCrashLooping(observed: Observed, name: string): boolean {
  const died = observed.processes.find((one) => one.name === name)?.diedMs ?? [];
  return loopOf(observed, died) === 'dies';
}

/** Whether something dies again and again, or did and now lives longer than it used to; null where neither. */
function loopOf(observed: Observed, diedMs: readonly number[]): 'dies' | 'died' | null {
  const deaths = recentDeaths(observed, diedMs);
  const last = deaths.at(-1);
  if (last === undefined || deaths.length < CRASHES_MIN) return null;
  const livedMs = last - (deaths.at(-2) ?? last);
  return observed.nowMs - last > Math.max(STEADY_MS, 2 * livedMs) ? 'died' : 'dies';
}

function deathFindings({ observed, readings }: Context): Finding[] {
  const loops = observed.processes
    .filter(({ diedMs }) => loopOf(observed, diedMs) !== null)
    .map(({ name, diedMs }): Finding => {
      const deaths = recentDeaths(observed, diedMs);
      const isOver = loopOf(observed, diedMs) === 'died';
      const times = `${deaths.length} times in ten minutes`;
      return {
        severity: isOver ? 'notice' : 'critical',
        what: isOver ? `${name} died ${times}, and has lived since` : `${name} dies again and again: ${times}`,
        sinceMs: (isOver ? deaths.at(-1) : deaths[0]) ?? null,
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
const BUCKET_WARNING = 0.75;

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
  const fill = Math.max(0, ...valuesOf('svc_dedup_bucket_fill_ratio'));
  const unpacked: Finding = {
    severity: 'warning',
    what: `Buckets of event ids are ${Math.floor(100 * fill)} % full: ${fill < 1 ? 'beyond 100 % ' : ''}an id takes five times the memory of Redis`,
    sinceMs: null,
    todo: `raise DEDUP_BUCKET_CHARS by one: ${OPERATIONS}#rebuilding-dedup-keys`,
  };
  return [
    ...(memory >= REDIS_WARNING ? [full] : []),
    ...(valuesOf('svc_redis_storing').includes(0) ? [unstored] : []),
    ...(fill >= BUCKET_WARNING ? [unpacked] : []),
  ];
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
