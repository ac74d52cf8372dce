import { isAscii, isUtf8 } from 'node:buffer';
import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib';
import type { EdgeErrorCode } from './errors.ts';

/** SPEC section 8; counts after decompression, and decompression stops there. */
export const BODY_BYTES_MAX = 256 * 1024;

export type BodyRead = { ok: true; body: unknown } | { ok: false; code: EdgeErrorCode };

const DECODERS: Record<string, (bytes: Buffer) => Buffer> = {
  identity: (bytes) => bytes,
  gzip: (bytes) => gunzipSync(bytes, { maxOutputLength: BODY_BYTES_MAX }),
  'x-gzip': (bytes) => gunzipSync(bytes, { maxOutputLength: BODY_BYTES_MAX }),
  deflate: (bytes) => inflateSync(bytes, { maxOutputLength: BODY_BYTES_MAX }),
  br: (bytes) => brotliDecompressSync(bytes, { maxOutputLength: BODY_BYTES_MAX }),
};

/** Decompresses and parses a request body. */
export function readBody(bytes: Buffer, contentEncoding: string | undefined): BodyRead {
  const decoder = DECODERS[(contentEncoding ?? 'identity').trim().toLowerCase()];
  if (decoder === undefined) return { ok: false, code: 'content_encoding_unsupported' };
  const decoded = decompress(bytes, decoder);
  if (!Buffer.isBuffer(decoded)) return { ok: false, code: decoded };
  return parse(decoded);
}

function decompress(bytes: Buffer, decoder: (bytes: Buffer) => Buffer): Buffer | EdgeErrorCode {
  try {
    return decoder(bytes);
  } catch (error) {
    const code = (error as { code?: unknown }).code;
    return code === 'ERR_BUFFER_TOO_LARGE' ? 'body_too_large' : 'body_undecodable';
  }
}

function parse(bytes: Buffer): BodyRead {
  if (!isUtf8(bytes)) return { ok: false, code: 'body_not_json' };
  try {
    return { ok: true, body: JSON.parse(bytes.toString(isAscii(bytes) ? 'latin1' : 'utf8')) };
  } catch {
    // What JSON.parse says quotes the body.
    return { ok: false, code: 'body_not_json' };
  }
}
