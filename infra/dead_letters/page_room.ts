/** How many bytes of letters are held for one page. */
export interface PageRoom {
  /** Whether the letter at an offset is held as well: letters are, in their order, up to the one that fills the room. */
  take(offset: number, bytes: number): boolean;
  /** The offset of the letter that filled it; null while there is room. */
  readonly fullAt: number | null;
}

export function createPageRoom(bytesMax: number): PageRoom {
  let bytesLeft = bytesMax;
  let fullAt: number | null = null;
  return {
    get fullAt() {
      return fullAt;
    },
    take(offset, bytes) {
      if (fullAt !== null) return false;
      bytesLeft -= bytes;
      if (bytesLeft <= 0) fullAt = offset;
      return true;
    },
  };
}
