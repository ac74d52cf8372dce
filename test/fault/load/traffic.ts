import type { Random } from '#services/local/demo/world/random.ts';
import type { SentEvent } from '#test/harness/ingest.ts';

/** Makes events of visitors with several devices, some of whom say who they are. */
export interface Traffic {
  next(count: number): SentEvent[];
}

const VISITORS = 120;
const DEVICES_MAX = 3;
const AGENT = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';
/** From a range kept for documentation (RFC 5737). */
const ADDRESS_PREFIX = '192.0.2.';

/** `name` makes the ids unlike those of any other row. The same random stream gives the same events but for their time. */
export function createTraffic(name: string, random: Random, nowMs: () => number): Traffic {
  let count = 0;
  function event(): SentEvent {
    const visitor = random.whole(1, VISITORS);
    const kind = random.weigh([
      [70, 'page_view'],
      [20, 'login'],
      [10, 'purchase'],
    ]);
    return {
      event: kind,
      uuid: `${name}-${++count}`,
      distinct_id: `v${visitor}.${random.whole(1, DEVICES_MAX)}`,
      timestamp: new Date(nowMs()).toISOString(),
      properties: { ...shared(visitor), ...(kind === 'page_view' ? {} : who(visitor, random)), ...bought(kind, count) },
    };
  }
  return { next: (wanted) => Array.from({ length: wanted }, event) };
}

function shared(visitor: number): Record<string, unknown> {
  return {
    external_id: `x${visitor}`,
    $current_url: 'https://shop.example/page',
    client_user_agent: AGENT,
    client_ip_address: `${ADDRESS_PREFIX}${visitor}`,
  };
}

/** One in ten says so with a neighbour's address, as households do: then both are one person. */
function who(visitor: number, random: Random): Record<string, unknown> {
  const isNeighbours = visitor % 10 === 0 && random.chance(0.3);
  return { email: `visitor-${isNeighbours ? visitor - 1 : visitor}@example.com` };
}

function bought(kind: string, order: number): Record<string, unknown> {
  return kind === 'purchase' ? { value: order, currency: 'EUR', order_id: `o${order}` } : {};
}
