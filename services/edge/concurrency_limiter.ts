// Bounds on requests that are under way and on the memory of their bodies; each request has a permit.

import { isIPv4 } from 'node:net';
import { clientAddress, type HttpRequestIn, type HttpServer } from '#infra/http/http_server.ts';
import { networkOf } from '#pipelines/privacy/ip_addresses.ts';
import { refuse } from './errors.ts';

/** The bounds on requests that are under way, and on the memory that their bodies take. */
export interface ConcurrencyLimits {
  /** Requests with a body open at a time. */
  requestsMax: number;
  /** Bytes of their bodies held in memory at a time. */
  bytesMax: number;
}

/** What one request may use; released when the request is done. */
export interface Permit {
  /** Its sender has shown a valid key: it takes no more of what anonymous callers share. */
  know(): void;
  /** Begins its body; false where anonymous callers have as many under way as they may, and it is one of theirs. */
  begin(): boolean;
  /** Takes so many more bytes; false where the limit does not allow them. */
  reserveBytes(bytes: number): boolean;
  /** Whether others may soon need what it holds. */
  isWanted(): boolean;
  /** Gives back the permit and its bytes; a second call does nothing. */
  release: () => void;
}

/** Lets requests in up to a number of them and of bytes. */
export interface ConcurrencyLimiter {
  /** A permit, or null when all are taken, or all that a network may have; of no network: it shares with nobody. */
  acquire(network?: string | null): Permit | null;
  readonly requests: number;
  readonly bytes: number;
}

/** What one network may have of all; what those whose key is not known yet may; and what one network of theirs. */
const NETWORK_SHARE = 1 / 4;
const ANONYMOUS_SHARE = 1 / 4;
const STRANGERS_NETWORK_SHARE = 1 / 16;
const WANTED_FROM = 1 / 2;

interface Pool {
  requests: number;
  bytes: number;
  readonly share: number;
}

interface Network {
  all: Pool;
  anonymousLimiter: Pool;
  permits: number;
}

/**
 * Counts the bytes that have arrived, not those announced: a slow sender takes a permit, but no memory. Nobody can take all:
 * bodies that stall leave the rest to others, and those without a key most of it to those with one.
 */
export function createConcurrencyLimiter({ requestsMax, bytesMax }: ConcurrencyLimits): ConcurrencyLimiter {
  const all = poolOf(1);
  const anonymousLimiter = poolOf(ANONYMOUS_SHARE);
  const networks = new Map<string, Network>();

  const isFull = ({ requests, share }: Pool): boolean =>
    requests >= Math.max(Math.min(1, requestsMax), Math.floor(requestsMax * share));
  const holds = ({ bytes, share }: Pool, more: number): boolean => bytes + more <= bytesMax * share;
  const isHalfUsed = ({ requests, bytes, share }: Pool): boolean =>
    requests > requestsMax * share * WANTED_FROM || bytes > bytesMax * share * WANTED_FROM;

  function join(name: string): Network {
    const network = networks.get(name) ?? {
      all: poolOf(NETWORK_SHARE),
      anonymousLimiter: poolOf(STRANGERS_NETWORK_SHARE),
      permits: 0,
    };
    network.permits += 1;
    networks.set(name, network);
    return network;
  }

  function permit(name: string | null): Permit {
    const network = name === null ? null : join(name);
    const own: Pool[] = network === null ? [all] : [all, network.all];
    const asAnonymous: Pool[] = network === null ? [anonymousLimiter] : [anonymousLimiter, network.anonymousLimiter];
    let reserved = 0;
    let isAnonymous = true;
    let hasBegun = false;
    let isReleased = false;
    take(own, 1, 0);

    function leaveAnonymous(): void {
      if (isAnonymous && hasBegun) take(asAnonymous, -1, -reserved);
      isAnonymous = false;
    }

    return {
      know() {
        if (!isReleased) leaveAnonymous();
      },
      begin() {
        if (isReleased || (isAnonymous && asAnonymous.some(isFull))) return false;
        if (isAnonymous && !hasBegun) take(asAnonymous, 1, 0);
        hasBegun = true;
        return true;
      },
      reserveBytes(more) {
        const pools = isAnonymous && hasBegun ? [...own, ...asAnonymous] : own;
        if (isReleased || !pools.every((pool) => holds(pool, more))) return false;
        reserved += more;
        take(pools, 0, more);
        return true;
      },
      isWanted: () => [...own, ...(isAnonymous ? asAnonymous : [])].some(isHalfUsed),
      release() {
        if (isReleased) return;
        leaveAnonymous();
        isReleased = true;
        take(own, -1, -reserved);
        if (network !== null && --network.permits === 0 && name !== null) networks.delete(name);
      },
    };
  }

  return {
    acquire(name = null) {
      const network = name === null ? undefined : networks.get(name);
      if (isFull(all) || (network !== undefined && isFull(network.all))) return null;
      return permit(name);
    },
    get requests() {
      return all.requests;
    },
    get bytes() {
      return all.bytes;
    },
  };
}

function poolOf(share: number): Pool {
  return { requests: 0, bytes: 0, share };
}

function take(pools: readonly Pool[], requests: number, bytes: number): void {
  for (const pool of pools) {
    pool.requests += requests;
    pool.bytes += bytes;
  }
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Undefined where it brings no events. */
    permit: Permit | undefined;
  }
}

/**
 * Gives what may bring events a permit for as long as its handler runs, and refuses it where none is left.
 *
 * @param isExempt Whether an address has no share of its own, such as that of a proxy of ours.
 */
export function givePermits(
  app: HttpServer,
  limiter: ConcurrencyLimiter,
  bringsEvents: (request: HttpRequestIn) => boolean,
  isExempt: (clientIp: string) => boolean,
): void {
  app.decorateRequest('permit', undefined);
  app.addHook('onRequest', (request, reply, done) => {
    if (!bringsEvents(request)) {
      done();
      return;
    }
    const address = clientAddress(request);
    const permit = limiter.acquire(isExempt(address) ? null : subnetOf(address));
    if (permit === null) {
      refuse(reply, 'overloaded');
      return;
    }
    request.permit = permit;
    done();
  });
  // Not when the connection ends: what it sent is held until its handler is done, and a response that waits behind
  // another one is never told of the end.
  app.addHook('onSend', (request, _reply, payload, done) => {
    request.permit?.release();
    done(null, payload);
  });
}

/** What one sender may have of addresses at once: a /24, or a /64. */
function subnetOf(clientIp: string): string {
  return isIPv4(clientIp) ? clientIp.slice(0, clientIp.lastIndexOf('.')) : networkOf(clientIp);
}
