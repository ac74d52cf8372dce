// A block of rows for the warehouse: its plan and token, and the rows of each table.
import { StoredDataError } from '#pipelines/stage.ts';
import type { DeliveryOutcomes, InventoryRecord } from '#schemas/records.ts';

/** Offsets of one partition, both included. */
export interface OffsetRange {
  first: number;
  last: number;
}

/** What one insert covers: a range of each partition that has rows in it. */
export type BlockPlan = ReadonlyMap<number, OffsetRange>;

/** A plan is metadata of a committed offset, of which brokers take 4,096 bytes by default; a range is 40 at most. */
export const PLAN_PARTITIONS_MAX = 100;

function rangesOf(plan: BlockPlan): [partition: number, range: OffsetRange][] {
  return [...plan].sort(([a], [b]) => a - b);
}

/**
 * Metadata of committed offsets that announces a block; every partition that it covers has the same. `log` is the id of the
 * topic, as the offsets of one that is made anew under its name mean other records.
 */
export function writePlan(plan: BlockPlan, log = ''): string {
  return `plan${suffixOf(log)}:${rangesText(plan)}`;
}

const suffixOf = (log: string): string => (log === '' ? '' : `@${log}`);

function rangesText(plan: BlockPlan): string {
  return rangesOf(plan)
    .map(([partition, { first, last }]) => `${partition}:${first}-${last}`)
    .join(',');
}

/** The plan in the metadata of an offset; null where there is none. */
export function readPlan(metadata: string): BlockPlan | null {
  const text = metadata.replace(/^plan@[\w-]+:/, 'plan:');
  if (!/^plan:\d+:\d+-\d+(,\d+:\d+-\d+)*$/.test(text)) return null;
  return new Map(
    [...text.matchAll(/(\d+):(\d+)-(\d+)/g)].map(([, at, first, last]) => [
      Number(at),
      { first: Number(first), last: Number(last) },
    ]),
  );
}

/** The id of the topic whose offsets a plan means; empty where it does not say, as before plans had one. */
export function topicIdOfPlan(metadata: string): string {
  return /^plan@([\w-]+):/.exec(metadata)?.[1] ?? '';
}

/** The name of a block: the same ranges of a topic, with the same id, are the same rows. */
export function dedupToken(topic: string, plan: BlockPlan, log = ''): string {
  const [only] = plan;
  const name = `${topic}${suffixOf(log)}`;
  if (only === undefined || plan.size > 1) return `${name}/${rangesText(plan)}`;
  return `${name}/${only[0]}/${only[1].first}-${only[1].last}`;
}

/** Where the first record of a block stands, by its token; rows that are refused become dead letters under it. */
export function placeOf(token: string): { partition: number; offset: number } {
  const place = /\/(\d+)[/:](\d+)-\d+(?:,|$)/.exec(token);
  if (place === null) throw new StoredDataError('the token of a block names no place');
  return { partition: Number(place[1]), offset: Number(place[2]) };
}

/** Rows gathered from consecutive records of one partition. */
export interface PendingRows<Row> {
  /** Offset of the first record; null where there is none and only `next` is to be committed. */
  first: number | null;
  /** Offset behind the last record. */
  next: number;
  rows: Row[];
  /** Of the records that the rows are from. */
  bytes: number;
  /** Since when the first record waits here, in milliseconds of a clock that only goes forward. */
  openedMs: number;
}

/** Nothing yet, with everything before `next` written. `openedMs` is since when what comes has waited. */
export function pendingFrom<Row>(next: number, openedMs: number): PendingRows<Row> {
  return { first: null, next, rows: [], bytes: 0, openedMs };
}

/** Adds a record's rows, which may be none. */
export function appendRows<Row>(gathered: PendingRows<Row>, offset: number, rows: readonly Row[], bytes: number): void {
  gathered.first ??= offset;
  gathered.next = offset + 1;
  gathered.bytes += bytes;
  for (const row of rows) gathered.rows.push(row);
}

/** What is announced before the rows of these partitions are inserted together: those with rows. */
export function planOf<Row>(parts: ReadonlyMap<number, PendingRows<Row>>): BlockPlan {
  return new Map(
    [...parts].flatMap(([partition, { first, next, rows }]): [number, OffsetRange][] =>
      first === null || rows.length === 0 ? [] : [[partition, { first, last: next - 1 }]],
    ),
  );
}

/** The rows of a plan, partition by partition in the order of their numbers. */
export function rowsOf<Row>(plan: BlockPlan, rowsIn: (partition: number) => readonly Row[]): Row[] {
  return rangesOf(plan).flatMap(([partition]) => rowsIn(partition));
}

/** A row of event_rows as JSON; times are milliseconds since 1970 UTC. */
export type EventRow = {
  site_id: string;
  event_id: string;
  distinct_id: string;
  arrived_person_id: string;
  event: string;
  timestamp: number;
  received_at: number;
  original_timestamp: string | null;
  mode: string;
  action_source: string;
  caller: string;
  identify: boolean;
  email_sha256: string;
  phone_hmac: string;
  first_name_sha256: string;
  last_name_sha256: string;
  external_id_sha256: string;
  city: string;
  state: string;
  zip: string;
  country: string;
  client_ip: string;
  client_user_agent: string;
  value: number | null;
  currency: string;
  order_id: string;
  properties: string;
  raw_partition: number;
  raw_offset: number;
  raw_index: number;
  key_id: string;
  ad_storage: string;
  analytics_storage: string;
  ad_user_data: string;
  ad_personalization: string;
  consent_defaults: string;
  limited_data_use: boolean;
  historical: boolean;
  geo_country: string;
  geo_region: string;
  geo_city: string;
  browser: string;
  browser_version: string;
  os: string;
  os_version: string;
  device_type: string;
  language: string;
  screen_class: string;
  /** With all its digits. */
  visit_key: string;
  arrival: string;
};

/** A row of the table `inventory` for each element of a submission. */
export function inventoryRows({ elements, ...submission }: InventoryRecord): Record<string, unknown>[] {
  return elements.map(({ type, selector, text, href, event_hint }, position) => ({
    ...submission,
    position,
    type,
    selector,
    text,
    href: href ?? '',
    event_hint: event_hint ?? '',
  }));
}

/** The rows of delivery_outcomes that a record of delivery.outcomes becomes, one for each event. */
export function outcomeRows({
  outcomes,
  answers = [],
  ...shared
}: DeliveryOutcomes): Readonly<Record<string, unknown>>[] {
  return outcomes.map(({ answer = -1, ...one }) => {
    const { status = 0, body = '' } = answers[answer] ?? {};
    return { ...shared, ...one, answer_status: status, answer: body };
  });
}

const DAY_MS = 86_400_000;

/** Clocks and the end of a claim's period. */
const MARGIN_MS = 3_600_000;

/**
 * Whether an event may have been stored before under a claim that is forgotten by now. Of two with one id on one day the first
 * arrived a day before it happened at the earliest, as a time further ahead is replaced, and the second may be a day earlier
 * by its own time. So one that arrives two days less than the claim's time after it happened is within the claim.
 */
export function isLate(event: { timestamp: number; received_at: number }, dedupWindowMs: number): boolean {
  return event.received_at - event.timestamp >= dedupWindowMs - 2 * DAY_MS - MARGIN_MS;
}
