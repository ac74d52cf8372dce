// What was measured, by docs/performance.md, and the sizes that follow from it, as docs/sizing.md has them.
import { type Costs, costOf, type Machines, simulateMonth, sizeOf, type Workload } from './model.ts';

const MICRO = 1e-6;
const ofEvent = (micros: number): Costs['edge'] => ({ request: 0, event: micros * MICRO });
/** The edge alone, in requests of a browser and of a server. */
const ofRequests = (browser: number, server: number): Costs['edge'] =>
  costOf([1.7, browser * MICRO], [20, server * MICRO]);
const plus = (one: Costs['edge'], event: number): Costs['edge'] => ({ ...one, event: one.event + event * MICRO });

/** Of the stages, and of what Kafka does for them, as before 0.2.0: it is less by now. */
export const COSTS: Costs = {
  edge: ofRequests(73.7, 10),
  dedup: ofEvent(5.7),
  identity: ofEvent(4.9),
  quota: ofEvent(0.9),
  warehouse: ofEvent(5.6),
  kafka: plus(ofRequests(14.2, 1.2), 12.3),
  // Keys of dedup, and persons of many small sites.
  redis: plus(ofRequests(11.6, 0.6), 3.1 + 3.1),
  clickhouse: ofEvent(6.5),
};

/** A shop's day, of browsers. */
export const workloadOf = (eventsPerSecond: number): Workload => ({
  ...{ eventsPerSecond, eventsPerRequest: 1.7, meanOfPeak: 0.6 },
  kept: {
    // Of three topics together; assumed.
    kafka: { bytes: 450, days: 9, copies: 3 },
    redis: { bytes: 30, days: 8, copies: 2 },
    clickhouse: { bytes: 36, days: 400, copies: 2 },
  },
});

/** Three quarters of 8 TB, 64 GB and 16 TB. */
const MACHINES: Machines = {
  kafka: { bytes: 6e12, processors: 8 },
  redis: { bytes: 48e9, processors: 1 },
  clickhouse: { bytes: 12e12, processors: 16 },
};
export const HEADROOM = 2;

const RATES = [1_000, 10_000, 100_000, 1_000_000];

const whole = (amount: number): string => amount.toLocaleString('en-US');

/** Bytes with two digits that count. */
function said(bytes: number): string {
  const [unit, name] = bytes < 1e12 ? [1e9, 'GB'] : [1e12, 'TB'];
  return `${whole(Number((bytes / unit).toPrecision(2)))} ${name}`;
}

/** The cells of the table of the page. */
export function rows(): string[][] {
  return RATES.map((rate) => {
    const workload = workloadOf(rate);
    const month = simulateMonth(workload, HEADROOM);
    const size = sizeOf(COSTS, workload, month, MACHINES, HEADROOM);
    return [
      ...[rate, size.processors, size.edges, size.dedups].map(whole),
      `${whole(size.brokers)}, ${said(month.bytes.kafka)}`,
      `${whole(size.masters)}, ${said(month.bytes.redis)}`,
      `${whole(size.shards)}, ${said(month.bytes.clickhouse)}`,
    ];
  });
}
