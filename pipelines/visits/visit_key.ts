// Which visit an event is of, as far as its sender says: a number that all events of a session have, or of a browser.

/** A text among bytes; empty where it does not begin before it ends. */
export interface Word {
  bytes: Buffer;
  start: number;
  end: number;
}

/** Ids that programs make of nothing. */
const NOBODYS = new Set(['', '0', 'null', 'undefined', 'none', 'nan', 'false', '[object object]']);
const NOBODYS_BYTES_MAX = 15;
/** A session's id of as many bytes is nobody else's; a shorter one, as GA4's time of its start, is one of its browser's. */
const OWN_BYTES = 16;

/** What an event says of whose visit it is part. */
interface VisitWords {
  session: Word;
  /** The browser or app, where it has a name beside the visitor's: a visitor who signs in on two has one on each. */
  device: Word;
  visitor: Word;
}

/**
 * A digest of 64 bits as two halves. The lowest bit says that the sender tells the sessions; else the visits of a browser are told
 * apart by pauses and campaigns. Never zero, which is no visit.
 */
export function visitKey({ session, device, visitor }: VisitWords): VisitKey {
  const isTold = !isNobodys(session);
  const whose = isNobodys(device) ? visitor : device;
  const digest = new Digest();
  if (isTold) digest.add(session);
  if (!isTold || session.end - session.start < OWN_BYTES) digest.add(whose);
  return digest.key(isTold);
}

function isNobodys({ bytes, start, end }: Word): boolean {
  if (end <= start) return true;
  return end - start <= NOBODYS_BYTES_MAX && NOBODYS.has(bytes.toString('latin1', start, end).toLowerCase());
}

interface VisitKey {
  low: number;
  high: number;
}

/** Two halves, of which neither follows from the other (cyrb53's mixing). */
class Digest {
  private one = 0xdeadbeef;
  private other = 0x41c6ce57;

  add({ bytes, start, end }: Word): void {
    let { one, other } = this;
    for (let at = start; at < end; at++) {
      const byte = bytes[at] as number;
      one = Math.imul(one ^ byte, 2_654_435_761);
      other = Math.imul(other ^ byte, 1_597_334_677);
    }
    // What follows is not one text with it.
    this.one = Math.imul(one ^ 0x100, 2_654_435_761);
    this.other = Math.imul(other ^ 0x100, 1_597_334_677);
  }

  key(isTold: boolean): VisitKey {
    let { one, other } = this;
    one = Math.imul(one ^ (one >>> 16), 2_246_822_507) ^ Math.imul(other ^ (other >>> 13), 3_266_489_909);
    other = Math.imul(other ^ (other >>> 16), 2_246_822_507) ^ Math.imul(one ^ (one >>> 13), 3_266_489_909);
    const low = ((one & ~1) | Number(isTold)) >>> 0;
    return { low: low === 0 ? 2 : low, high: other >>> 0 };
  }
}
