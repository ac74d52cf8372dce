// What a rate of events takes, from costs that were measured: processors, memory, disks, and how many of each process and part.

const PARTS = ['edge', 'dedup', 'identity', 'quota', 'warehouse', 'kafka', 'redis', 'clickhouse'] as const;
type Part = (typeof PARTS)[number];

/** Seconds of processor time for each request and each event. */
interface Cost {
  request: number;
  event: number;
}
export type Costs = Readonly<Record<Part, Cost>>;

/** A cost from what an event took in requests of few events and in requests of many. */
export function costOf([few, fewTook]: readonly [number, number], [many, manyTook]: readonly [number, number]): Cost {
  const request = (fewTook - manyTook) / (1 / few - 1 / many);
  return { request, event: Math.max(0, manyTook - request / many) };
}

/** Processors that each part keeps busy at a rate. */
export function busy(costs: Costs, eventsPerSecond: number, eventsPerRequest: number): Record<Part, number> {
  const of = ({ request, event }: Cost): number => eventsPerSecond * (request / eventsPerRequest + event);
  return Object.fromEntries(PARTS.map((part) => [part, of(costs[part])])) as Record<Part, number>;
}

const STORES = ['kafka', 'redis', 'clickhouse'] as const;
type Store = (typeof STORES)[number];
type OfStores<T> = Readonly<Record<Store, T>>;

export interface Workload {
  /** Of the busiest hour of a day. */
  eventsPerSecond: number;
  eventsPerRequest: number;
  /** The mean of a day as a part of that. */
  meanOfPeak: number;
  /** Bytes of an event where it is kept, for how many days, in how many copies. */
  kept: OfStores<{ bytes: number; days: number; copies: number }>;
}

interface Month {
  events: number;
  /** The most that is kept, in bytes with all copies; of what is kept longer, when all of it is there. */
  bytes: OfStores<number>;
  /** For how many hours something waits after an hour in which the stages stood still. */
  behindHours: number;
}

const DAYS = 30;
const HOURS = 24;
const HOUR_SECONDS = 3_600;
const BUSIEST_HOUR = 20;
const OUTAGE_DAY = 10;

/** The rate of an hour of the day, as a part of the busiest hour's. */
export const rateAt = (hour: number, meanOfPeak: number): number =>
  Math.max(0, meanOfPeak + (1 - meanOfPeak) * Math.cos((2 * Math.PI * (hour - BUSIEST_HOUR)) / HOURS));

/**
 * A month, hour by hour: what comes, what of it is kept, and how the stages catch up behind the busiest hour of one day, in which
 * they stand still.
 *
 * @param headroom How many times the busiest hour's events the stages can take.
 */
export function simulateMonth({ eventsPerSecond, meanOfPeak, kept }: Workload, headroom: number): Month {
  const capacity = headroom * eventsPerSecond * HOUR_SECONDS;
  const came: number[] = [];
  const most = { kafka: 0, redis: 0, clickhouse: 0 };
  let [behind, behindHours] = [0, 0];
  for (let hour = 0; hour < DAYS * HOURS; hour++) {
    const events = eventsPerSecond * HOUR_SECONDS * rateAt(hour % HOURS, meanOfPeak);
    came.push(events);
    const isOut = hour === OUTAGE_DAY * HOURS + BUSIEST_HOUR;
    behind = Math.max(0, behind + events - (isOut ? 0 : capacity));
    if (behind > 0) behindHours++;
    for (const store of STORES) {
      const there = came.slice(-kept[store].days * HOURS).reduce((sum, one) => sum + one, 0);
      most[store] = Math.max(most[store], there);
    }
  }
  const bytesOf = (store: Store): number =>
    most[store] * Math.max(1, kept[store].days / DAYS) * kept[store].bytes * kept[store].copies;
  return {
    events: came.reduce((sum, one) => sum + one, 0),
    bytes: { kafka: bytesOf('kafka'), redis: bytesOf('redis'), clickhouse: bytesOf('clickhouse') },
    behindHours,
  };
}

/** What a broker, a Redis master and a ClickHouse server have: bytes that may be filled, and processors. */
export type Machines = OfStores<{ bytes: number; processors: number }>;

export interface Size {
  processors: number;
  edges: number;
  dedups: number;
  brokers: number;
  masters: number;
  shards: number;
}

/** How many there have to be, with `headroom` times the processors of the busiest hour. */
export function sizeOf(costs: Costs, workload: Workload, { bytes }: Month, machines: Machines, headroom: number): Size {
  const cores = busy(costs, workload.eventsPerSecond, workload.eventsPerRequest);
  const processes = (part: Part): number => Math.max(2, Math.ceil(cores[part] * headroom));
  const servers = (store: Store, copies: number): number =>
    Math.ceil(
      Math.max(bytes[store] / copies / machines[store].bytes, (cores[store] * headroom) / machines[store].processors),
    );
  return {
    processors: Math.ceil(headroom * PARTS.reduce((sum, part) => sum + cores[part], 0)),
    ...{ edges: processes('edge'), dedups: processes('dedup') },
    // A broker has copies of the others' partitions; replicas of the other two are servers of their own.
    brokers: Math.max(workload.kept.kafka.copies, servers('kafka', 1)),
    masters: servers('redis', workload.kept.redis.copies),
    shards: servers('clickhouse', workload.kept.clickhouse.copies),
  };
}
