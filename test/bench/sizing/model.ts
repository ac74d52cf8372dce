// What a rate of events takes, from costs that were measured: processors, memory, disks, and how many of each process and part. Pure.

export const PARTS = ['edge', 'dedup', 'identity', 'quota', 'warehouse', 'kafka', 'redis', 'clickhouse'] as const;
export type Part = (typeof PARTS)[number];
export type OfParts = Readonly<Record<Part, number>>;

/** Processors that a part keeps busy whatever the rate is, such as by transactions, and seconds of one for each event. */
interface Cost {
  idle: number;
  event: number;
}
export type Costs = Readonly<Record<Part, Cost>>;

/** Processors that were busy at a rate. */
export interface Busy {
  rate: number;
  processors: OfParts;
}

/** Costs from a low and a high rate. */
export function costsOf(low: Busy, high: Busy): Costs {
  return ofParts((part) => {
    const more = Math.max(0, high.processors[part] - low.processors[part]);
    const event = more / (high.rate - low.rate);
    return { event, idle: Math.max(0, low.processors[part] - event * low.rate) };
  });
}

function ofParts<T>(of: (part: Part) => T): Record<Part, T> {
  return Object.fromEntries(PARTS.map((part) => [part, of(part)])) as Record<Part, T>;
}

/** Processors that each part keeps busy at a rate. */
export const busyAt = (costs: Costs, rate: number): Record<Part, number> =>
  ofParts((part) => costs[part].idle + costs[part].event * rate);

/** Bytes of Redis for an event id in a bucket that is packed, in one that is not, and for a bucket itself. */
export interface IdBytes {
  packed: number;
  unpacked: number;
  bucket: number;
}

const BUCKET_BASE = 64;
/** Redis packs a bucket up to so many ids. */
const PACKED_MAX = 512;

/** Bytes of so many event ids in buckets of so many characters: of few ids most buckets are not there. */
export function bytesOfIds({ packed, unpacked, bucket }: IdBytes, ids: number, bucketChars: number): number {
  const buckets = BUCKET_BASE ** bucketChars;
  const there = buckets * (1 - Math.exp(-ids / buckets));
  return there * bucket + ids * (ids / buckets > PACKED_MAX ? unpacked : packed);
}

/** What a packed id and a bucket take, from as many ids in few buckets and in many. */
export function idBytesOf(
  few: { ids: number; bucketChars: number; bytes: number },
  many: { ids: number; bucketChars: number; bytes: number },
): Omit<IdBytes, 'unpacked'> {
  const there = ({ ids, bucketChars }: typeof few): number =>
    BUCKET_BASE ** bucketChars * (1 - Math.exp(-ids / BUCKET_BASE ** bucketChars));
  const bucket = (many.bytes / many.ids - few.bytes / few.ids) / (there(many) / many.ids - there(few) / few.ids);
  return { bucket, packed: (few.bytes - bucket * there(few)) / few.ids };
}

export interface Workload {
  /** Events a second in the busiest hour of a day. */
  rate: number;
  /** The mean of a day as a part of that. */
  meanOfPeak: number;
  kafka: Kept;
  clickhouse: Kept;
  redis: {
    ids: IdBytes;
    /** For how many days an id is kept at least; one that is old is removed when its bucket's turn comes, a quarter later at most. */
    days: number;
    copies: number;
    /** New identified persons for each event, kept as long as rows, and the bytes of one. */
    persons: number;
    personBytes: number;
  };
}

/** Bytes of an event where it is kept, for how many days, in how many copies. */
interface Kept {
  bytes: number;
  days: number;
  copies: number;
}

const STORES = ['kafka', 'redis', 'clickhouse'] as const;
type Store = (typeof STORES)[number];
type OfStores<T> = Readonly<Record<Store, T>>;

export interface Month {
  events: number;
  /** The most that is kept, in bytes with all copies; of what is kept longer, when all of it is there. */
  bytes: OfStores<number>;
  /** Event ids that are kept at most, and what their buckets are named by. */
  ids: number;
  bucketChars: number;
  /** For how many hours something waits after an hour in which the stages stood still. */
  behindHours: number;
}

const DAYS = 30;
const HOURS = 24;
const HOUR_SECONDS = 3_600;
const BUSIEST_HOUR = 20;
const OUTAGE_DAY = 10;
/** Half of the quarter of the window within which an old id is removed. */
const SWEPT_LATE = 1 / 8;
/** Buckets are chosen so that they are filled to so much of what Redis packs, and never fewer than a new installation has. */
const FILL_MAX = 0.75;
const BUCKET_CHARS_MIN = 4;
const BUCKET_CHARS_MAX = 5;

/** The rate of an hour of the day, as a part of the busiest hour's. */
export const rateAt = (hour: number, meanOfPeak: number): number =>
  Math.max(0, meanOfPeak + (1 - meanOfPeak) * Math.cos((2 * Math.PI * (hour - BUSIEST_HOUR)) / HOURS));

/** Ids that buckets of so many characters hold before `svc status` warns. */
export const idsMax = (bucketChars: number): number => FILL_MAX * PACKED_MAX * BUCKET_BASE ** bucketChars;

/** Characters of buckets for so many ids, as a new installation should set them. */
function bucketCharsFor(ids: number): number {
  let chars = BUCKET_CHARS_MIN;
  while (chars < BUCKET_CHARS_MAX && ids > idsMax(chars)) chars++;
  return chars;
}

/**
 * A month, hour by hour: what comes, what of it is kept, and how the stages catch up behind the busiest hour of one day, in which
 * they stand still.
 *
 * @param headroom How many times the busiest hour's events the stages can take.
 */
export function simulateMonth(workload: Workload, headroom: number): Month {
  const { rate, meanOfPeak, redis } = workload;
  const capacity = headroom * rate * HOUR_SECONDS;
  const idHours = Math.ceil(redis.days * (1 + SWEPT_LATE) * HOURS);
  const hours: Record<'kafka' | 'ids' | 'clickhouse', number> = {
    kafka: workload.kafka.days * HOURS,
    ids: idHours,
    clickhouse: workload.clickhouse.days * HOURS,
  };
  const came: number[] = [];
  const there = { kafka: 0, ids: 0, clickhouse: 0 };
  const most = { ...there };
  let [behind, behindHours] = [0, 0];
  for (let hour = 0; hour < DAYS * HOURS; hour++) {
    const events = rate * HOUR_SECONDS * rateAt(hour % HOURS, meanOfPeak);
    came.push(events);
    for (const what of ['kafka', 'ids', 'clickhouse'] as const) {
      there[what] += events - (came[hour - hours[what]] ?? 0);
      most[what] = Math.max(most[what], there[what]);
    }
    const isOut = hour === OUTAGE_DAY * HOURS + BUSIEST_HOUR;
    behind = Math.max(0, behind + events - (isOut ? 0 : capacity));
    if (behind > 0) behindHours++;
  }
  const events = came.reduce((sum, one) => sum + one, 0);
  const bucketChars = bucketCharsFor(most.ids);
  const persons = redis.persons * events * (workload.clickhouse.days / DAYS);
  const bytesOf = ({ bytes, days, copies }: Kept, events: number): number =>
    events * Math.max(1, days / DAYS) * bytes * copies;
  return {
    events,
    bytes: {
      kafka: bytesOf(workload.kafka, most.kafka),
      redis: (bytesOfIds(redis.ids, most.ids, bucketChars) + persons * redis.personBytes) * redis.copies,
      clickhouse: bytesOf(workload.clickhouse, most.clickhouse),
    },
    ids: most.ids,
    bucketChars,
    behindHours,
  };
}

/** What a broker, a Redis master and a ClickHouse server have: bytes that may be filled, and processors. */
export type Machines = OfStores<{ bytes: number; processors: number }>;

export interface Size {
  processors: number;
  edges: number;
  dedups: number;
  partitions: number;
  brokers: number;
  masters: number;
  shards: number;
}

/** How many there have to be, with `headroom` times the processors of the busiest hour. */
export function sizeOf(costs: Costs, workload: Workload, { bytes }: Month, machines: Machines, headroom: number): Size {
  const busy = busyAt(costs, workload.rate);
  const processes = (part: Part): number => Math.max(2, Math.ceil(busy[part] * headroom));
  const servers = (store: Store, copies: number): number =>
    Math.ceil(
      Math.max(bytes[store] / copies / machines[store].bytes, (busy[store] * headroom) / machines[store].processors),
    );
  const dedups = processes('dedup');
  return {
    processors: Math.ceil(headroom * PARTS.reduce((sum, part) => sum + busy[part], 0)),
    ...{ edges: processes('edge'), dedups },
    partitions: Math.max(PARTITIONS_MIN, PARTITION_GROUP * Math.max(dedups, processes('identity'))),
    // A broker has copies of the others' partitions; replicas of the other two are servers of their own.
    brokers: Math.max(workload.kafka.copies, servers('kafka', 1)),
    masters: servers('redis', workload.redis.copies),
    shards: servers('clickhouse', workload.clickhouse.copies),
  };
}

/** Of a new installation, and of those that one process of dedup and identity takes together. */
const PARTITIONS_MIN = 12;
const PARTITION_GROUP = 4;

/** How far a prediction is from what was measured, as a part of that. */
export const deviation = (predicted: number, measured: number): number => predicted / measured - 1;
