import type { IncomingMessage } from 'node:http';
import type { HttpRequestIn } from '#infra/http/http_server.ts';
import type { Permit } from './concurrency_limiter.ts';
import type { EdgeErrorCode } from './errors.ts';

/** The body cannot be taken; `code` is of the edge's table. */
export class PayloadError extends Error {
  readonly code: EdgeErrorCode;

  constructor(code: EdgeErrorCode) {
    super(code);
    this.code = code;
  }
}

/** Whether a body came with the request; without one nobody has asked for its content type. */
export function hasBody(request: HttpRequestIn): boolean {
  return request.body !== undefined && request.body !== null;
}

/** A body that arrives more slowly gives way where others may need its place: so much in a second, after some seconds. */
const BYTES_PER_S_MIN = 1024;
const PATIENCE_S = 5;
const LOOK_MS = 1000;

type Done = (error: Error | null, body?: Buffer) => void;

/** Collects a body as it is, up to `bytesMax`, each chunk against the request's permit. */
export function payloadReader(
  bytesMax: number,
  permitOf: (request: HttpRequestIn) => Permit | undefined,
): (request: HttpRequestIn, payload: IncomingMessage, done: Done) => void {
  return (request, payload, done) => {
    const announced = Number(request.headers['content-length'] ?? 0);
    const permit = permitOf(request);
    if (announced > bytesMax) done(new PayloadError('body_too_large'));
    else if (permit?.begin() === false) done(new PayloadError('overloaded'));
    else collect(payload, bytesMax, permit, done);
  };
}

function collect(payload: IncomingMessage, bytesMax: number, permit: Permit | undefined, done: Done): void {
  const chunks: Buffer[] = [];
  let bytes = 0;
  let seconds = 0;

  /** Stalls are counted in looks: what the process was held up by itself is nobody's fault. */
  const looking = setInterval(() => {
    seconds += LOOK_MS / 1000;
    if (bytes < (seconds - PATIENCE_S) * BYTES_PER_S_MIN && permit?.isWanted() === true)
      end(new PayloadError('overloaded'));
  }, LOOK_MS).unref();

  function end(error: Error | null): void {
    clearInterval(looking);
    payload.off('data', onData).off('end', onEnd).off('error', onBroken).off('close', onBroken);
    if (error !== null) done(error);
    // One chunk may be a view of the socket's buffer, which is used again: always a copy.
    else done(null, Buffer.concat(chunks, bytes));
  }
  function onData(chunk: Buffer): void {
    bytes += chunk.length;
    if (bytes > bytesMax) end(new PayloadError('body_too_large'));
    else if (permit !== undefined && !permit.reserveBytes(chunk.length)) end(new PayloadError('overloaded'));
    else chunks.push(chunk);
  }
  const onEnd = (): void => end(null);
  /** The connection is gone, or what came is not HTTP. */
  const onBroken = (): void => end(new PayloadError('request_malformed'));

  payload.on('data', onData).on('end', onEnd).on('error', onBroken).on('close', onBroken);
}
