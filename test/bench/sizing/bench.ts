import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createLogger } from '#infra/log/logger.ts';
import { infoFields } from '#infra/redis/client.ts';
import { createRedis, type Redis } from '#infra/redis/connection.ts';
import { makeScratch } from '#test/harness/run/scratch.ts';
import { cpuOf } from '../cpu.ts';
import { type Flow, processesOf, withFlow } from '../flow/bench.ts';
import { sendAtRate } from '../load.ts';
import { benchOptions, say } from '../results.ts';
import { bytesHeld, EVENT_TOPICS } from '../stages/bytes.ts';
import { browserTraffic } from '../traffic.ts';
import { type Busy, deviation, type OfParts, PARTS } from './model.ts';
import { compared, MEASURED_FILE, type Measured, readMeasured } from './sizes.ts';

/** Of a low and a high rate the model is made, and it is compared at the two between. */
const RATES = [250, 1_000, 2_500, 4_000] as const;
/** Ids in few buckets and in many, of which the model is made, and those at which it is compared. */
const FILLS = [
  { ids: 1e6, bucketChars: 2 },
  { ids: 1e6, bucketChars: 4 },
  { ids: 10e6, bucketChars: 4 },
  { ids: 50e6, bucketChars: 4 },
] as const;
/** Redis answers nothing else meanwhile. */
const IDS_A_CALL = 2_000;
const CALLS_OPEN = 2;

/**
 * Measures what the model of docs/sizing.md is made of and what it is compared with: the whole way of browsers' events at four rates,
 * without deliveries, and event ids in Redis; prints what the model says of each point it was not made of. `--record` writes
 * the figures down for the page. `--rates`, `--ids`: one of the two, beside what is written down of the other.
 */
export async function benchSizing(): Promise<void> {
  const { times, given } = benchOptions('sizing', { rounds: 1, seconds: 60 }, ['record', 'rates', 'ids']);
  const isWanted = (part: 'rates' | 'ids'): boolean => given.has(part) || !(given.has('rates') || given.has('ids'));
  const scratch = await makeScratch();
  try {
    await withFlow(`${scratch.path}/sizing`, async (flow) => {
      const measured: Measured = {
        points: isWanted('rates') ? await measureRates(flow, times.runMs) : readMeasured().points,
        ids: isWanted('ids') ? await measureIds(flow) : readMeasured().ids,
      };
      if (given.has('record')) writeFileSync(MEASURED_FILE, `${JSON.stringify(measured, null, 2)}\n`);
      for (const { what, predicted, measured: found } of compared(measured)) {
        const percent = (100 * deviation(predicted, found)).toFixed(0);
        say(`${what.padEnd(40)} predicted ${predicted.toPrecision(3)}, measured ${found.toPrecision(3)}, ${percent} %`);
      }
    });
  } finally {
    await scratch.clear();
  }
}

const send = ({ service, site }: Flow, eventsPerSecond: number, durationMs: number) =>
  sendAtRate({
    url: service.ready.edge,
    traffic: browserTraffic(site.browserKey, false),
    ...{ durationMs, eventsPerSecond },
  });

async function measureRates(flow: Flow, runMs: number): Promise<Measured['points']> {
  await send(flow, RATES[0], runMs / 4);
  const points: Measured['points'] = [];
  for (const rate of RATES) points.push(await measureRate(flow, rate, runMs));
  return points;
}

async function measureRate(flow: Flow, rate: number, runMs: number): Promise<Measured['points'][number]> {
  const { service } = flow;
  // Not of ClickHouse, whose files come and go.
  const where = { dataDir: join(service.dataDir, 'kafka'), addresses: addressesOf(flow) };
  await send(flow, rate, runMs / 4);
  const held = await bytesHeld(where);
  const processes = processesOf(service);
  const before = new Map(processes.map(({ name, pid }) => [name, cpuOf(pid)]));
  const { events, seconds, failures } = await send(flow, rate, runMs);
  const cpu = new Map(processes.map(({ name, pid }) => [name, cpuOf(pid) - (before.get(name) ?? 0)]));
  if (Object.keys(failures).length > 0) throw new Error(`refused: ${JSON.stringify(failures)}`);
  const after = await bytesHeld(where);
  const busy: Busy = {
    rate: events / seconds,
    processors: Object.fromEntries(PARTS.map((part) => [part, (cpu.get(part) ?? 0) / seconds])) as OfParts,
  };
  const kafkaBytes = EVENT_TOPICS.reduce((sum, topic) => sum + (after[topic] ?? 0) - (held[topic] ?? 0), 0) / events;
  say(`${busy.rate.toFixed(0)}/s: ${PARTS.map((part) => `${part} ${busy.processors[part].toFixed(3)}`).join(', ')}`);
  say(`  bytes of an event on Kafka's topics: ${kafkaBytes.toFixed(0)}`);
  return { ...busy, kafkaBytes };
}

const addressesOf = ({ service: { ready } }: Flow) => ({ redisUrl: ready.redis, clickhouseUrl: ready.clickhouse });

/** In the same Redis, under keys of their own. */
async function measureIds(flow: Flow): Promise<Measured['ids']> {
  const redis = createRedis(addressesOf(flow).redisUrl, createLogger('bench', 'warn'));
  try {
    await redis.config('SET', 'appendonly', 'no');
    const ids: Measured['ids'] = [];
    for (const [at, fill] of FILLS.entries()) {
      const before = await usedBytes(redis);
      await fillIds(redis, `${at}:b:`, fill);
      const bytes = (await usedBytes(redis)) - before;
      say(
        `${fill.ids / 1e6} million ids in ${64 ** fill.bucketChars} buckets: ${(bytes / fill.ids).toFixed(1)} bytes each`,
      );
      ids.push({ ...fill, bytes });
    }
    return ids;
  } finally {
    redis.disconnect();
  }
}

const FILL_SCRIPT = readFileSync(new URL('./fill_ids.lua', import.meta.url), 'utf8');

async function fillIds(redis: Redis, prefix: string, { ids, bucketChars }: (typeof FILLS)[number]): Promise<void> {
  let from = 0;
  const slot = async (): Promise<void> => {
    while (from < ids) {
      const first = from;
      from += IDS_A_CALL;
      await redis.eval(FILL_SCRIPT, 1, prefix, first, Math.min(IDS_A_CALL, ids - first), bucketChars);
    }
  };
  await Promise.all(Array.from({ length: CALLS_OPEN }, slot));
}

async function usedBytes(redis: Redis): Promise<number> {
  return Number(infoFields(await redis.info('memory')).get('used_memory'));
}
