// How the body of a request is read: in its turn, collected against its permit, decompressed, parsed.

import { isAscii, isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import {
  brotliDecompressSync,
  constants,
  gunzipSync,
  inflateRawSync,
  inflateSync,
  zstdDecompressSync,
} from 'node:zlib';
import type { HttpRequestIn } from '#infra/http/http_server.ts';
import { zlibOutput } from '#infra/zlib_output.ts';
import { withoutByteOrderMark } from '#pipelines/intake/json_text.ts';
import type { Permit } from './concurrency_limiter.ts';
import { PayloadError } from './errors.ts';

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
): (request: HttpRequestIn, payload: IncomingMessage, done: Done) => void {
  /** Looks at each body that is arriving: one timer for all, as most have arrived before it is first looked at. */
  const arriving = new Set<() => void>();
  setInterval(() => {
    for (const look of arriving) look();
  }, LOOK_MS).unref();
  return (request, payload, done) => {
    const announced = Number(request.headers['content-length'] ?? 0);
    const { permit } = request;
    if (announced > bytesMax) done(new PayloadError('body_too_large'));
    else if (permit?.begin() === false) done(new PayloadError('overloaded'));
    else collect(payload, bytesMax, permit, arriving, done);
  };
}

function collect(
  payload: IncomingMessage,
  bytesMax: number,
  permit: Permit | undefined,
  arriving: Set<() => void>,
  done: Done,
): void {
  const chunks: Buffer[] = [];
  let bytes = 0;
  let seconds = 0;

  /** Stalls are counted in looks: what the process was held up by itself is nobody's fault. */
  function look(): void {
    seconds += LOOK_MS / 1000;
    if (bytes < (seconds - PATIENCE_S) * BYTES_PER_S_MIN && permit?.isWanted() === true)
      end(new PayloadError('overloaded'));
  }

  function end(error: Error | null): void {
    arriving.delete(look);
    payload.off('data', onData).off('end', onEnd).off('error', onBroken).off('close', onBroken);
    if (error !== null) done(error);
    else done(null, joined(chunks, bytes));
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

  arriving.add(look);
  payload.on('data', onData).on('end', onEnd).on('error', onBroken).on('close', onBroken);
}

/** Chunks in one buffer. Node's parser gives each a buffer of its own; what is a view of another may be written over, and is copied. */
export function joined(chunks: readonly Buffer[], bytes: number): Buffer {
  const [only] = chunks;
  const isOwn = only !== undefined && chunks.length === 1 && only.byteLength === only.buffer.byteLength;
  return isOwn ? only : Buffer.concat(chunks, bytes);
}

/** Counts after decompression, and decompression stops there. */
export const BODY_BYTES_MAX = 256 * 1024;

/** Why bytes are not what they are said to be; each is a code of the edge's table. */
export type DecodeProblem = 'content_encoding_unsupported' | 'body_too_large' | 'body_undecodable' | 'body_not_json';

export type Decoded<T> = { ok: true; value: T } | { ok: false; code: DecodeProblem };

type Decoder = (bytes: Buffer, limits: { maxOutputLength: number }) => Buffer;

const DECODERS: Record<string, Decoder> = {
  identity: (bytes) => bytes,
  '': (bytes) => bytes,
  gzip: decodeGzip,
  'x-gzip': decodeGzip,
  deflate: (bytes, limits) => wholeOf(hasZlibHead(bytes) ? inflateSync : inflateRawSync, bytes, limits),
  br: (bytes, limits) => wholeOf(brotliDecompressSync, bytes, limits),
  zstd: decodeZstd,
};

type Inflater = (bytes: Buffer, options: { maxOutputLength: number }) => Buffer;

/** Node leaves out what stands behind the first stream, and says nothing: of two bodies one would be acknowledged as both. */
function wholeOf(inflate: Inflater, bytes: Buffer, limits: { maxOutputLength: number }): Buffer {
  const { output, bytesRead } = zlibOutput(inflate, bytes, limits);
  if (bytesRead !== bytes.length) throw new Error('bytes behind the end');
  return output;
}

/** Node reads all members of a gzip file (RFC 1952, 2.2). */
function decodeGzip(bytes: Buffer, limits: { maxOutputLength: number }): Buffer {
  return zlibOutput(gunzipSync, bytes, limits).output;
}

/** RFC 9659: no Content-Encoding needs a larger window, and a frame may ask for as much memory as its window. */
const ZSTD_PARAMS = { [constants.ZSTD_d_windowLogMax]: 23 };
/** A decoder for each: a body of thousands of empty ones would take a second. */
const ZSTD_FRAMES_MAX = 16;

/** RFC 8878, 3: several frames one after the other are one content. Node reads the first alone. */
function decodeZstd(bytes: Buffer, { maxOutputLength }: { maxOutputLength: number }): Buffer {
  const read: Buffer[] = [];
  let [at, length] = [0, 0];
  do {
    if (read.length === ZSTD_FRAMES_MAX) throw new Error('too many frames');
    // Of a limit of 0 Node thinks nothing.
    const limits = { maxOutputLength: Math.max(1, maxOutputLength - length), params: ZSTD_PARAMS };
    const { output, bytesRead } = zlibOutput(zstdDecompressSync, bytes.subarray(at), limits);
    read.push(output);
    length += output.length;
    at += bytesRead;
  } while (at < bytes.length);
  return read.length === 1 ? (read[0] as Buffer) : Buffer.concat(read, length);
}

/** RFC 1950; some clients send deflate without it, as RFC 9110 notes. */
function hasZlibHead(bytes: Buffer): boolean {
  const [first = 0, second = 0] = bytes;
  return (first & 0x0f) === 8 && ((first << 8) | second) % 31 === 0;
}

/** Undoes a Content-Encoding; decompression stops at `bytesMax`. */
export function decompress(bytes: Buffer, contentEncoding: string | undefined, bytesMax: number): Decoded<Buffer> {
  const name = (contentEncoding ?? '').trim().toLowerCase();
  const decoder = Object.hasOwn(DECODERS, name) ? DECODERS[name] : undefined;
  if (decoder === undefined) return { ok: false, code: 'content_encoding_unsupported' };
  try {
    const value = decoder(bytes, { maxOutputLength: bytesMax });
    return value.length > bytesMax ? { ok: false, code: 'body_too_large' } : { ok: true, value };
  } catch (error) {
    const { code } = error as { code?: unknown };
    return { ok: false, code: code === 'ERR_BUFFER_TOO_LARGE' ? 'body_too_large' : 'body_undecodable' };
  }
}

/** Parses JSON in UTF-8. What the parser says of an error quotes the text, so only the fact is kept. */
export function parseJson(bytes: Buffer): Decoded<unknown> {
  if (!isUtf8(bytes)) return { ok: false, code: 'body_not_json' };
  try {
    const text = withoutByteOrderMark(bytes);
    return { ok: true, value: JSON.parse(text.toString(isAscii(text) ? 'latin1' : 'utf8')) };
  } catch {
    return { ok: false, code: 'body_not_json' };
  }
}

/** The bytes of a body as they came; none where there is no body. */
export function sentBytes({ body }: HttpRequestIn): Buffer {
  return Buffer.isBuffer(body) ? body : Buffer.alloc(0);
}

/** @throws PayloadError where it could not be decoded. */
export function decoded<T>(read: Decoded<T>): T {
  if (!read.ok) throw new PayloadError(read.code);
  return read.value;
}

/** A body with its Content-Encoding undone, of which the permit of its request holds all. Throws PayloadError where it may not. */
export function unpackedBody(request: HttpRequestIn, bytesMax: number): Decoded<Buffer> {
  const read = decompress(sentBytes(request), request.headers['content-encoding'], bytesMax);
  if (read.ok) reserveGrowth(request, read.value);
  return read;
}

/** Takes from the request's permit what its body has become more by decompression. Throws PayloadError where that is not to be had. */
export function reserveGrowth(request: HttpRequestIn, body: Buffer): void {
  const growth = body.length - sentBytes(request).length;
  if (growth > 0 && request.permit?.reserveBytes(growth) === false) throw new PayloadError('overloaded');
}

/** The bytes of a body with its Content-Encoding undone, as many as the API allows. Throws PayloadError. */
export function sentBody(request: HttpRequestIn): Buffer {
  return decoded(unpackedBody(request, BODY_BYTES_MAX));
}

/** A body as JSON. Throws PayloadError. */
export const sentJson = (request: HttpRequestIn): unknown => decoded(parseJson(sentBody(request)));

type MultipartRead =
  | { ok: true; fields: [name: string, value: string][] }
  | { ok: false; reason: 'too_many' | 'malformed' };

const MULTIPART = /^multipart\/form-data\b/i;

export const isMultipart = (type: string): boolean => MULTIPART.test(type);

/** The fields of a body of `multipart/form-data`, in the order in which they came; files are left out. */
export async function readMultipart(body: Buffer, type: string, partsMax: number): Promise<MultipartRead> {
  if (partsOf(body, type) > partsMax) return { ok: false, reason: 'too_many' };
  try {
    const form = await new Response(Uint8Array.from(body), { headers: { 'content-type': type } }).formData();
    return { ok: true, fields: [...form].filter((pair): pair is [string, string] => typeof pair[1] === 'string') };
  } catch {
    // What the reader says of a form that is none may quote it.
    return { ok: false, reason: 'malformed' };
  }
}

/** Counted before the form is taken apart. */
function partsOf(body: Buffer, type: string): number {
  const boundary = /;\s*boundary="?([^";]{1,70})/i.exec(type)?.[1];
  if (boundary === undefined) return 0;
  let parts = 0;
  for (let at = body.indexOf(boundary); at >= 0; at = body.indexOf(boundary, at + boundary.length)) parts += 1;
  return parts;
}

/** A turn that was taken. To end it twice is to end it once. */
export interface BodyTurn {
  end(): void;
}

/**
 * Turns of bodies to be read. What is read of a body waits for Redis to admit it, in some hundred objects an event: more than so many
 * bytes at once, and collecting garbage costs more than anything else of an event, while bodies themselves cost next to nothing
 * there. A body beyond all that goes alone.
 *
 * @param bytesMax Of bodies that are read at once.
 */
export function createBodyTurns(bytesMax: number) {
  let taken = 0;
  const waiting: { bytes: number; begin(): void }[] = [];

  const isRoomFor = (bytes: number): boolean => taken === 0 || taken + bytes <= bytesMax;

  function begin(bytes: number): BodyTurn {
    taken += bytes;
    let isOver = false;
    return {
      end() {
        if (isOver) return;
        isOver = true;
        taken -= bytes;
        for (let next = waiting[0]; next !== undefined && isRoomFor(next.bytes); next = waiting[0]) {
          waiting.shift();
          next.begin();
        }
      },
    };
  }

  return {
    /** Takes a turn behind all that wait for one. */
    take(bytes: number): BodyTurn | Promise<BodyTurn> {
      if (waiting.length === 0 && isRoomFor(bytes)) return begin(bytes);
      return new Promise((resolve) => waiting.push({ bytes, begin: () => resolve(begin(bytes)) }));
    },
  };
}
