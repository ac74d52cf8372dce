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
  /** Coordinate of the event that holds the claim. */
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
