import { isAscii, isUtf8 } from 'node:buffer';
import {
  brotliDecompressSync,
  constants,
  gunzipSync,
  inflateRawSync,
  inflateSync,
  zstdDecompressSync,
} from 'node:zlib';
import { withoutByteOrderMark } from '#pipelines/intake/byte_order_mark.ts';

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
  deflate: (bytes, limits) => (hasZlibHead(bytes) ? inflateSync(bytes, limits) : inflateRawSync(bytes, limits)),
  br: brotliDecompressSync,
  zstd: (bytes, limits) => zstdDecompressSync(bytes, { ...limits, params: ZSTD_PARAMS }),
};

/** RFC 9659: no Content-Encoding needs a larger window, and a frame may ask for as much memory as its window. */
const ZSTD_PARAMS = { [constants.ZSTD_d_windowLogMax]: 23 };

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
