import { isAscii, isUtf8 } from 'node:buffer';
import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib';

/** SPEC section 8; counts after decompression, and decompression stops there. */
export const BODY_BYTES_MAX = 256 * 1024;

/** Why bytes are not what they are said to be; each is a code of the edge's table. */
export type DecodeProblem = 'content_encoding_unsupported' | 'body_too_large' | 'body_undecodable' | 'body_not_json';

export type Decoded<T> = { ok: true; value: T } | { ok: false; code: DecodeProblem };

type Decoder = (bytes: Buffer, limits: { maxOutputLength: number }) => Buffer;

const DECODERS: Record<string, Decoder> = {
  identity: (bytes) => bytes,
  '': (bytes) => bytes,
  gzip: gunzipSync,
  'x-gzip': gunzipSync,
  deflate: inflateSync,
  br: brotliDecompressSync,
};

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
    return { ok: true, value: JSON.parse(bytes.toString(isAscii(bytes) ? 'latin1' : 'utf8')) };
  } catch {
    return { ok: false, code: 'body_not_json' };
  }
}
