import type { Piece } from './contract.ts';

/** What stands around the forms of a request's events in its JSON body. */
export interface Envelope {
  /** The body with these events in it. */
  around(pieces: readonly Piece[]): string;
  /** Bytes of the body without any event. */
  bytes: number;
}

/** @param before the text up to the first form, `after` that behind the last. */
export const envelope = (before: string, after: string): Envelope => ({
  around: (pieces) => before + joined(pieces) + after,
  bytes: Buffer.byteLength(before + after),
});

/** The forms as the inside of a JSON list. */
export const joined = (pieces: readonly Piece[]): string => pieces.map((piece) => piece.json).join(',');
