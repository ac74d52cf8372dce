import type { SiteItem } from '#services/control_api/sites.ts';
import { EDGE_NODE_ARGS } from '#services/local/start/processes.ts';
import { cpuOf } from '../cpu.ts';
import { type EdgeAlone, type Preparation, withEdgeParts } from '../edge_alone.ts';
import { saturate, sendAtRate, type Traffic } from '../load.ts';
import { benchOptions, type Metric, openMetrics, report, type Times } from '../results.ts';
import { browserTraffic, SITE_DEFINITIONS, SITE_RULES, serverTraffic } from '../traffic.ts';
import { type BenchChild, startChild } from './child.ts';

const SERVER_EVENTS = 20;

/**
 * The edge alone, saturated with requests of browsers and of servers or at a fixed rate of events, every acknowledgement awaited;
 * beside it, in turns, the floor: the same requests only parsed and answered. Times on a shared machine vary: the ratios are
 * what counts. `--browser`, `--server`: one of the two; `--gzip`: of browsers, compressed; `--rate 10000`: events a second;
 * `--record`: also beside what one would write first, a record for each event.
 */
export async function benchEdge(): Promise<void> {
  const { times, rate, json, given } = benchOptions('edge', { rounds: 3, seconds: 5 }, [
    'browser',
    'server',
    'gzip',
    'record',
  ]);
  await withEdgeParts(setUpSite, async (edge) => {
    const metrics: Metric[] = [];
    for (const [kind, traffic] of [
      ['browser', browserOf(edge, given.has('gzip'))],
      ['server', serverTraffic(edge.shop.serverKey, SERVER_EVENTS)],
    ] as const) {
      const isWanted = given.has(kind) || !(given.has('browser') || given.has('server'));
      if (isWanted) metrics.push(...(await measureEdge(edge, kind, traffic, times, rate, given.has('record'))));
    }
    report('edge', metrics, json);
  });
}

export const browserOf = ({ shop }: EdgeAlone, gzip = false): Traffic => browserTraffic(shop.browserKey, gzip);

/** Gives the site rules and definitions, as sites that use them have. */
export async function setUpSite({ client, shop }: Preparation): Promise<void> {
  const path = `/sites/${shop.site}`;
  const { version } = await client.get<SiteItem>(path);
  await client.send('PATCH', path, version, { block_rules: SITE_RULES });
  for (const definition of SITE_DEFINITIONS) await client.send('POST', `${path}/event-definitions`, null, definition);
}

export const startEdge = ({ env }: Pick<EdgeAlone, 'env'>): Promise<BenchChild> =>
  startChild('../../../services/edge/main.ts', [], env, EDGE_NODE_ARGS);

/** The floor is the same kind of process as the edge, so that nothing but the work differs. */
export const startFloor = ({ env }: Pick<EdgeAlone, 'env'>): Promise<BenchChild> =>
  startChild('./floor.ts', [], env, EDGE_NODE_ARGS);

const startRecords = ({ env, addresses }: EdgeAlone): Promise<BenchChild> =>
  startChild('./record_per_event.ts', [addresses.kafkaBrokers], env, EDGE_NODE_ARGS);

/**
 * Measures the edge and the floor in turns, by the same traffic. Throws where a request was refused.
 *
 * @param rate Events a second; null: as many as they take.
 * @param withRecords Also what makes a record of each event.
 */
export async function measureEdge(
  edge: EdgeAlone,
  kind: string,
  traffic: Traffic,
  { rounds, warmMs, runMs }: Times,
  rate: number | null,
  withRecords = false,
): Promise<Metric[]> {
  const [own, floor] = [await startEdge(edge), await startFloor(edge)];
  const records = withRecords ? [await startRecords(edge)] : [];
  const { note, all } = openMetrics();
  const run = async (child: BenchChild, durationMs: number) => {
    const processes = { own: child.pid, ...edge.partPids };
    const before = Object.values(processes).map(cpuOf);
    const options = { url: child.url, traffic, durationMs };
    const result = await (rate === null ? saturate(options) : sendAtRate({ ...options, eventsPerSecond: rate }));
    if (Object.keys(result.failures).length > 0) throw new Error(`refused: ${JSON.stringify(result.failures)}`);
    const cpus = Object.entries(processes).map(([name, pid], at) => {
      const seconds = cpuOf(pid) - (before[at] as number);
      return [name, (seconds / result.events) * 1e6] as const;
    });
    return { ...result, cpu: Object.fromEntries(cpus) as Record<string, number> };
  };
  for (const child of [floor, own, ...records]) await run(child, warmMs);
  for (let round = 0; round < rounds; round += 1) {
    const [below, above] = [await run(floor, runMs), await run(own, runMs)];
    const [floorCpu, cpu] = [below.cpu['own'] as number, above.cpu['own'] as number];
    note(`${kind}: edge to floor`, 'times', cpu / floorCpu);
    note(`${kind}: CPU of the edge`, 's per million', cpu);
    note(`${kind}: CPU of the floor`, 's per million', floorCpu);
    for (const part of Object.keys(edge.partPids))
      note(`${kind}: CPU of ${part}`, 's per million', above.cpu[part] ?? 0);
    note(`${kind}: events a second`, 'events', above.events / above.seconds);
    note(`${kind}: events a request`, 'events', above.events / above.requests);
    note(`${kind}: body of an event`, 'bytes', above.bytes / above.events);
    note(`${kind}: p50`, 'ms', above.p50Ms);
    note(`${kind}: p99`, 'ms', above.p99Ms);
    for (const child of records) {
      const recordsCpu = (await run(child, runMs)).cpu['own'] as number;
      note(`${kind}: edge to a record per event`, 'times', cpu / recordsCpu);
      note(`${kind}: CPU of a record per event`, 's per million', recordsCpu);
    }
  }
  await Promise.all([own, floor, ...records].map((child) => child.stop()));
  return all();
}
