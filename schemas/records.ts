// The smaller records on the wire; events and settings have files of their own. Times are milliseconds since 1970 UTC.
import {
  boolean,
  bytes,
  double,
  int,
  list,
  long,
  nullable,
  optional,
  record,
  string,
  symbols,
  type ValueOf,
} from './avro.ts';

const LOG = "The cluster's id of the topic events.raw that the offset is of; empty where it is not known.";

/** Key: ACCOUNT/MONTH/PARTITION. Usage of a month is the sum over partitions. */
export const quotaUsage = record('svc.quota.QuotaUsage', 'One fact of quota.usage.', {
  account_id: string(),
  month: string('UTC month of arrival, YYYY-MM.'),
  partition: int('Partition of events.raw.'),
  used: long('Unique events settled of that partition.'),
  settled_offset: long('Next offset of events.raw to settle.'),
  settled_at: long('Arrival of the newest event in it; milliseconds since 1970 UTC.'),
  log: string(LOG, ''),
});
export type QuotaUsage = ValueOf<typeof quotaUsage>;

const quotaCount = record('QuotaCount', 'Events of one account, month and lease.', {
  account_id: string(),
  month: string('UTC month of arrival, YYYY-MM.'),
  hold: string('The lease under which the edge reserved; empty where it did not.'),
  unique: long('Events that passed.'),
  duplicate: long('Events that were dropped as duplicates.'),
  newest_at: long('Arrival of the newest of them; milliseconds since 1970 UTC.'),
});
export type QuotaCount = ValueOf<typeof quotaCount>;

/** Written in the transaction that passed its events on. The stretches of a partition follow each other. */
export const quotaCounts = record('svc.quota.QuotaCounts', 'What dedup did with a stretch of a raw partition.', {
  partition: int('Partition of events.raw; this topic has the same.'),
  next_offset: long('Next offset of events.raw behind the stretch.'),
  counts: list(quotaCount),
  log: string(LOG, ''),
});
export type QuotaCounts = ValueOf<typeof quotaCounts>;

const duplicate = record('Duplicate', 'A copy of an event that dedup dropped.', {
  site_id: string(),
  event_id: string(),
  received_at: long('Arrival of the copy at the edge, milliseconds since 1970 UTC.'),
  event: nullable(string(), 'Name of the copy.'),
  key_id: nullable(string(), "The key that the copy came with: the first 16 characters of the key's SHA-256."),
  raw_partition: int('Source position of the copy.'),
  raw_offset: long(),
  raw_index: int(),
  first_partition: int('Source position of the event that holds the claim.'),
  first_offset: long(),
  first_index: int(),
  times: int('How many copies it stands for: 2 and more where further ones of the transaction are not listed.'),
});
export type Duplicate = ValueOf<typeof duplicate>;

export const duplicates = record('svc.dedup.Duplicates', 'What dedup dropped in one transaction of a partition.', {
  duplicates: list(duplicate),
});
export type Duplicates = ValueOf<typeof duplicates>;

const platformAnswer = record('PlatformAnswer', 'What a platform answered.', {
  status: int('Of HTTP.'),
  body: string('The begin of the body, without personal data and secrets.'),
});
export type PlatformAnswer = ValueOf<typeof platformAnswer>;

const deliveryOutcome = record('DeliveryOutcome', 'What became of one event.', {
  event_id: string(),
  event: string(),
  coordinate_partition: int(),
  coordinate_offset: long(),
  coordinate_index: int(),
  outcome: symbols('Outcome', ['delivered', 'skipped', 'diverted', 'dead', 'paused']),
  reason: string('Stable code; empty when delivered.'),
  received_at: long(),
  took_ms: int('Time of the call to the platform; 0 when none was made.'),
  answer: optional(int('Place in answers of what the platform answered, from 0; -1 where there was no answer.', -1)),
});
export type DeliveryOutcome = ValueOf<typeof deliveryOutcome>;

export const deliveryOutcomes = record(
  'svc.delivery.DeliveryOutcomes',
  'Events of a site at a destination, one attempt.',
  {
    site_id: string(),
    destination: string(),
    attempt: int('From 1.'),
    attempted_at: long('Milliseconds since 1970 UTC.'),
    outcomes: list(deliveryOutcome),
    answers: optional(list(platformAnswer, 'What the platform answered, each answer once.', [])),
  },
);
export type DeliveryOutcomes = ValueOf<typeof deliveryOutcomes>;

const furtherJob = record('FurtherJob', 'Of a job for another destination than the first of its kind.', {
  destination: string('Its id in the site.'),
  due_at: long('Not before; milliseconds since 1970 UTC.'),
  waits_since: long('As that of a job for the first.'),
});

export const deliveryJob = record('svc.delivery.DeliveryJob', 'Events of a site that wait for another attempt.', {
  site_id: string(),
  attempt: int('The attempt to be made, from 2; 1 in a replay.'),
  due_at: long('Not before; milliseconds since 1970 UTC.'),
  first_attempted_at: long(),
  reason: string('Why the last attempt failed.'),
  batch: bytes('An EventBatch in the Confluent wire format.'),
  paused: optional(boolean("Whether nothing was asked, as the site's destination was in trouble.", false)),
  waits_since: optional(
    long("Begin of the attempt before: a change of the settings, or the destination's return, since makes it due.", 0),
  ),
  further: optional(
    nullable(
      furtherJob,
      'Null: for the first of its kind. Else due_at is never, so that no older process takes it for that.',
    ),
  ),
});
export type DeliveryJobRecord = ValueOf<typeof deliveryJob>;

export const deadLetter = record('svc.dead.DeadLetter', 'What a stage could not take and a person must look at.', {
  stage: string(),
  reason: string('Stable code.'),
  detail: string('Without personal data, at most 500 characters.'),
  topic: string(),
  partition: int(),
  offset: long(),
  index: int('Event in the record; -1 for the record as a whole.'),
  died_at: long(),
  bytes_total: int(),
  bytes: bytes('The value, capped.'),
  destination: optional(string('Of the delivery it died in; empty for other stages.', '')),
});
export type DeadLetter = ValueOf<typeof deadLetter>;

/** The record key says which letter; the newest of a key counts. */
export const deadResolution = record('svc.dead.DeadResolution', 'That a dead letter is done with, or open again.', {
  letter_id: string(),
  note: string('Why, without personal data, at most 500 characters; empty where it is open again.'),
  changed_by: string(),
  changed_at: long(),
  resolved: boolean(),
});
export type DeadResolution = ValueOf<typeof deadResolution>;

export const dataRead = record('svc.audit.DataRead', 'Who read data of people, and how much; never what it said.', {
  first_at: long(),
  last_at: long(),
  read_by: string('Label of the admin token, or user:ID of a user.'),
  site_id: string(),
  kind: string('What was asked: timeline, actors, sql, event, dead_letter, ...'),
  format: string('json, csv or parquet.'),
  reads: int('How many times in that time.'),
  rows: nullable(long(), 'Of all reads; null where they were not counted.'),
});
export type DataRead = ValueOf<typeof dataRead>;

/**
 * An edge (key SITE/edge/PERSON/NODE) says that a person was seen with a keyed identifier, and whether it joined them to who
 * else has it; a decision holds for ever, so the people follow from the edges in any order. A belonging (key
 * SITE/person/PERSON) says which person that one is part of now; of two, the higher version holds. A split (key
 * SITE/split/PERSON) is a belonging that somebody decided, and no belonging of a smaller version holds beside it; a cut (key
 * SITE/cut/PERSON/NODE) says that this person never follows that keyed identifier again.
 */
export const identityLink = record('svc.identity.IdentityLink', 'One fact of identity.links.', {
  site_id: string(),
  kind: symbols('LinkKind', ['edge', 'person', 'cut', 'split']),
  person_id: string('The person as derived from a distinct id.'),
  target: string('Edge and cut: HMAC of a hashed identifier. Person and split: whom it is part of, or itself.'),
  first_seen: long('Arrival of the oldest event that links the person; milliseconds since 1970 UTC.'),
  version: long(),
  decision: optional(
    symbols(
      'LinkDecision',
      ['unknown', 'joined', 'capped'],
      'Of an edge. capped: else more persons would be one than may. unknown: not noted, or a belonging.',
      'unknown',
    ),
  ),
  is_hearsay: optional(
    nullable(
      boolean(),
      "Of an edge: whether browsers' keys alone, which are public, have said so. Null: not noted, or no edge.",
    ),
  ),
});
export type IdentityLink = ValueOf<typeof identityLink>;

/** Whether it is of a person and a keyed identifier; else it says who the person is part of. */
export function isOfNode({ kind }: IdentityLink): boolean {
  return kind === 'edge' || kind === 'cut';
}

/** Record key: one fact a key, so that compaction keeps the newest of each. */
export function linkKey(link: IdentityLink): string {
  const base = `${link.site_id}/${link.kind}/${link.person_id}`;
  return isOfNode(link) ? `${base}/${link.target}` : base;
}

const inventoryElement = record('Element', 'One element of a page.', {
  type: string(),
  selector: string(),
  text: string('At most 500 characters.'),
  href: nullable(string()),
  event_hint: nullable(string()),
});
export type InventoryElement = ValueOf<typeof inventoryElement>;

export const inventory = record('svc.inventory.Inventory', 'What a tag found on a page, without personal data.', {
  site_id: string(),
  inventory_id: string('Of this submission.'),
  page: string("The page's identifier."),
  url: string(),
  title: string(),
  content_hash: string('SHA-256 of what was found, base64url.'),
  received_at: long('Milliseconds since 1970 UTC.'),
  elements: list(inventoryElement),
});
export type InventoryRecord = ValueOf<typeof inventory>;

const replayPartition = record('ReplayPartition', 'A range of offsets.', {
  partition: int(),
  first: long(),
  next: long('The next offset to be read.'),
  end: long('Behind the last offset of the range.'),
});
export type ReplayPartition = ValueOf<typeof replayPartition>;

const replayFound = record('ReplayFound', 'What counting found beside to_send.', {
  delivered: long(),
  pending: long(),
  unreadable: long(),
  skipped_before: long(),
});

/** The record key is its id; it is appended in one transaction with the jobs it counts. */
export const replayProgress = record('svc.delivery.ReplayProgress', 'How far a replay is.', {
  replay_id: string(),
  phase: symbols('ReplayPhase', ['waiting', 'counting', 'sending', 'draining', 'done', 'cancelled', 'failed']),
  detail: string('Stable code of what it waits for, or why it failed; else empty.'),
  partitions: list(replayPartition, 'Of the topic it reads.'),
  seen: long('Events of the destination and site in what was read in this phase.'),
  delivered: long('Of these, known as delivered and left out.'),
  pending: long('Of these, waiting on a retry topic and left out.'),
  unreadable: long('Records or letters that cannot be read or were cut.'),
  chosen: long('Of these, to be sent; in the phases after counting, written for delivery.'),
  to_send: nullable(long(), 'What counting found; null before its end.'),
  not_reached: long('Offsets of the range that delivery has yet to reach by itself; left out.'),
  started_at: long('Milliseconds since 1970 UTC.'),
  updated_at: long(),
  skipped_before: long(
    'Of those chosen, skipped by delivery the last time: whether they are again is decided then.',
    0,
  ),
  found: nullable(replayFound, 'Null before the end of counting, and where an older version has counted.'),
});
export type ReplayProgress = ValueOf<typeof replayProgress>;
export type ReplayPhase = ReplayProgress['phase'];

const erasedCount = record('ErasedCount', 'What was erased in one place.', {
  place: string('A table of ClickHouse, redis, or identity.links.'),
  count: long('Rows, keys or records.'),
});
const erasedSite = record('ErasedSite', 'A site that is erased as a whole.', {
  account_id: string('Whose it was.'),
  is_suppressed: boolean('Whether events of the site are dropped.'),
});
const erasureNotice = record('ErasureNotice', 'That a destination is told of the erasure of a person.', {
  destination: string('Its kind.'),
  state: symbols('ErasureNoticeState', ['pending', 'told', 'given_up']),
  sealed: nullable(string(), 'What it is told, sealed; null once it was told, or is told no more.'),
  attempt: int('Calls that were made.'),
  first_at: nullable(long(), 'When the first was made.'),
  due_at: long('When the next is due; milliseconds since 1970 UTC.'),
  reason: string('Why the last was no success, by a stable code; else empty.'),
});
export type ErasureNotice = ValueOf<typeof erasureNotice>;

/**
 * The record key is its id. It is all that is known of an erasure: what suppresses events of the person, how far it is, and the
 * receipt. Keyed hashes are of nothing else, so that they are found nowhere else.
 */
export const erasure = record('svc.persons.Erasure', 'The erasure of one person of a site, or of a whole site.', {
  erasure_id: string(),
  site_id: string(),
  phase: symbols('ErasurePhase', ['suppressing', 'draining', 'deleting', 'done']),
  detail: string('Stable code of how far it is in the phase, or what it waits for; else empty.'),
  batch: string('Erasures that are carried out together have the same; empty: it waits for its turn.'),
  round: int('From 1; one more where rows had come after they were deleted.'),
  asked_by: string('Label of the admin token, or user:ID of a user.'),
  asked_at: long('Milliseconds since 1970 UTC; what says an identifier of the person and happened later is kept.'),
  persons: list(string(), 'Keyed hashes of persons as derived from distinct ids; events of these are dropped.'),
  identifiers: list(string(), 'Keyed hashes of identifiers; older events that say one are dropped.'),
  suppressed_at: long('When the last of them was added.'),
  sealed: nullable(string(), 'What is to be erased, sealed; null once it is.'),
  erased: list(erasedCount, 'The receipt.'),
  destinations: list(string(), 'Kinds of destinations of the site when it was asked for; they may have the data.'),
  updated_at: long(),
  done_at: nullable(long()),
  site: optional(nullable(erasedSite, 'Null: of a person.')),
  notices: optional(list(erasureNotice, 'Destinations that are told.', [])),
  is_again: optional(
    boolean('Carried out once more, as rows were restored: only what has its hashes is theirs.', false),
  ),
});
export type Erasure = ValueOf<typeof erasure>;
export type ErasurePhase = Erasure['phase'];

const alertState = record('AlertState', 'What an alert was judged by so far.', {
  site_id: string(),
  alert_id: string(),
  rule: string('Digest of what it judges by; of another one nothing of the state holds.'),
  status: symbols('AlertStatus', ['waiting', 'ok', 'firing', 'paused']),
  since: long('Since when it is so; milliseconds since 1970 UTC.'),
  judged_to: long('End of the last interval that was judged, or time of the last look.'),
  met_since: nullable(long(), 'Since when its condition is met; null: it is not.'),
  well: int('Intervals or looks in a row that were well again, while it fires.'),
  value: nullable(double(), 'The last figure; null: there was none, or it cannot be said.'),
  base: nullable(double(), 'What it was compared with.'),
  from: nullable(long(), 'The interval of the figure; of a look both are its time.'),
  to: nullable(long()),
  problem: string('Stable code of why it could not be judged the last time; else empty.'),
  looked_at: long(),
});
export type AlertState = ValueOf<typeof alertState>;

const alertSend = record('AlertSend', 'That a channel is told.', {
  channel: string('Its id in the alert.'),
  kind: string('email, slack or webhook.'),
  shown: string('Where to, without the address.'),
  state: symbols('AlertSendState', ['due', 'sending', 'sent', 'given_up']),
  attempts: int('Calls that were begun.'),
  first_at: nullable(long(), 'When the first was.'),
  due_at: long('Not before; milliseconds since 1970 UTC.'),
  done_at: nullable(long(), 'When it was sent, or given up.'),
  reason: string('Why the last was no success, by a stable code; else empty.'),
  is_repeated: boolean('Whether one was begun of which the answer was lost: it may have arrived twice.'),
});
export type AlertSend = ValueOf<typeof alertSend>;

const firedAlert = record('FiredAlert', 'What an alert has said of itself, and who is told.', {
  fired_id: string('The same in every message about it.'),
  site_id: string(),
  alert_id: string(),
  name: string(),
  kind: string(),
  is: symbols('FiredIs', ['fired', 'recovered', 'test']),
  at: long('When it was found; milliseconds since 1970 UTC.'),
  from: nullable(long(), 'The interval; of a look both are its time, of a test null.'),
  to: nullable(long()),
  value: nullable(double()),
  base: nullable(double(), 'What it was compared with.'),
  condition: string('JSON, as it was then.'),
  interval: string('Of the figure; empty where it has none.'),
  detail: string('What there is to say beside the figure, such as a destination; else empty.'),
  sends: list(alertSend),
});
export type FiredAlert = ValueOf<typeof firedAlert>;

/** The record key is state/SITE/ALERT or fired/SITE/ID; exactly one of the bodies is set. */
export const alertFact = record('svc.alerts.AlertFact', 'One fact of the topic alerts.', {
  state: nullable(alertState),
  fired: nullable(firedAlert),
});
export type AlertFact = ValueOf<typeof alertFact>;
