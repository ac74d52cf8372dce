// What was measured, as `npm run bench -- sizing --record` wrote it down, and the sizes that follow from it, as docs/sizing.md has them.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import {
  type Busy,
  busyAt,
  bytesOfIds,
  type Costs,
  costsOf,
  deviation,
  type IdBytes,
  idBytesOf,
  type Machines,
  PARTS,
  simulateMonth,
  sizeOf,
  type Workload,
} from './model.ts';

export interface Measured {
  /** Of browsers' events, 1.7 in a request: the lowest and the highest rate make the model, those between compare it. */
  points: (Busy & { kafkaBytes: number })[];
  /** Event ids in Redis: the first two make the model, the others compare it. */
  ids: { ids: number; bucketChars: number; bytes: number }[];
}

export const MEASURED_FILE = fileURLToPath(new URL('./measured.json', import.meta.url));

type Made = { costs: Costs; ids: IdBytes; kafka: Line };
/** What something takes whatever there is of it, and each one more. */
interface Line {
  idle: number;
  each: number;
}
type Point = Measured['points'][number];

/** An id in a bucket that Redis no longer packs; docs/performance.md. */
const UNPACKED_BYTES = 160;

/** What the model is made of. */
export function modelOf({ points, ids }: Measured): Made {
  const [low, high] = [points[0] as Point, points.at(-1) as Point];
  const [few, many] = ids as [Measured['ids'][number], Measured['ids'][number]];
  return {
    costs: costsOf(low, high),
    ids: { ...idBytesOf(few, many), unpacked: UNPACKED_BYTES },
    // In a second: records and transactions, which are as many at any rate, and events.
    kafka: lineOf([low.rate, low.kafkaBytes * low.rate], [high.rate, high.kafkaBytes * high.rate]),
  };
}

function lineOf([few, ofFew]: [number, number], [many, ofMany]: [number, number]): Line {
  const each = (ofMany - ofFew) / (many - few);
  return { each, idle: ofFew - each * few };
}

interface Compared {
  what: string;
  predicted: number;
  measured: number;
}

/** What the model says of each point that it was not made of, beside what was measured there. */
export function compared(measured: Measured): Compared[] {
  const { costs, ids, kafka } = modelOf(measured);
  const sum = (processors: Busy['processors']): number => PARTS.reduce((all, part) => all + processors[part], 0);
  return [
    ...measured.points.slice(1, -1).flatMap((point) => {
      const at = `at ${Math.round(point.rate).toLocaleString('en-US')}/s`;
      return [
        { what: `processors ${at}`, predicted: sum(busyAt(costs, point.rate)), measured: sum(point.processors) },
        {
          what: `bytes of an event on Kafka ${at}`,
          predicted: kafka.each + kafka.idle / point.rate,
          measured: point.kafkaBytes,
        },
      ];
    }),
    ...measured.ids.slice(2).map(({ ids: count, bucketChars, bytes }) => ({
      what: `bytes of an id, ${count / 1e6} million`,
      predicted: bytesOfIds(ids, count, bucketChars) / count,
      measured: bytes / count,
    })),
  ];
}

/** The same, as cells of the page's second table. */
export const comparedRows = (measured: Measured): string[][] =>
  compared(measured).map(({ what, predicted, measured: found }) => [
    what,
    ...[predicted, found].map((value) => String(Number(value.toPrecision(2)))),
    `${Math.round(100 * deviation(predicted, found))} %`,
  ]);

export const readMeasured = (): Measured => JSON.parse(readFileSync(MEASURED_FILE, 'utf8')) as Measured;

/** Of a browser's event in parts of millions of rows; docs/performance.md. Parts of a bench's minute take twice that. */
const ROW_BYTES = 22.3;
const MEAN_OF_PEAK = 0.6;

/** A shop's day, of browsers. */
export const workloadOf = ({ ids, kafka }: Made, rate: number): Workload => ({
  ...{ rate, meanOfPeak: MEAN_OF_PEAK },
  kafka: { bytes: kafka.each + kafka.idle / (rate * MEAN_OF_PEAK), days: 9, copies: 3 },
  clickhouse: { bytes: ROW_BYTES, days: 400, copies: 2 },
  // How many persons there are is assumed; their bytes are those of one with an e-mail address and two devices.
  redis: { ids, days: 8, copies: 2, persons: 1 / 2_000, personBytes: 700 },
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
export function rows(measured: Measured): string[][] {
  const made = modelOf(measured);
  return RATES.map((rate) => {
    const workload = workloadOf(made, rate);
    const month = simulateMonth(workload, HEADROOM);
    const size = sizeOf(made.costs, workload, month, MACHINES, HEADROOM);
    return [
      ...[rate, size.processors, size.edges, size.dedups, size.partitions].map(whole),
      `${whole(size.brokers)}, ${said(month.bytes.kafka)}`,
      `${whole(size.masters)}, ${said(month.bytes.redis)}`,
      whole(month.bucketChars),
      `${whole(size.shards)}, ${said(month.bytes.clickhouse)}`,
    ];
  });
}
