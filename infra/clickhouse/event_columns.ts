import { ACTION_SOURCES, type Caller, type Identifiers, type SiteMode } from '#schemas/event.ts';
import { decodeEvent, type EntryView } from '#schemas/event_batch.ts';
import { IDENTIFIER_FIELDS } from '#schemas/event_encoder.ts';
import { type Cursor, MalformedError, readLong } from '#schemas/varint.ts';
import { ColumnStream, lengthBytes } from './column_stream.ts';

const SITE_MODES: readonly SiteMode[] = ['online', 'offline'];
const CALLERS: readonly Caller[] = ['browser', 'server'];

const KEPT: readonly (keyof Identifiers)[] = ['email', 'phone', 'first_name', 'last_name', 'external_id'];

/** Moves on behind a value of the event, and writes of it what the row has. */
type Copy = (from: Cursor) => void;

/** A column of event_rows: its type as the bytes have it, and where they are written, the map of its nulls first. */
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
];
const copyPerson = textOrEmpty('arrived_person_id');
const rawPartition = column('raw_partition', 'Int32');
const rawOffset = column('raw_offset', 'Int64');
const rawIndex = column('raw_index', 'Int32');

const STREAMS = COLUMNS.flatMap(({ streams }) => streams);
const TIMESTAMPS = STREAMS.indexOf(COLUMNS.find(({ name }) => name === 'timestamp')?.streams[0] as ColumnStream);

export const EVENT_COLUMNS: readonly string[] = COLUMNS.map(({ name }) => name);

/** The bytes of rows that were written together, column by column. */
interface Chunk {
  rows: number;
  /** Of each stream, in the order of STREAMS. */
  streams: readonly Buffer[];
}

/**
 * An identified event as a row of event_rows, its values in the columns of a chunk. In ClickHouse's Native format and in
 * Avro a text is its length and its UTF-8 bytes, so most of a row is copied from the event as it came, and no values are
 * made. The names are those of the columns by which rows are looked for.
 */
export class ColumnarEvent {
  readonly view: EntryView;
  readonly chunk: Chunk;
  /** Its place in the chunk. */
  readonly at: number;

  constructor(view: EntryView, chunk: Chunk, at: number) {
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

  /** When it happened, as the chunk has it: all rows are asked for it. */
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

export interface ColumnarEvents {
  rows: ColumnarEvent[];
  /** Events that make no row. */
  poisonPills: { view: EntryView; index: number; error: unknown }[];
}

/**
 * The rows of identified events. The same event gives the same row whenever it is asked; one that cannot be read harms none
 * beside it.
 */
export function columnarEvents(views: readonly EntryView[]): ColumnarEvents {
  const chunk: Chunk = { rows: 0, streams: [] };
  const events: ColumnarEvents = { rows: [], poisonPills: [] };
  for (const [index, view] of views.entries()) {
    for (const stream of STREAMS) stream.mark();
    try {
      copyEvent(view);
      events.rows.push(new ColumnarEvent(view, chunk, chunk.rows++));
    } catch (error) {
      for (const stream of STREAMS) stream.back();
      events.poisonPills.push({ view, index, error });
    }
  }
  chunk.streams = STREAMS.map((stream) => stream.take());
  return events;
}

function copyEvent({ eventBytes, personBytes, coordinate }: EntryView): void {
  const from: Cursor = { buffer: eventBytes, at: 0 };
  for (const copy of EVENT_COPIES) copy(from);
  if (from.at !== eventBytes.length) throw new MalformedError('bytes behind the event');
  copyPerson({ buffer: personBytes, at: 0 });
  rawPartition.int32(coordinate?.partition ?? -1);
  rawOffset.int64(coordinate?.offset ?? -1);
  rawIndex.int32(coordinate?.index ?? -1);
}

/** Rows as one block in ClickHouse's Native format, with the columns of EVENT_COLUMNS. */
export function nativeBlock(rows: readonly ColumnarEvent[]): Buffer {
  const chunks = chunksOf(rows);
  const pieces: Buffer[] = [lengthBytes(COLUMNS.length), lengthBytes(rows.length)];
  let first = 0;
  for (const { name, type, streams } of COLUMNS) {
    for (const word of [name, type]) pieces.push(lengthBytes(word.length), Buffer.from(word));
    for (let at = first; at < first + streams.length; at++) {
      for (const chunk of chunks) pieces.push(chunk.streams[at] as Buffer);
    }
    first += streams.length;
  }
  return Buffer.concat(pieces);
}

/** Chunks that have these rows and no others, in this order: as they are where all their rows are there, else made anew. */
function chunksOf(rows: readonly ColumnarEvent[]): Chunk[] {
  const chunks: Chunk[] = [];
  let loose: EntryView[] = [];
  function tie(): void {
    const { rows: again, poisonPills } = columnarEvents(loose);
    if (poisonPills[0] !== undefined) throw poisonPills[0].error;
    if (again[0] !== undefined) chunks.push(again[0].chunk);
    loose = [];
  }
  for (let at = 0; at < rows.length; ) {
    const { chunk, view } = rows[at] as ColumnarEvent;
    if (isWhole(rows, at)) {
      tie();
      chunks.push(chunk);
      at += chunk.rows;
    } else {
      loose.push(view);
      at++;
    }
  }
  tie();
  return chunks;
}

function isWhole(rows: readonly ColumnarEvent[], from: number): boolean {
  const { chunk } = rows[from] as ColumnarEvent;
  if (from + chunk.rows > rows.length) return false;
  for (let at = 0; at < chunk.rows; at++) {
    const row = rows[from + at];
    if (row?.chunk !== chunk || row.at !== at) return false;
  }
  return true;
}

/** Whether a union of null and something else has the latter. */
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

function symbol(name: string, symbols: readonly string[]): Copy {
  const to = column(name, 'String');
  const texts = symbols.map((word) => Buffer.concat([lengthBytes(word.length), Buffer.from(word)]));
  return (from) => {
    const known = texts[readLong(from)];
    if (known === undefined) throw new MalformedError('no such symbol');
    to.bytes(known);
  };
}

/** A number that is none would make every sum that it is in one. */
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

/** Those that rows have; the others are moved past. */
function identifiers(): Copy {
  const fields = IDENTIFIER_FIELDS.map((field) => (KEPT.includes(field) ? column(`${field}_sha256`, 'String') : null));
  return (from) => {
    const any = isThere(from);
    for (const to of fields) {
      const there = any && isThere(from);
      if (there && to === null) skipText(from);
      else if (there) to?.text(from);
      else to?.byte(0);
    }
  };
}

function skipTextOrNull(from: Cursor): void {
  if (isThere(from)) skipText(from);
}

/** Moved past: rows have none of them. */
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
