import { ACTION_SOURCES, type Caller, type Identifiers, type SiteMode } from '#schemas/event.ts';
import type { EntryView } from '#schemas/event_batch.ts';
import { IDENTIFIER_FIELDS } from '#schemas/event_encoder.ts';
import { type Cursor, MalformedError, readLong } from '#schemas/varint.ts';
import { ColumnStream, lengthBytes } from './column_stream.ts';

const SITE_MODES: readonly SiteMode[] = ['online', 'offline'];
const CALLERS: readonly Caller[] = ['browser', 'server'];

const STORED_IDENTIFIERS: readonly (keyof Identifiers)[] = ['email', 'first_name', 'last_name', 'external_id'];

/** The keyed hash of a site's phone number, which is given as its bare SHA-256. */
export type PhoneHmac = (siteId: string, sha256: string) => string;

/** Reads a value of the event, and writes what the row has of it into its column. */
type Copy = (from: Cursor, siteId: string, phoneHmac: PhoneHmac) => void;

/** A column of event_rows: its type in the Native format, and its streams of bytes, beginning with the null map. */
interface Column {
  name: string;
  type: string;
  streams: readonly ColumnStream[];
}

const COLUMNS: Column[] = [];

function column(name: string, type: string): ColumnStream {
  const stream = new ColumnStream();
  COLUMNS.push({ name, type, streams: [stream] });
  return stream;
}

function nullable(name: string, type: string): [nulls: ColumnStream, values: ColumnStream] {
  const streams: [ColumnStream, ColumnStream] = [new ColumnStream(), new ColumnStream()];
  COLUMNS.push({ name, type: `Nullable(${type})`, streams });
  return streams;
}

/** The fields of an event in the order of its Avro schema. */
const EVENT_COPIES: readonly Copy[] = [
  text('site_id'),
  text('event_id'),
  text('distinct_id'),
  time('received_at'),
  text('event'),
  time('timestamp'),
  textOrNull('original_timestamp'),
  symbol('mode', SITE_MODES),
  symbol('action_source', ACTION_SOURCES),
  symbol('caller', CALLERS),
  flag('identify'),
  identifiers(),
  textOrEmpty('city'),
  textOrEmpty('state'),
  textOrEmpty('zip'),
  textOrEmpty('country'),
  textOrEmpty('client_ip'),
  textOrEmpty('client_user_agent'),
  numberOrNull('value'),
  textOrEmpty('currency'),
  textOrEmpty('order_id'),
  text('properties'),
  skipTextOrNull,
  furtherIdentifiers,
  textOrEmpty('key_id'),
];
const copyPerson = textOrEmpty('arrived_person_id');
const rawPartition = column('raw_partition', 'Int32');
const rawOffset = column('raw_offset', 'Int64');
const rawIndex = column('raw_index', 'Int32');

/** The columns in the order in which a block has them. */
export const EVENT_COLUMN_LAYOUT: readonly Column[] = COLUMNS;

/**
 * Appends an event's values to the streams of the columns.
 *
 * @throws MalformedError if its bytes are not an event; some of the streams are longer then.
 */
export function copyEvent({ siteId, eventBytes, personBytes, coordinate }: EntryView, phoneHmac: PhoneHmac): void {
  const from: Cursor = { buffer: eventBytes, at: 0 };
  for (const copy of EVENT_COPIES) copy(from, siteId, phoneHmac);
  if (from.at !== eventBytes.length) throw new MalformedError('bytes behind the event');
  copyPerson({ buffer: personBytes, at: 0 }, siteId, phoneHmac);
  rawPartition.int32(coordinate?.partition ?? -1);
  rawOffset.int64(coordinate?.offset ?? -1);
  rawIndex.int32(coordinate?.index ?? -1);
}

/** Whether a union of null and another type holds a value of the other type. */
function isThere(from: Cursor): boolean {
  const branch = readLong(from);
  if (branch !== 0 && branch !== 1) throw new MalformedError('no such branch');
  return branch === 1;
}

function text(name: string): Copy {
  const to = column(name, 'String');
  return (from) => to.text(from);
}

function textOrEmpty(name: string): Copy {
  const to = column(name, 'String');
  return (from) => {
    if (isThere(from)) to.text(from);
    else to.byte(0);
  };
}

function textOrNull(name: string): Copy {
  const [nulls, to] = nullable(name, 'String');
  return (from) => {
    const there = isThere(from);
    nulls.byte(there ? 0 : 1);
    if (there) to.text(from);
    else to.byte(0);
  };
}

function time(name: string): Copy {
  const to = column(name, "DateTime64(3, 'UTC')");
  return (from) => to.int64(readLong(from));
}

function flag(name: string): Copy {
  const to = column(name, 'Bool');
  return (from) => {
    const value = from.buffer[from.at++];
    if (value !== 0 && value !== 1) throw new MalformedError('neither true nor false');
    to.byte(value);
  };
}

/** A text of ASCII as the Native format has it. */
function nativeText(text: string): Buffer {
  return Buffer.concat([lengthBytes(text.length), Buffer.from(text)]);
}

function symbol(name: string, symbols: readonly string[]): Copy {
  const to = column(name, 'String');
  const texts = symbols.map(nativeText);
  return (from) => {
    const known = texts[readLong(from)];
    if (known === undefined) throw new MalformedError('no such symbol');
    to.bytes(known);
  };
}

/** NaN and infinities become null, because a sum with one of them would be useless. */
function numberOrNull(name: string): Copy {
  const [nulls, to] = nullable(name, 'Float64');
  return (from) => {
    const value = isThere(from) ? readDouble(from) : Number.NaN;
    const there = Number.isFinite(value);
    nulls.byte(there ? 0 : 1);
    to.double(there ? value : 0);
  };
}

function readDouble(from: Cursor): number {
  const start = from.at;
  from.at += Float64Array.BYTES_PER_ELEMENT;
  if (from.at > from.buffer.length) throw new MalformedError('number past the end');
  return from.buffer.readDoubleLE(start);
}

/** Rows hold only some of the identifiers, and a phone number by its keyed hash; the others are skipped. */
function identifiers(): Copy {
  const fields = IDENTIFIER_FIELDS.map((field) => {
    if (field === 'phone') return { to: column('phone_hmac', 'String'), isKeyed: true };
    return { to: STORED_IDENTIFIERS.includes(field) ? column(`${field}_sha256`, 'String') : null, isKeyed: false };
  });
  return (from, siteId, phoneHmac) => {
    const any = isThere(from);
    for (const { to, isKeyed } of fields) {
      const there = any && isThere(from);
      if (there && to === null) skipText(from);
      else if (there && isKeyed) to?.bytes(nativeText(phoneHmac(siteId, readText(from))));
      else if (there) to?.text(from);
      else to?.byte(0);
    }
  };
}

function skipTextOrNull(from: Cursor): void {
  if (isThere(from)) skipText(from);
}

/** Skips these, because rows hold none of them. */
function furtherIdentifiers(from: Cursor): void {
  for (let items = readLong(from); items !== 0; items = readLong(from)) {
    if (items < 0) readLong(from);
    for (let at = Math.abs(items) * IDENTIFIER_FIELDS.length; at > 0; at--) if (isThere(from)) skipText(from);
  }
}

function skipText(from: Cursor): void {
  const length = readLong(from);
  from.at += length;
  if (length < 0 || from.at > from.buffer.length) throw new MalformedError('text past the end');
}

function readText(from: Cursor): string {
  const start = { ...from };
  skipText(from);
  readLong(start);
  return from.buffer.toString('utf8', start.at, from.at);
}
