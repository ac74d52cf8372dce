import { createWarehouse } from '#infra/clickhouse/client.ts';
import { partsConfig } from '#infra/config/service_config.ts';
import { openKafka } from '#infra/kafka/client.ts';
import { topicOffsets } from '#infra/kafka/offsets.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import { createLogger } from '#infra/log/logger.ts';
import { STAGE_NODE_ARGS } from '#services/local/start/processes.ts';
import { until } from '#test/harness/until.ts';
import { cpuOf } from '../cpu.ts';
import { browserOf, setUpSite, startEdge, startFloor } from '../edge/bench.ts';
import { type BenchChild, startChild } from '../edge/child.ts';
import { type EdgeAlone, withEdgeParts } from '../edge_alone.ts';
import { saturate } from '../load.ts';
import { benchOptions, type Metric, openMetrics, report, say } from '../results.ts';
import { bytesHeld } from './bytes.ts';

/** In an order in which each finds on its topic what the one before has left there. */
const STAGES = [
  ['dedup', TOPICS.raw],
  ['quota', TOPICS.counts],
  ['identity', TOPICS.unique],
  ['warehouse', TOPICS.identified],
] as const;
type Stage = (typeof STAGES)[number][0];

const EVENTS = 300_000;
/** A stage has compiled what it runs, and read its indexes, when it is so far. */
const WARM_SHARE = 0.25;
const DRAINED_MS = 600_000;
const FLOOR_MS = 3_000;

/** Each stage alone, from a topic that holds browsers' events when it starts: `--events 300000`. */
export async function benchStages(): Promise<void> {
  const { events, times, json } = benchOptions('stages', { rounds: 3, seconds: 1 });
  await withEdgeParts(setUpSite, async (edge) =>
    report('stages', await measureStages(edge, events ?? EVENTS, times.rounds), json),
  );
}

/**
 * What waits when the stages come back after they were away: all stages at once, from a prepared `events.raw`. `--events 300000` is
 * an hour of 83 events a second, or half a minute of 10,000.
 */
export async function benchCatchup(): Promise<void> {
  const { events: wanted, json } = benchOptions('catchup', { rounds: 1, seconds: 1 });
  await withEdgeParts(setUpSite, async (edge) => {
    const events = await fill(edge, wanted ?? EVENTS);
    say(`${events} events wait`);
    const warehouse = createWarehouse(edge.addresses.clickhouseUrl);
    const stored = async (): Promise<number> => {
      const query = `SELECT count() AS events FROM event_rows WHERE site_id = '${edge.shop.site}'`;
      const [row] = await (await warehouse.query({ query, format: 'JSONEachRow' })).json<{ events: string }>();
      return Number(row?.events);
    };
    const startedMs = performance.now();
    const begun = cpuOfAll(edge.partPids);
    const stages = await Promise.all(STAGES.map(async ([stage]) => [stage, await startStage(edge, stage)] as const));
    await until('every event to be a row', stored, (rows) => rows >= events, { timeoutMs: DRAINED_MS, everyMs: 500 });
    const seconds = (performance.now() - startedMs) / 1_000;
    const { note, all } = openMetrics();
    note('caught up after', 's', seconds);
    note('events a second', 'events', events / seconds);
    for (const [stage, { cpuSeconds }] of stages) note(`CPU of ${stage}`, PER_MILLION, (cpuSeconds() / events) * 1e6);
    for (const [part, cpu] of Object.entries(cpuOfAll(edge.partPids)))
      note(`CPU of ${part}`, PER_MILLION, ((cpu - (begun[part] as number)) / events) * 1e6);
    await Promise.all(stages.map(([, child]) => child.stop()));
    await warehouse.close();
    report('catchup', all(), json);
  });
}

const PER_MILLION = 's per million';

type Session = Awaited<ReturnType<typeof openKafka>>;

const cpuOfAll = (pids: Readonly<Record<string, number>>): Record<string, number> =>
  Object.fromEntries(Object.entries(pids).map(([name, pid]) => [name, cpuOf(pid)]));

const startStage = ({ env }: EdgeAlone, stage: Stage): Promise<BenchChild> =>
  startChild(`../../../services/${stage}/main.ts`, [], env, STAGE_NODE_ARGS);

/** Has an edge put browsers' events on `events.raw`. @returns how many there are. */
async function fill(edge: EdgeAlone, wanted: number): Promise<number> {
  const child = await startEdge(edge);
  const traffic = browserOf(edge);
  let events = 0;
  while (events < wanted) events += (await saturate({ url: child.url, traffic, durationMs: 1_000 })).events;
  await child.stop();
  return events;
}

/** CPU seconds of the floor for a million of the same events. */
async function floorOf(edge: EdgeAlone): Promise<number> {
  const child = await startFloor(edge);
  const options = { url: child.url, traffic: browserOf(edge), durationMs: FLOOR_MS };
  await saturate(options);
  const before = child.cpuSeconds();
  const { events } = await saturate(options);
  const cpu = child.cpuSeconds() - before;
  await child.stop();
  return (cpu / events) * 1e6;
}

/**
 * Fills `events.raw` and drains the topics of the stages one after the other, with the floor measured before each; as many times as is
 * said, on topics that were empty at first.
 *
 * @param wanted Events of a round.
 */
export async function measureStages(edge: EdgeAlone, wanted: number, rounds: number): Promise<Metric[]> {
  const { note, all } = openMetrics();
  const session = await openKafka(partsConfig(edge.env).kafka, 'svc.bench', createLogger('bench', 'warn'));
  for (let round = 0; round < rounds; round += 1) {
    const before = await bytesHeld(edge);
    const events = await fill(edge, wanted);
    for (const [stage, topic] of STAGES) {
      const floor = await floorOf(edge);
      const { cpu, parts, seconds } = await drain(edge, session, stage, topic, events);
      note(`${stage}: to floor`, 'times', cpu / floor);
      note(`${stage}: CPU`, PER_MILLION, cpu);
      note(`${stage}: CPU of the floor`, PER_MILLION, floor);
      for (const [part, used] of Object.entries(parts)) note(`${stage}: CPU of ${part}`, PER_MILLION, used);
      note(`${stage}: events a second`, 'events', 1e6 / seconds);
    }
    for (const [name, bytes] of Object.entries(await bytesHeld(edge)))
      note(`${name}: an event`, 'bytes', (bytes - (before[name] as number)) / events);
  }
  await session.stop();
  return all();
}

interface Drained {
  /** CPU seconds of the stage for a million events. */
  cpu: number;
  parts: Record<string, number>;
  /** For a million events. */
  seconds: number;
}

async function drain(edge: EdgeAlone, session: Session, stage: Stage, topic: string, events: number): Promise<Drained> {
  const ends = await topicOffsets(session.admin, topic);
  const end = ends.reduce((sum, { high }) => sum + Number(high), 0);
  const committed = async (): Promise<number> => {
    const [found] = await session.admin.fetchOffsets({ groupId: session.groupOf(stage), topics: [topic] });
    return (found?.partitions ?? []).reduce((sum, { offset }) => sum + Math.max(0, Number(offset)), 0);
  };
  const begin = await committed();
  const child = await startStage(edge, stage);
  const now = (share: number) => ({
    ...{ share, ms: performance.now(), own: child.cpuSeconds(), parts: cpuOfAll(edge.partPids) },
  });
  let from = now(0);
  const left = async (): Promise<number> => {
    const done = await committed();
    const share = (done - begin) / (end - begin);
    if (share < WARM_SHARE) from = now(share);
    return end - done;
  };
  // A transaction's marker has an offset of its own, behind the last record of a partition.
  const isDrained = (records: number): boolean => records <= ends.length;
  await until(`${stage} to have drained ${topic}`, left, isDrained, { timeoutMs: DRAINED_MS, everyMs: 100 });
  const to = now(1);
  await child.stop();
  const millions = ((to.share - from.share) * events) / 1e6;
  const parts = Object.entries(to.parts).map(([part, used]) => [
    part,
    (used - (from.parts[part] as number)) / millions,
  ]);
  return {
    cpu: (to.own - from.own) / millions,
    parts: Object.fromEntries(parts) as Record<string, number>,
    seconds: (to.ms - from.ms) / 1_000 / millions,
  };
}
