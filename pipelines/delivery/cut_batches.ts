import type { Limits, Piece } from './contract.ts';

/** Attempts that use the platform's full batch size; after them each attempt uses a tenth of the one before. */
const FULL_ATTEMPTS = 2;

/**
 * Events per request at an attempt (from 1). Batches shrink as attempts grow, so that an event to which the platform
 * answers with a server error, which asks for a retry and not for a split, soon travels alone.
 */
export function batchEventsMax(limits: Limits, attempt: number): number {
  return Math.max(1, Math.floor(limits.batchEventsMax / 10 ** Math.max(0, attempt - FULL_ATTEMPTS)));
}

/**
 * Cuts pieces into batches of one group each, in order, none above the number of events or of bytes; a piece that is
 * too large by itself makes a batch of one.
 */
export function cutBatches<P extends Piece>(pieces: readonly P[], eventsMax: number, bytesMax: number): P[][] {
  const batches: P[][] = [];
  const open = new Map<string, { batch: P[]; bytes: number }>();
  for (const piece of pieces) {
    const current = open.get(piece.group);
    const size = piece.bytes + 1;
    if (current !== undefined && current.batch.length < eventsMax && current.bytes + size <= bytesMax) {
      current.batch.push(piece);
      current.bytes += size;
    } else {
      const batch = [piece];
      batches.push(batch);
      open.set(piece.group, { batch, bytes: size });
    }
  }
  return batches;
}
