/** The bounds on what the edge holds for requests that are under way. */
export interface GateOptions {
  /** Requests with a body open at a time. */
  requestsMax: number;
  /** Bytes of their bodies held at a time. */
  bytesMax: number;
}

/** One request's place; what it holds is given back when it leaves. */
export interface Pass {
  /** Whether so many more bytes may be held. */
  hold(bytes: number): boolean;
  /** Gives the place back; a second time does nothing. */
  leave: () => void;
}

/** Lets requests in while there is room. */
export interface Gate {
  /** A place, or null when all are taken. */
  enter(): Pass | null;
  readonly requests: number;
  readonly bytes: number;
}

/** Counts the bytes that have arrived, not those announced: a slow sender takes a place, but no room. */
export function createGate({ requestsMax, bytesMax }: GateOptions): Gate {
  let requests = 0;
  let bytes = 0;

  function pass(): Pass {
    let held = 0;
    let isIn = true;
    return {
      hold(more) {
        if (!isIn || bytes + more > bytesMax) return false;
        held += more;
        bytes += more;
        return true;
      },
      leave() {
        if (!isIn) return;
        isIn = false;
        requests -= 1;
        bytes -= held;
      },
    };
  }

  return {
    enter() {
      if (requests >= requestsMax) return null;
      requests += 1;
      return pass();
    },
    get requests() {
      return requests;
    },
    get bytes() {
      return bytes;
    },
  };
}
