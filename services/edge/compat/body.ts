import { setImmediate as nextTurn } from 'node:timers/promises';
import { withoutByteOrderMark } from '#pipelines/intake/byte_order_mark.ts';
import {
  type KeyPlaces,
  LIST,
  type Outline,
  type OutlineRead,
  OutlineReader,
  type Piece,
} from '#pipelines/intake/compat/outline.ts';
import { type Decoded, type DecodeProblem, decompress, parseJson } from '#services/edge/decode.ts';

const GZIP_START = Buffer.from([0x1f, 0x8b]);
const FORM_START = Buffer.from('data=');
/** Form fields come from beacons, which a browser limits to 64 KiB. */
const FORM_BYTES_MAX = 512 * 1024;

/** What a stranger's body may become, however small it was sent: batches of events shrink to a tenth, seldom to less than a fortieth. */
const STRANGERS_BYTES = 256 * 1024;
const STRANGERS_GROWTH_MAX = 64;

/** Bytes that are looked through for the key of somebody who has sent so many; no more than all may send. */
export function strangersBytesMax(sentBytes: number, bytesMax: number): number {
  return Math.min(bytesMax, Math.max(STRANGERS_BYTES, STRANGERS_GROWTH_MAX * sentBytes));
}

/** A body as text, of which the key and the bounds of the calls are known. */
export interface ForeignText {
  text: Buffer;
  outline: Outline;
}

type ForeignProblem = DecodeProblem | 'body_too_complex' | 'compression_unsupported';
export type ForeignRead<T> = { ok: true; value: T } | { ok: false; code: ForeignProblem };

/**
 * Reads a body by what it is, not by what its type says: foreign clients call gzip and JSON form data, and send base64
 * in a form field. Nothing is parsed. Every step is bounded by `bytesMax`, and none holds the process for long.
 */
export async function readForeignText(
  bytes: Buffer,
  contentEncoding: string | undefined,
  places: KeyPlaces,
  bytesMax: number,
): Promise<ForeignRead<ForeignText>> {
  const plain = plainText(bytes, contentEncoding, bytesMax);
  if (!plain.ok) return plain;
  const text = withoutByteOrderMark(plain.value);
  const read = await outlineOf(text, places);
  if (read.ok) return { ok: true, value: { text, outline: read.outline } };
  return { ok: false, code: read.problem === 'not_json' ? 'body_not_json' : 'body_too_complex' };
}

/** What PostHog's older browser libraries sent: a packing of their own, whose texts unpack to any size. */
const LZ64 = /(?:^|&)compression=lz64(?:&|$)/;

/** Whether a query, or a form, says that its events are packed by lz-string. */
export const isLz64 = (form: string): boolean => LZ64.test(form);

function plainText(bytes: Buffer, contentEncoding: string | undefined, bytesMax: number): ForeignRead<Buffer> {
  const sent = decompress(bytes, contentEncoding, bytesMax);
  const plain = sent.ok ? unzipped(sent.value, bytesMax) : sent;
  if (!plain.ok || !startsWith(plain.value, FORM_START)) return plain;
  if (plain.value.length > FORM_BYTES_MAX) return { ok: false, code: 'body_too_large' };
  if (isLz64(plain.value.toString('latin1'))) return { ok: false, code: 'compression_unsupported' };
  const field = formField(plain.value);
  return field === null ? { ok: false, code: 'body_undecodable' } : unzipped(field, bytesMax);
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

/** Looked at between two turns of the process: about a millisecond's work. */
const STEP_BYTES = 256 * 1024;

async function outlineOf(text: Buffer, places: KeyPlaces): Promise<OutlineRead> {
  const reader = new OutlineReader(text, places);
  for (;;) {
    const read = reader.step(STEP_BYTES);
    if (read !== null) return read;
    await nextTurn();
  }
}

/** A text up to this size is parsed at once, whatever it holds: less than 50 ms, as is a larger piece of fewer values. */
const PARSED_BYTES_MAX = 256 * 1024;
const PIECE_BYTES_MAX = 1024 * 1024;
const PIECE_VALUES_MAX = 20_000;
/** Pieces are parsed together up to this size. */
const TOGETHER_BYTES = 128 * 1024;

/** Parses a text, a large one call by call, with other work done in between. */
export async function parseForeignText({ text, outline }: ForeignText): Promise<ForeignRead<unknown>> {
  const { members, values } = outline;
  if (text.length <= PARSED_BYTES_MAX) return parseJson(text);
  const [first] = members ?? [];
  const last = members?.at(-1);
  if (members === null || first === undefined || last === undefined) {
    return isParsable({ start: 0, end: text.length, values }) ? parseJson(text) : TOO_COMPLEX;
  }
  const around = Buffer.concat([text.subarray(0, first.start), text.subarray(last.end)]);
  const inside = members.reduce((sum, member) => sum + member.values, 0);
  if (!members.every(isParsable) || !isParsable({ start: 0, end: around.length, values: values - inside })) {
    return TOO_COMPLEX;
  }
  const body = parseJson(around);
  if (!body.ok) return body;
  const calls = await parseMembers(text, members);
  if (!calls.ok) return calls;
  if (Array.isArray(body.value)) return calls;
  return { ok: true, value: { ...(body.value as object), [LIST]: calls.value } };
}

const TOO_COMPLEX = { ok: false, code: 'body_too_complex' } as const;

function isParsable({ start, end, values }: Piece): boolean {
  const bytes = end - start;
  return bytes <= PARSED_BYTES_MAX || (bytes <= PIECE_BYTES_MAX && values <= PIECE_VALUES_MAX);
}

async function parseMembers(text: Buffer, members: readonly Piece[]): Promise<Decoded<unknown[]>> {
  const calls: unknown[] = [];
  for (let at = 0; at < members.length; ) {
    const start = members[at]?.start ?? 0;
    let end = members[at++]?.end ?? 0;
    for (; at < members.length && (members[at]?.end ?? 0) - start <= TOGETHER_BYTES; at++) end = members[at]?.end ?? 0;
    const some = parseJson(Buffer.concat([OPEN, text.subarray(start, end), CLOSE]));
    if (!some.ok) return some;
    for (const call of some.value as unknown[]) calls.push(call);
    await nextTurn();
  }
  return { ok: true, value: calls };
}

const OPEN = Buffer.from('[');
const CLOSE = Buffer.from(']');
