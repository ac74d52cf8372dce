import { randomBytes } from 'node:crypto';
import { descendantsOf } from '#test/harness/processes.ts';
import { makeScratch } from '#test/harness/run/scratch.ts';
import { type RunningService, startService } from '#test/harness/service.ts';
import { openSettings } from '#test/harness/settings.ts';
import { makeKey } from '#test/harness/test_site.ts';
import { until } from '#test/harness/until.ts';
import { cpuOf } from '../cpu.ts';
import { benchOptions, openMetrics, report, say } from '../results.ts';
import { partsMade, type Watch, watchEvents } from './seen.ts';
import { sendWithProbes } from './sender.ts';

const RATES = [200, 20_000];
const PROBE_EVERY_MS = 100;
/** What is behind at the end is waited for, so that a rate that cannot be kept shows. */
const CAUGHT_UP_MS = 180_000;
const GOALS = { medianMs: 2_000, p99Ms: 5_000, partsPerMinute: 60 };
/** No delivery: a destination that the bench's site has not, so that no process for one runs. */
const NO_DELIVERY = 'ga4';

/**
 * The whole way of an event, from the request to a row that a query finds, at a low and at a high rate, on a service of its
 * own without deliveries: times, parts made by the inserts, and CPU time of each process.
 */
export async function benchFlow(): Promise<void> {
  const { times, rate: chosen, json } = benchOptions('flow', { rounds: 1, seconds: 60 });
  const scratch = await makeScratch();
  try {
    await withFlow(`${scratch.path}/flow`, async (flow) => {
      const metrics = openMetrics();
      for (const rate of chosen === null ? RATES : [chosen])
        noteFlow(rate, await measureFlow(flow, rate, { ...times, warmMs: times.runMs / 4 }), metrics.note);
      report('flow', metrics.all(), json);
    });
  } finally {
    await scratch.clear();
  }
}

/** A service without deliveries, and a site of it that may send as much as it likes. */
export interface Flow {
  service: RunningService;
  site: BenchSite;
}

/** Starts a service for what is measured, and ends it. */
export async function withFlow(dataDir: string, run: (flow: Flow) => Promise<void>): Promise<void> {
  const env = { RATE_LIMIT_IP: '0', RATE_LIMIT_KEY: '0', DELIVERY_DESTINATIONS: NO_DELIVERY };
  const service = await startService(dataDir, { env, onProgress: say });
  try {
    await run({ service, site: await makeSite(service) });
  } finally {
    await service.stop();
  }
}

interface BenchSite {
  site: string;
  key: string;
  browserKey: string;
}

async function makeSite(service: RunningService): Promise<BenchSite> {
  const settings = await openSettings(service);
  const site = `flow-${randomBytes(3).toString('hex')}`;
  await settings.run('account', 'create', site, '--allowance', '1000000000');
  await settings.run('site', 'create', site, '--account', site);
  const secret = await makeKey(settings, site, 'server');
  const browserKey = await makeKey(settings, site, 'browser');
  await settings.close();
  const works = async () => {
    const headers = { 'x-svc-key': secret };
    return (await fetch(`${service.ready.edge}/v1/config`, { headers })).status;
  };
  await until('the edge knows the key', works, (status) => status === 200);
  return { site, key: secret, browserKey };
}

interface Measured {
  name: string;
  pid: number;
}

/** The parts by a piece of their command. */
const PARTS: Record<string, string> = {
  kafka: 'kafka.Kafka',
  redis: 'redis-server',
  clickhouse: 'clickhouse/server.ts',
};

/** The stages and the parts of a service, and this process, which sends and looks. */
export function processesOf({ ready, pid }: RunningService): Measured[] {
  const stages = Object.entries(ready.processes).flatMap(([name, stage]) =>
    stage.pid === null ? [] : [{ name, pid: stage.pid }],
  );
  const parts = descendantsOf(pid).flatMap(({ pid: of, command }) => {
    const name = Object.keys(PARTS).find((part) => command.includes(PARTS[part] as string));
    return name === undefined ? [] : [{ name, pid: of }];
  });
  return [...stages, ...parts, { name: 'sender', pid: process.pid }];
}

/** Sends events at a rate and waits until a query finds them. */
async function measureFlow(
  { service, site: { site, key } }: Flow,
  eventsPerSecond: number,
  { warmMs, runMs }: { warmMs: number; runMs: number },
): Promise<Figures> {
  const processes = processesOf(service);
  const { edge, clickhouse } = service.ready;
  const options = { edge, key, eventsPerSecond, probeEveryMs: PROBE_EVERY_MS };
  const warm = new Map<string, number>();
  const watchWarm = watchEvents(clickhouse, { site, event: 'warm', probes: warm });
  await sendWithProbes({ ...options, durationMs: warmMs, probe: 'warm', probes: warm });
  await allSeen(warm, watchWarm);

  const probe = `probe_${eventsPerSecond}`;
  const probes = new Map<string, number>();
  const watch = watchEvents(clickhouse, { site, event: probe, probes });
  const partsBefore = await partsMade(clickhouse);
  const countedMs = performance.now();
  const cpuBefore = new Map(processes.map(({ name, pid }) => [name, cpuOf(pid)]));
  const sent = await sendWithProbes({ ...options, durationMs: runMs, probe, probes });
  const partsAfter = await partsMade(clickhouse);
  // An edge that is behind answers for longer than is sent.
  const minutes = (performance.now() - countedMs) / 60_000;
  await allSeen(probes, watch);
  const cpu = processes.map(({ name, pid }) => ({ name, seconds: cpuOf(pid) - (cpuBefore.get(name) ?? 0) }));

  const times = [...probes].map(([id, ms]) => (watch.seen.get(id) ?? 0) - ms).sort((a, b) => a - b);
  const perMinute = (table: string): number => ((partsAfter.get(table) ?? 0) - (partsBefore.get(table) ?? 0)) / minutes;
  return { sent, times, perMinute, tables: [...partsAfter.keys()], cpu };
}

async function allSeen(probes: ReadonlyMap<string, number>, { seen, stop }: Watch): Promise<void> {
  const missing = () => [...probes.keys()].filter((id) => !seen.has(id)).length;
  try {
    await until('every event that is looked for to be found', missing, (count) => count === 0, {
      timeoutMs: CAUGHT_UP_MS,
    });
  } finally {
    await stop();
  }
}

interface Figures {
  sent: Awaited<ReturnType<typeof sendWithProbes>>;
  /** Sorted, from request to row, in milliseconds. */
  times: readonly number[];
  perMinute(table: string): number;
  tables: readonly string[];
  cpu: readonly { name: string; seconds: number }[];
}

function noteFlow(
  rate: number,
  { sent, times, perMinute, tables, cpu }: Figures,
  note: ReturnType<typeof openMetrics>['note'],
): void {
  const at = (share: number): number =>
    times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? Number.NaN;
  const name = (what: string): string => `${rate}/s: ${what}`;
  note(name('accepted'), 'events/s', sent.accepted / sent.seconds);
  for (const [what, count] of Object.entries(sent.failures)) note(name(`refused, ${what}`), 'requests', count);
  note(name('to a row, median'), 'ms', at(0.5));
  note(name('to a row, p99'), 'ms', at(0.99));
  note(name('to a row, most'), 'ms', at(1));
  const made = tables.map((table) => [table, perMinute(table)] as const).filter(([, parts]) => parts > 0);
  for (const [table, parts] of made) note(name(`parts of ${table}`), 'a minute', parts);
  for (const { name: process, seconds } of cpu)
    note(name(`CPU of ${process}`), 's per million', (seconds / sent.accepted) * 1e6);
  const holds =
    at(0.5) < GOALS.medianMs && at(0.99) < GOALS.p99Ms && made.every(([, parts]) => parts < GOALS.partsPerMinute);
  say(
    `${rate}/s: median under 2 s, p99 under 5 s, fewer than 60 parts a minute in every table: ${holds ? 'holds' : 'DOES NOT HOLD'}`,
  );
  if (!holds) process.exitCode = 1;
}
