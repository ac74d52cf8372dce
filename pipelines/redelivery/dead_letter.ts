// Dead-letter events: their records and ids.
import type { SourcePosition } from '#schemas/event.ts';
import { createBatchWriter, type EncodedEvent } from '#schemas/event_batch.ts';
import type { DeadLetter } from '#schemas/records.ts';

/** Bytes of the record that a dead letter keeps: more than any event has, as a request's body is 256 KiB at the most. */
export const DEAD_BYTES_MAX = 512 * 1024;
const DETAIL_CHARACTERS_MAX = 500;

/** Why a record cannot be read. */
export type UnreadableReason =
  | 'wire_null'
  | 'wire_short'
  | 'wire_magic'
  | 'schema_unknown'
  | 'schema_mismatch'
  | 'avro_malformed';

/** Every reason of a dead letter, but for events that a delivery gives up. The names are on the wire. */
export type DeadReason =
  | UnreadableReason
  /** The stage's own code throws at it. */
  | 'transform_failed'
  /** The process dies whenever it takes the record. */
  | 'poison_pill'
  /** ClickHouse refuses the row. */
  | 'warehouse_refused';

interface FailedAt {
  stage: string;
  topic: string;
  partition: number;
  offset: number;
  /** Event in the record; -1 for the record as a whole. */
  index: number;
}

/** A dead letter for a record or event. `detail` must hold no personal data. */
export function createDeadLetter(
  place: FailedAt,
  reason: string,
  detail: string,
  value: Buffer | null,
  diedAtMs: number,
): DeadLetter {
  const bytes = value ?? Buffer.alloc(0);
  return {
    ...place,
    reason,
    detail: detail.slice(0, DETAIL_CHARACTERS_MAX),
    died_at: diedAtMs,
    bytes_total: bytes.length,
    bytes: bytes.subarray(0, DEAD_BYTES_MAX),
  };
}

/** A dead letter for an event that a delivery gives up; its reason is that of the event's outcome, or of the retry topics. */
export function undeliveredDeadLetter(
  destination: string,
  place: FailedAt,
  { reason, detail }: Pick<DeadLetter, 'reason' | 'detail'>,
  value: Buffer,
  diedAtMs: number,
): DeadLetter {
  return { ...createDeadLetter(place, reason, detail, value, diedAtMs), destination };
}

/** A record that kills the process whenever it is taken, with its events where they can be read. */
export interface PoisonPill {
  stage: string;
  topic: string;
  partition: number;
  offset: number;
  value: Buffer | null;
  views: readonly EncodedEvent[] | null;
  /** Where events without coordinates stand: on this topic, by their places in the record. */
  rawTopic: string;
  /** Schema id under which an event's bytes are kept. */
  schemaId: number;
}

/**
 * Its letters: one for each event, as one of them kills the process and those beside it can be sent in again; one for the
 * whole record where they cannot be read.
 */
export function poisonPillDeadLetters(pill: PoisonPill, diedAtMs: number): DeadLetter[] {
  const { stage, topic, partition, offset, value, views, rawTopic, schemaId } = pill;
  const deadLetter = (place: FailedAt, bytes: Buffer | null): DeadLetter =>
    createDeadLetter(place, 'poison_pill', '', bytes, diedAtMs);
  if (views === null || views.length === 0) return [deadLetter({ stage, topic, partition, offset, index: -1 }, value)];
  return views.map((view, index) => {
    const coordinate: SourcePosition | null =
      view.coordinate ?? (topic === rawTopic ? { partition, offset, index } : null);
    const writer = createBatchWriter(schemaId);
    writer.add(coordinate, view.personBytes, view.eventBytes);
    const place = coordinate === null ? { topic, partition, offset, index } : { topic: rawTopic, ...coordinate };
    return deadLetter({ stage, ...place }, writer.finish());
  });
}

/** Where a dead letter stands: which topic of dead letters, and where in it. */
export interface DeadLetterPosition {
  stage: string;
  partition: number;
  offset: number;
}

const FORM = /^([a-z]{1,20})-(\d{1,5})-(\d{1,15})$/;

/** The id by which an operator names a dead letter. */
export function deadLetterId({ stage, partition, offset }: DeadLetterPosition): string {
  return `${stage}-${partition}-${offset}`;
}

/** Whether a letter is of a delivery to a destination. */
export const isOfDelivery = ({ stage }: Pick<DeadLetterPosition, 'stage'>): boolean => stage === 'delivery';

/** Reads an id; null where it is none. */
export function parseDeadLetterId(id: string): DeadLetterPosition | null {
  const [, stage, partition, offset] = FORM.exec(id) ?? [];
  return stage === undefined ? null : { stage, partition: Number(partition), offset: Number(offset) };
}

/**
 * Under what it is noted that a letter was sent in again, or is resolved. The warehouse may write a letter twice, so that
 * there the record that it is about counts; other stages write it with their offset, and an event may die in them once
 * more.
 */
export function deadLetterKey(id: string, { stage, topic, partition, offset, index }: DeadLetter): string {
  return stage === 'warehouse' ? `${stage}/${topic}/${partition}/${offset}/${index}` : id;
}
