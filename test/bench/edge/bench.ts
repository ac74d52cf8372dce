import { randomBytes } from 'node:crypto';
import { EDGE_NODE_ARGS } from '#services/local/start/processes.ts';
import { childEnvironment } from '#test/harness/environment.ts';
import { type EdgeAlone, type Preparation, say, withEdgeParts } from '../edge_alone.ts';
import { requestBody } from './body.ts';
import { type BenchChild, startChild } from './child.ts';
import { load } from './load.ts';

const EVENTS_PER_REQUEST = 50;
const CONCURRENCY = 64;
const BODIES = 200;
const BENCH: Times = { rounds: 3, warmMs: 8_000, runMs: 10_000 };

/** How long is measured. */
export interface Times {
  rounds: number;
  /** Before each round, so that what is measured is compiled. */
  warmMs: number;
  runMs: number;
}

export interface Subject {
  name: string;
  path: string;
  key: string;
  start(): Promise<BenchChild>;
}

/** The floor below every edge in Fastify: parse the JSON and answer. */
export const PARSE: Subject = {
  name: 'parse and answer',
  path: '/',
  key: '',
  start: () => startChild('./floor_parse.ts', [], childEnvironment()),
};

export interface Figure {
  cpuPerMillion: number;
  eventsPerSecond: number;
  p50Ms: number;
  p99Ms: number;
  failures: Record<string, number>;
}

/**
 * The edge alone, saturated with requests of 50 events of about 500 bytes, every acknowledgement awaited, beside two
 * floors of the same run. Times on a shared machine vary: the ratios are what counts.
 */
export async function benchEdge(): Promise<void> {
  await withEdgeParts(makeTopic, measure);
}

async function makeTopic({ session, eventPartitions }: Preparation): Promise<string> {
  const topic = `bench.record.${randomBytes(4).toString('hex')}`;
  await session.admin.createTopics({ topics: [{ topic, numPartitions: eventPartitions }], waitForLeaders: true });
  return topic;
}

/** The edge with nothing behind it but the parts. */
export function edgeSubject({ env, shop }: EdgeAlone): Subject {
  return {
    name: 'edge',
    path: '/v1/ingest',
    key: shop.serverKey,
    start: () => startChild('../../../services/edge/main.ts', [], env, EDGE_NODE_ARGS),
  };
}

async function measure(edge: EdgeAlone, topic: string): Promise<void> {
  const { env, addresses } = edge;
  const record: Subject = {
    name: 'record per event',
    path: '/',
    key: '',
    start: () => startChild('./floor_record.ts', [addresses.kafkaBrokers, topic], env),
  };
  report(await runAll([PARSE, edgeSubject(edge), record], BENCH));
}

/** Measures the subjects by turns. */
export async function runAll(subjects: readonly Subject[], times: Times): Promise<Map<string, Figure[]>> {
  const bodies = Array.from({ length: BODIES }, () => requestBody(EVENTS_PER_REQUEST));
  say(
    `\n${EVENTS_PER_REQUEST} events a request, ${Math.round(Buffer.byteLength(bodies[0] as string) / EVENTS_PER_REQUEST)} bytes an event, ${CONCURRENCY} requests open, ${times.rounds} rounds of ${times.runMs / 1000} s\n`,
  );
  const figures = new Map<string, Figure[]>();
  for (let round = 0; round < times.rounds; round++) {
    for (const subject of subjects) {
      const figure = await runOne(subject, bodies, times);
      figures.set(subject.name, [...(figures.get(subject.name) ?? []), figure]);
    }
  }
  return figures;
}

async function runOne({ path, key, start }: Subject, bodies: readonly string[], times: Times): Promise<Figure> {
  const child = await start();
  const options = { url: child.url, path, key, bodies, concurrency: CONCURRENCY };
  await load({ ...options, durationMs: times.warmMs });
  const before = child.cpuSeconds();
  const result = await load({ ...options, durationMs: times.runMs });
  const cpu = child.cpuSeconds() - before;
  await child.stop();
  const events = result.requests * EVENTS_PER_REQUEST;
  return {
    cpuPerMillion: (cpu / events) * 1e6,
    eventsPerSecond: events / result.seconds,
    p50Ms: result.p50Ms,
    p99Ms: result.p99Ms,
    failures: result.failures,
  };
}

function report(figures: ReadonlyMap<string, readonly Figure[]>): void {
  say(
    `${'what'.padEnd(20)}${'CPU s per million'.padStart(18)}${'events/s'.padStart(12)}${'p50 ms'.padStart(10)}${'p99 ms'.padStart(10)}`,
  );
  for (const [name, rounds] of figures) {
    for (const { cpuPerMillion, eventsPerSecond, p50Ms, p99Ms, failures } of rounds) {
      const failed = Object.keys(failures).length === 0 ? '' : `  refused: ${JSON.stringify(failures)}`;
      say(
        `${name.padEnd(20)}${cpuPerMillion.toFixed(2).padStart(18)}${Math.round(eventsPerSecond).toString().padStart(12)}${p50Ms.toFixed(1).padStart(10)}${p99Ms.toFixed(1).padStart(10)}${failed}`,
      );
    }
  }
  const ratio = best(figures, 'edge') / best(figures, 'record per event');
  say(
    `\nthe edge takes ${ratio.toFixed(2)} of the CPU of a record per event (wanted: at most 0.50): ${ratio <= 0.5 ? 'holds' : 'DOES NOT HOLD'}`,
  );
  if (ratio > 0.5) process.exitCode = 1;
}

/** The least CPU seconds for a million events of a subject's rounds: what the machine does beside it only adds to them. */
export function best(figures: ReadonlyMap<string, readonly Figure[]>, name: string): number {
  return Math.min(...(figures.get(name) ?? []).map(({ cpuPerMillion }) => cpuPerMillion));
}
