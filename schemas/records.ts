// The smaller records on the wire and the headers of records; events and settings have files of their own.

/** The smaller records on the wire, each as the .avsc file of its name defines it. Times are milliseconds since 1970 UTC. */

export interface QuotaUsage {
  account_id: string;
  /** UTC month of arrival, YYYY-MM. */
  month: string;
  /** Partition of events.raw. */
  partition: number;
  used: number;
  settled_offset: number;
  /** The cluster's id of the topic that the offset is of; empty where it is not known. */
  log: string;
  settled_at: number;
}

export interface QuotaCount {
  account_id: string;
  month: string;
  /** The lease under which the edge reserved; empty where it did not. */
  hold: string;
  unique: number;
  duplicate: number;
  newest_at: number;
}

/** What dedup did with an offset range of one partition of events.raw. */
export interface QuotaCounts {
  partition: number;
  next_offset: number;
  /** The cluster's id of the topic that the offset is of; empty where it is not known. */
  log: string;
  counts: QuotaCount[];
}

/** A copy of an event that dedup dropped. */
export interface Duplicate {
  site_id: string;
  event_id: string;
  received_at: number;
  /** What the copy is called. */
  event: string | null;
  key_id: string | null;
  raw_partition: number;
  raw_offset: number;
  raw_index: number;
  /** Source position of the event that holds the claim. */
  first_partition: number;
  first_offset: number;
  first_index: number;
  /** How many copies it stands for. */
  times: number;
}

/** What dedup dropped in one transaction. */
export interface Duplicates {
  duplicates: Duplicate[];
}

/** What a platform answered: the begin of it, without personal data and secrets. */
export interface PlatformAnswer {
  /** Of HTTP. */
  status: number;
  body: string;
}

export interface DeliveryOutcome {
  event_id: string;
  event: string;
  coordinate_partition: number;
  coordinate_offset: number;
  coordinate_index: number;
  outcome: 'delivered' | 'skipped' | 'diverted' | 'dead' | 'paused';
  reason: string;
  received_at: number;
  took_ms: number;
  /** Place in `answers` of what the platform answered; -1 or absent where there was no answer. */
  answer?: number;
}

export interface DeliveryOutcomes {
  site_id: string;
  destination: string;
  attempt: number;
  attempted_at: number;
  outcomes: DeliveryOutcome[];
  /** Each answer once; absent in records of versions that did not keep them. */
  answers?: PlatformAnswer[];
}

export interface DeliveryJobRecord {
  site_id: string;
  attempt: number;
  due_at: number;
  first_attempted_at: number;
  reason: string;
  /** An EventBatch in the Confluent wire format. */
  batch: Buffer;
  /** Whether nothing was asked, as the site's destination was in trouble. */
  paused?: boolean;
  /** When the attempt began after which it was written; a change of the site's settings after that, or its destination's return, makes it due at once. */
  waits_since?: number;
}

export interface DeadLetter {
  stage: string;
  reason: string;
  detail: string;
  topic: string;
  partition: number;
  offset: number;
  index: number;
  died_at: number;
  bytes_total: number;
  bytes: Buffer;
  /** Of the delivery it died in; empty or absent for other stages. */
  destination?: string;
}

/** That somebody is done with a dead letter, or that it is open again. */
export interface DeadResolution {
  letter_id: string;
  note: string;
  changed_by: string;
  changed_at: number;
  resolved: boolean;
}

/** That somebody read data of people: how often and how much, never what it said. */
export interface DataRead {
  first_at: number;
  last_at: number;
  read_by: string;
  site_id: string;
  /** What was asked: `timeline`, `sql`, `event`, `dead_letter`, ... */
  kind: string;
  format: string;
  reads: number;
  /** Of all reads; null where they were not counted. */
  rows: number | null;
}

/** One fact of identity.links, as schemas/identity_link.avsc defines it. */
export interface IdentityLink {
  site_id: string;
  kind: 'edge' | 'person' | 'cut' | 'split';
  person_id: string;
  target: string;
  first_seen: number;
  version: number;
  /** Of an edge: whether its node was followed. Absent or unknown where nobody wrote it down, and of a belonging. */
  decision?: LinkDecision;
}

type LinkDecision = 'unknown' | 'joined' | 'capped';

/** Whether it is of a person and a keyed identifier; else it says who the person is part of. */
export function isOfNode({ kind }: IdentityLink): boolean {
  return kind === 'edge' || kind === 'cut';
}

/** Record key: one fact a key, so that compaction keeps the newest of each. */
export function linkKey(link: IdentityLink): string {
  const base = `${link.site_id}/${link.kind}/${link.person_id}`;
  return isOfNode(link) ? `${base}/${link.target}` : base;
}

/** One element of a page, as schemas/inventory.avsc has it. */
export interface InventoryElement {
  type: string;
  selector: string;
  text: string;
  href: string | null;
  event_hint: string | null;
}

/** A record of the topic `inventory`: what a tag found on one page. Times are milliseconds since 1970 UTC. */
export interface InventoryRecord {
  site_id: string;
  inventory_id: string;
  page: string;
  url: string;
  title: string;
  content_hash: string;
  received_at: number;
  elements: InventoryElement[];
}

/** How far a replay is, as replay_progress.avsc defines it. */
export type ReplayPhase = 'waiting' | 'counting' | 'sending' | 'draining' | 'done' | 'cancelled' | 'failed';

export interface ReplayPartition {
  partition: number;
  first: number;
  /** The next offset to be read. */
  next: number;
  /** Behind the last offset of the range. */
  end: number;
}

export interface ReplayProgress {
  replay_id: string;
  phase: ReplayPhase;
  /** Stable code of what it waits for, or why it failed; else empty. */
  detail: string;
  partitions: ReplayPartition[];
  /** Events of the destination and site in what was read in this phase. */
  seen: number;
  /** Of these, known as delivered and left out. */
  delivered: number;
  /** Of these, waiting on a lane and left out. */
  pending: number;
  /** Records or letters that cannot be read or were cut. */
  unreadable: number;
  /** Of these, to be sent; in the phases after counting, written for delivery. */
  chosen: number;
  /** What counting found; null before its end. */
  to_send: number | null;
  /** Offsets of the range that delivery has yet to reach by itself; left out. */
  not_reached: number;
  /** Milliseconds since 1970 UTC. */
  started_at: number;
  updated_at: number;
  /** Of those chosen, skipped by delivery the last time: whether they are skipped again is decided when they are sent. */
  skipped_before: number;
  /** What counting found beside `to_send`; null before its end, and of a replay that an older version has counted. */
  found: ReplayFound | null;
}

interface ReplayFound {
  delivered: number;
  pending: number;
  unreadable: number;
  skipped_before: number;
}

/** Headers of a record as a client reads them. */
type RecordHeaders = Readonly<Record<string, Buffer | string | (Buffer | string)[] | undefined>>;

/** Against which account a record of events.raw counts, and under which lease its events were reserved. */
export interface Reserved {
  accountId: string;
  /** Empty where nothing was reserved. */
  lease: string;
}

const ACCOUNT = 'account';
/** The name on the wire is older than the word lease. */
const LEASE = 'hold';

/** The headers of a record of events.raw. */
export function reservedHeaders(accountId: string, lease: string): Record<string, string> {
  return { [ACCOUNT]: accountId, [LEASE]: lease };
}

/** Reads the headers of a record of events.raw; null where no edge has written them. */
export function readReserved(headers: RecordHeaders): Reserved | null {
  const accountId = textOf(headers[ACCOUNT]);
  return accountId === '' ? null : { accountId, lease: textOf(headers[LEASE]) };
}

function textOf(value: RecordHeaders[string]): string {
  if (value === undefined || Array.isArray(value)) return '';
  return typeof value === 'string' ? value : value.toString('utf8');
}
