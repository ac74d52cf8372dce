import type { DeadLetter } from '#schemas/records.ts';

/** Bytes of the record that a dead letter keeps. */
export const DEAD_BYTES_MAX = 64 * 1024;
const DETAIL_CHARACTERS_MAX = 500;

/** Reasons that the version before wrote, and what they are called now. Its letters are there for weeks. */
const FORMER_REASONS: ReadonlyMap<string, string> = new Map([
  ['threw', 'transform_failed'],
  ['kills_process', 'poison_pill'],
]);

/** What a reason is called now, whichever version wrote it or asks for it. */
export function presentReason(reason: string): string {
  return FORMER_REASONS.get(reason) ?? reason;
}

export interface DeadPlace {
  stage: string;
  topic: string;
  partition: number;
  offset: number;
  /** Event in the record; -1 for the record as a whole. */
  index: number;
}

/** A dead letter for a record or event. `detail` must hold no personal data. */
export function deadLetter(
  place: DeadPlace,
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
