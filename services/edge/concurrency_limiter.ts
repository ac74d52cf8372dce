/** The bounds on requests that are under way, and on the memory that their bodies take. */
export interface ConcurrencyLimits {
  /** Requests with a body open at a time. */
  requestsMax: number;
  /** Bytes of their bodies held in memory at a time. */
  bytesMax: number;
}

/** What one request may use; released when the request is done. */
export interface Permit {
  /** Takes so many more bytes; false where the limit does not allow them. */
  reserveBytes(bytes: number): boolean;
  /** Gives back the permit and its bytes; a second call does nothing. */
  release: () => void;
}

/** Lets requests in up to a number of them and of bytes. */
export interface ConcurrencyLimiter {
  /** A permit, or null when all are taken. */
  acquire(): Permit | null;
  readonly requests: number;
  readonly bytes: number;
}

/** Counts the bytes that have arrived, not those announced: a slow sender takes a permit, but no memory. */
export function createConcurrencyLimiter({ requestsMax, bytesMax }: ConcurrencyLimits): ConcurrencyLimiter {
  let requests = 0;
  let bytes = 0;

  function permit(): Permit {
    let reserved = 0;
    let isReleased = false;
    return {
      reserveBytes(more) {
        if (isReleased || bytes + more > bytesMax) return false;
        reserved += more;
        bytes += more;
        return true;
      },
      release() {
        if (isReleased) return;
        isReleased = true;
        requests -= 1;
        bytes -= reserved;
      },
    };
  }

  return {
    acquire() {
      if (requests >= requestsMax) return null;
      requests += 1;
      return permit();
    },
    get requests() {
      return requests;
    },
    get bytes() {
      return bytes;
    },
  };
}
