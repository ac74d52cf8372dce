// Event batches to ClickHouse's Native format, column by column, without making objects of the events.
import {
  ACTION_SOURCES,
  type Caller,
  CONSENT_STATES,
  CONSENT_TYPES,
  IDENTIFIER_FIELDS,
  type Identifiers,
  type SiteMode,
} from '#schemas/event.ts';
import { decodeEvent, type EncodedEvent } from '#schemas/event_batch.ts';
import { type Cursor, MalformedError, readLong } from '#schemas/wire.ts';
import { ColumnStream, lengthBytes } from './native_format.ts';
import { createPropertyTexts, type PropertyNames, propertyTextsPieces } from './property_texts.ts';

const SITE_MODES: readonly SiteMode[] = ['online', 'offline'];
const DEFAULT = '_by_default';
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
  /** Its bytes in a block, of those of its streams in each chunk; absent: they are written one stream after the other. */
  pieces?: typeof propertyTextsPieces;
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

const texts = createPropertyTexts();

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
  properties(),
  skipTextOrNull,
  furtherIdentifiers,
  textOrEmpty('key_id'),
  consent(),
];
const copyPerson = textOrEmpty('arrived_person_id');
const rawPartition = column('raw_partition', 'Int32');
const rawOffset = column('raw_offset', 'Int64');
const rawIndex = column('raw_index', 'Int32');

/**
 * Appends an event's values to the streams of the columns.
 *
 * @throws MalformedError if its bytes are not an event; some of the streams are longer then.
 */
function copyEvent({ siteId, eventBytes, personBytes, coordinate }: EncodedEvent, phoneHmac: PhoneHmac): void {
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
  return (from) => to.byte(readBoolean(from));
}

function readBoolean(from: Cursor): 0 | 1 {
  const value = from.buffer[from.at++];
  if (value !== 0 && value !== 1) throw new MalformedError('neither true nor false');
  return value;
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

/** A column of each consent type has its value, and `consent_defaults` the types of which the site's default is the value. */
function consent(): Copy {
  const types = CONSENT_TYPES.map((name) => column(name, 'String'));
  const defaults = column('consent_defaults', 'String');
  const limited = column('limited_data_use', 'Bool');
  const states = CONSENT_STATES.map((state) => ({
    text: nativeText(state === 'unset' ? '' : state.replace(DEFAULT, '')),
    isDefault: state.endsWith(DEFAULT),
  }));
  const subsets = Array.from({ length: 2 ** CONSENT_TYPES.length }, (_, set) =>
    nativeText(CONSENT_TYPES.filter((_type, at) => (set >> at) % 2 === 1).join(',')),
  );
  return (from) => {
    const isKept = isThere(from);
    let set = 0;
    for (const [at, to] of types.entries()) {
      const state = states[isKept ? readLong(from) : 0];
      if (state === undefined) throw new MalformedError('no such symbol');
      to.bytes(state.text);
      if (state.isDefault) set += 2 ** at;
    }
    defaults.bytes(subsets[set] as Buffer);
    limited.byte(isKept && isThere(from) ? readBoolean(from) : 0);
    if (isKept) readBoolean(from);
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

/** The JSON as it is, and the texts of its properties by name. */
function properties(): Copy {
  const json = column('properties', 'String');
  COLUMNS.push({ name: 'property_texts', ...texts, pieces: propertyTextsPieces });
  return (from) => {
    const length = readLong({ ...from });
    json.text(from);
    texts.write(from.buffer, from.at - length, from.at);
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

const STREAMS = COLUMNS.flatMap(({ streams }) => streams);
const TIMESTAMPS = STREAMS.indexOf(COLUMNS.find(({ name }) => name === 'timestamp')?.streams[0] as ColumnStream);

export const EVENT_COLUMNS: readonly string[] = COLUMNS.map(({ name }) => name);

/** The bytes of rows that were written together, column by column. */
interface Chunk {
  rows: number;
  /** The bytes of each stream, in the order of STREAMS. */
  streams: readonly Buffer[];
  /** The names that its property_texts mean by their numbers. */
  names: PropertyNames;
  /** By which its rows were made. */
  phoneHmac: PhoneHmac;
}

/**
 * An identified event as a row of event_rows, its values in the columns of a chunk. In ClickHouse's Native format and in
 * Avro a text is its length and its UTF-8 bytes, so most of a row is copied from the event's bytes, without making values of
 * them. The properties have the names of the columns by which rows are looked for.
 */
export class ColumnarEvent {
  readonly view: EncodedEvent;
  readonly chunk: Chunk;
  readonly at: number;

  constructor(view: EncodedEvent, chunk: Chunk, at: number) {
    this.view = view;
    this.chunk = chunk;
    this.at = at;
  }

  get site_id(): string {
    return this.view.siteId;
  }

  get event_id(): string {
    return this.view.eventId;
  }

  get received_at(): number {
    return this.view.receivedAtMs;
  }

  get distinct_id(): string {
    return this.view.distinctId;
  }

  /** Read from the chunk, because every row is asked for it. */
  get timestamp(): number {
    return Number(this.chunk.streams[TIMESTAMPS]?.readBigInt64LE(this.at * BigInt64Array.BYTES_PER_ELEMENT));
  }

  get event(): string {
    return decodeEvent(this.view.eventBytes).event;
  }

  get raw_partition(): number {
    return this.view.coordinate?.partition ?? -1;
  }

  get raw_offset(): number {
    return this.view.coordinate?.offset ?? -1;
  }

  get raw_index(): number {
    return this.view.coordinate?.index ?? -1;
  }
}

interface ColumnarEvents {
  rows: ColumnarEvent[];
  poisonPills: { view: EncodedEvent; index: number; error: unknown }[];
}

/**
 * The rows of identified events. The same event always gives the same row. An event that cannot be read does not affect the
 * others.
 */
export function columnarEvents(views: readonly EncodedEvent[], phoneHmac: PhoneHmac): ColumnarEvents {
  const chunk: Chunk = { rows: 0, streams: [], names: texts.names(), phoneHmac };
  const events: ColumnarEvents = { rows: [], poisonPills: [] };
  for (const [index, view] of views.entries()) {
    for (const stream of STREAMS) stream.savePosition();
    try {
      copyEvent(view, phoneHmac);
      events.rows.push(new ColumnarEvent(view, chunk, chunk.rows++));
    } catch (error) {
      for (const stream of STREAMS) stream.rollBack();
      events.poisonPills.push({ view, index, error });
    }
  }
  chunk.streams = STREAMS.map((stream) => stream.take());
  return events;
}

/** Rows as one block in ClickHouse's Native format, with the columns of EVENT_COLUMNS. */
export function nativeBlock(rows: readonly ColumnarEvent[]): Buffer {
  const chunks = chunksOf(rows);
  const pieces: Buffer[] = [lengthBytes(COLUMNS.length), lengthBytes(rows.length)];
  let first = 0;
  for (const { name, type, streams, pieces: joined } of COLUMNS) {
    for (const word of [name, type]) pieces.push(lengthBytes(word.length), Buffer.from(word));
    const end = first + streams.length;
    if (joined === undefined) {
      for (let at = first; at < end; at++) for (const chunk of chunks) pieces.push(chunk.streams[at] as Buffer);
    } else {
      const own = chunks.map((chunk) => ({ names: chunk.names, streams: chunk.streams.slice(first, end) }));
      for (const piece of joined(own)) pieces.push(piece);
    }
    first = end;
  }
  return Buffer.concat(pieces);
}

/** Chunks with exactly these rows, in this order. If some rows of a chunk are missing, a new chunk is made. */
function chunksOf(rows: readonly ColumnarEvent[]): Chunk[] {
  const chunks: Chunk[] = [];
  for (let from = 0, to = 1; from < rows.length; from = to, to++) {
    const { chunk } = rows[from] as ColumnarEvent;
    while (rows[to]?.chunk === chunk) to++;
    const some = rows.slice(from, to);
    if (some.length === chunk.rows && some.every(({ at }, index) => at === index)) {
      chunks.push(chunk);
      continue;
    }
    const views = some.map(({ view }) => view);
    const { rows: again, poisonPills } = columnarEvents(views, chunk.phoneHmac);
    if (poisonPills[0] !== undefined) throw poisonPills[0].error;
    if (again[0] !== undefined) chunks.push(again[0].chunk);
  }
  return chunks;
}
