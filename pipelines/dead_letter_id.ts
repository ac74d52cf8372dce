import type { DeadLetter } from '#schemas/records.ts';

/** Where a dead letter stands: which topic of dead letters, and where in it. */
export interface LetterPlace {
  stage: string;
  partition: number;
  offset: number;
}

const FORM = /^([a-z]{1,20})-(\d{1,5})-(\d{1,15})$/;

/** The id by which an operator names a dead letter. */
export function letterId({ stage, partition, offset }: LetterPlace): string {
  return `${stage}-${partition}-${offset}`;
}

/** Whether a letter is of a delivery to a destination. */
export const isOfDelivery = ({ stage }: Pick<LetterPlace, 'stage'>): boolean => stage === 'delivery';

/** Reads an id; null where it is none. */
export function parseLetterId(id: string): LetterPlace | null {
  const [, stage, partition, offset] = FORM.exec(id) ?? [];
  return stage === undefined ? null : { stage, partition: Number(partition), offset: Number(offset) };
}

/**
 * Under what it is noted that a letter was sent in again, or is resolved. The warehouse may write a letter twice, so that there the record
 * that it is about counts; other stages write it with their offset, and an event may die in them once more.
 */
export function letterKey(id: string, { stage, topic, partition, offset, index }: DeadLetter): string {
  return stage === 'warehouse' ? `${stage}/${topic}/${partition}/${offset}/${index}` : id;
}
