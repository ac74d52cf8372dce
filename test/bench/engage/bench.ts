import { createLogger } from '#infra/log/logger.ts';
import { createRedis } from '#infra/redis/client.ts';
import { createVisitorStateStore } from '#infra/redis/engage/engage.ts';
import { EDGE_NODE_ARGS } from '#services/local/start/processes.ts';
import { type BenchChild, startChild } from '../edge/child.ts';
import { type EdgeAlone, type Preparation, say, withEdgeParts } from '../edge_alone.ts';
import { DEFINITIONS } from './busy_site.ts';
import { sendSteadily } from './steady_load.ts';

const REQUESTS_PER_SECOND = 2_000;
const VISITORS = 5_000;
const WARM_MS = 8_000;
const RUN_MS = 10_000;
const ROUNDS = 3;
/** At this CPU time one core is busy with the rate. */
const CPU_US_MAX = 1e6 / REQUESTS_PER_SECOND;
const P99_MS_MAX = 50;

interface Figure {
  cpuUs: number;
  requestsPerSecond: number;
  p50Ms: number;
  p99Ms: number;
  failures: Record<string, number>;
}

/**
 * POST /v1/engage at 2,000 requests a second, of visitors of whom most are remembered, on a site with ten definitions; beside
 * it a server that only parses and answers. Times on a shared machine vary: what one request costs in CPU is what counts.
 */
export async function benchEngage(): Promise<void> {
  await withEdgeParts(prepare, measure);
}

async function prepare({ client, shop }: Preparation): Promise<void> {
  for (const [path, definition] of DEFINITIONS)
    await client.send('POST', `/sites/${shop.site}/${path}`, null, definition);
}

async function measure({ env, addresses, shop }: EdgeAlone): Promise<void> {
  await remember(addresses.redisUrl, shop.site);
  const bodies = Array.from({ length: VISITORS }, (_, at) => bodyOf(at));
  const floor = () => startChild('./floor_parse.ts', [], env);
  const edge = () => startChild('../../../services/edge/main.ts', [], env, EDGE_NODE_ARGS);
  say(
    `\n${REQUESTS_PER_SECOND} requests/s, ${Buffer.byteLength(bodies[0] ?? '')} bytes each, ${ROUNDS} rounds of ${RUN_MS / 1000} s\n`,
  );
  say(
    `${'what'.padEnd(20)}${'CPU us a request'.padStart(18)}${'requests/s'.padStart(12)}${'p50 ms'.padStart(10)}${'p99 ms'.padStart(10)}`,
  );
  const figures: Figure[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    report('parse and answer', await runOne(floor, '/', '', bodies));
    const figure = await runOne(edge, '/v1/engage', shop.browserKey, bodies);
    report('engage', figure);
    figures.push(figure);
  }
  judge(figures);
}

/** What most visitors saw before; every third one bought something. */
async function remember(redisUrl: string, siteId: string): Promise<void> {
  const redis = createRedis(redisUrl, createLogger('bench', 'warn'));
  const memory = createVisitorStateStore(redis);
  for (let at = 0; at < VISITORS; at += 1) {
    if (at % 5 === 0) continue;
    const shown = { kind: 'shown', name: 'promo:winter', id: `i-${at}` } as const;
    const atMs = Date.now() - 86_400_000;
    const bought = at % 3 === 0 ? [{ kind: 'event', name: 'purchase', atMs } as const] : [];
    await memory.note(siteId, visitorAt(at), [shown, ...bought], atMs);
  }
  redis.disconnect();
}

const visitorAt = (at: number): string => `0192f6a1-5f0e-7c33-9a51-${at.toString(16).padStart(12, '0')}`;

/** `events` is what the floor counts; the edge does not look at it. */
function bodyOf(at: number): string {
  return JSON.stringify({
    page: {
      url: `https://shop.example/cart?step=${at % 7}&utm_source=newsletter`,
      title: 'Your cart',
      referrer: 'https://shop.example/jackets',
    },
    visitor: {
      ...{ distinct_id: visitorAt(at), session_id: `s-${at}`, locale: at % 2 === 0 ? 'de-AT' : 'en-GB' },
      ...{ device: 'desktop', consent: { analytics: true, ads: at % 4 === 0 } },
    },
    seen: { 'promo:winter': { n: 1, last: 1_700_000_000_000 + at } },
    events: [],
  });
}

async function runOne(
  start: () => Promise<BenchChild>,
  path: string,
  key: string,
  bodies: readonly string[],
): Promise<Figure> {
  const child = await start();
  const options = { url: child.url, path, key, bodies, requestsPerSecond: REQUESTS_PER_SECOND };
  await sendSteadily({ ...options, durationMs: WARM_MS });
  const before = child.cpuSeconds();
  const result = await sendSteadily({ ...options, durationMs: RUN_MS });
  const cpuUs = ((child.cpuSeconds() - before) / result.requests) * 1e6;
  await child.stop();
  return { ...result, cpuUs };
}

function report(name: string, { cpuUs, requestsPerSecond, p50Ms, p99Ms, failures }: Figure): void {
  const failed = Object.keys(failures).length === 0 ? '' : `  refused: ${JSON.stringify(failures)}`;
  const [cpu, rate] = [cpuUs.toFixed(0).padStart(18), Math.round(requestsPerSecond).toString().padStart(12)];
  say(`${name.padEnd(20)}${cpu}${rate}${p50Ms.toFixed(1).padStart(10)}${p99Ms.toFixed(1).padStart(10)}${failed}`);
}

/** Of an odd number of values the one in the middle. */
const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0;

function judge(figures: readonly Figure[]): void {
  const cpuUs = Math.min(...figures.map((figure) => figure.cpuUs));
  const p99Ms = median(figures.map((figure) => figure.p99Ms));
  const isRefused = figures.some(({ failures }) => Object.keys(failures).length > 0);
  const holds = cpuUs <= CPU_US_MAX && p99Ms <= P99_MS_MAX && !isRefused;
  say(
    `\n${REQUESTS_PER_SECOND} requests/s take ${((cpuUs / CPU_US_MAX) * 100).toFixed(0)} % of a core, p99 ${p99Ms.toFixed(1)} ms in the median round (wanted: at most 100 % and ${P99_MS_MAX} ms): ${holds ? 'holds' : 'DOES NOT HOLD'}`,
  );
  if (!holds) process.exitCode = 1;
}
