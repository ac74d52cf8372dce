import { createLogger } from '#infra/log/logger.ts';
import { createRedis } from '#infra/redis/connection.ts';
import { createVisitorStateStore } from '#infra/redis/engage/engage.ts';
import { measureEdge } from '../edge/bench.ts';
import { type Preparation, withEdgeParts } from '../edge_alone.ts';
import type { Traffic } from '../load.ts';
import { benchOptions, medianOf, report, say } from '../results.ts';
import { DEFINITIONS } from './busy_site.ts';

const REQUESTS_PER_SECOND = 2_000;
const VISITORS = 5_000;
/** At this CPU time one core is busy with the rate. */
const CPU_US_MAX = 1e6 / REQUESTS_PER_SECOND;
const P99_MS_MAX = 50;

/**
 * POST /v1/engage at 2,000 requests a second, of visitors of whom most are remembered, on a site with ten definitions; beside
 * it the floor. Its events are requests.
 */
export async function benchEngage(): Promise<void> {
  const { times, json } = benchOptions('engage', { rounds: 3, seconds: 10 });
  await withEdgeParts(prepare, async (edge) => {
    await remember(edge.addresses.redisUrl, edge.shop.site);
    const metrics = await measureEdge(edge, 'engage', traffic(edge.shop.browserKey), times, REQUESTS_PER_SECOND);
    report('engage', metrics, json);
    const cpuUs = medianOf(metrics, 'engage: CPU of the edge');
    const p99Ms = medianOf(metrics, 'engage: p99');
    const holds = cpuUs <= CPU_US_MAX && p99Ms <= P99_MS_MAX;
    say(
      `\n${REQUESTS_PER_SECOND} requests/s take ${((cpuUs / CPU_US_MAX) * 100).toFixed(0)} % of a core, p99 ${p99Ms.toFixed(1)} ms (wanted: at most 100 % and ${P99_MS_MAX} ms): ${holds ? 'holds' : 'DOES NOT HOLD'}`,
    );
    if (!holds) process.exitCode = 1;
  });
}

async function prepare({ client, shop }: Preparation): Promise<void> {
  for (const [path, definition] of DEFINITIONS)
    await client.send('POST', `/sites/${shop.site}/${path}`, null, definition);
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

function traffic(key: string): Traffic {
  const headers = { 'content-type': 'application/json', 'x-svc-key': key };
  const bodies = Array.from({ length: VISITORS }, (_, at) => bodyOf(at));
  let sent = 0;
  return () => ({ path: '/v1/engage', headers, body: bodies[sent++ % VISITORS] as Buffer, events: 1 });
}

function bodyOf(at: number): Buffer {
  return Buffer.from(
    JSON.stringify({
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
    }),
  );
}
