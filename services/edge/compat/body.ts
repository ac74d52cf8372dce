import { type Decoded, decompress, parseJson } from '#services/edge/decode.ts';

const GZIP_START = Buffer.from([0x1f, 0x8b]);
const FORM_START = Buffer.from('data=');

/**
 * Reads a body by what it is, not by what its type says: foreign clients call gzip and JSON form data, and send base64
 * in a form field. Every step is bounded by `bytesMax`.
 */
export function readForeignBody(
  bytes: Buffer,
  contentEncoding: string | undefined,
  bytesMax: number,
): Decoded<unknown> {
  const sent = decompress(bytes, contentEncoding, bytesMax);
  const plain = sent.ok ? unzipped(sent.value, bytesMax) : sent;
  if (!plain.ok) return plain;
  if (!startsWith(plain.value, FORM_START)) return parseJson(plain.value);
  const field = formField(plain.value);
  const inner = field === null ? null : unzipped(field, bytesMax);
  if (inner === null) return { ok: false, code: 'body_undecodable' };
  return inner.ok ? parseJson(inner.value) : inner;
}

function unzipped(bytes: Buffer, bytesMax: number): Decoded<Buffer> {
  return startsWith(bytes, GZIP_START) ? decompress(bytes, 'gzip', bytesMax) : { ok: true, value: bytes };
}

/** The field `data`: base64, or JSON as it is. */
function formField(bytes: Buffer): Buffer | null {
  const [field = ''] = bytes.toString('latin1', FORM_START.length).split('&', 1);
  try {
    const text = decodeURIComponent(field.replaceAll('+', '%20'));
    if (/^\s*[[{]/.test(text)) return Buffer.from(text, 'utf8');
    return Buffer.from(text.replaceAll(' ', '+'), 'base64');
  } catch {
    // What the decoder says of an error quotes the text.
    return null;
  }
}

function startsWith(bytes: Buffer, start: Buffer): boolean {
  return bytes.subarray(0, start.length).equals(start);
}
