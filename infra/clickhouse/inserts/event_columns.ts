// Event batches to ClickHouse's Native format, column by column, without making objects of the events.
import { cutAddress } from '#pipelines/privacy/ip_addresses.ts';
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
import { type Cursor, MalformedError, readLong, readString, skipString } from '#schemas/wire.ts';
import { copyId } from './id_columns.ts';
import { ColumnStream, LOW_CARDINALITY, lengthBytes, lowCardinalityPieces, Streams } from './native_format.ts';
import { createPropertyTexts, type PropertyNames, propertyTextsPieces } from './property_texts.ts';
import { VISIT_KEY, VisitTexts } from './visit_columns.ts';
import {
  type Locating,
  NO_PLACES,
  putSpan,
  type Span,
  VISITOR_COLUMNS,
  VisitorFacts,
  VisitorTexts,
} from './visitor_columns.ts';

const SITE_MODES: readonly SiteMode[] = ['online', 'offline'];
const DEFAULT = '_by_default';
const CALLERS: readonly Caller[] = ['browser', 'server'];

const STORED_IDENTIFIERS: readonly (keyof Identifiers)[] = ['email', 'first_name', 'last_name', 'external_id'];

/** The keyed hash of a site's phone number, which is given as its bare SHA-256. */
export type PhoneHmac = (siteId: string, sha256: string) => string;

/** What rows are made by, beside their events. */
interface RowSources {
  phoneHmac: PhoneHmac;
  locating: Locating;
}

/** Reads a value of the event, and writes what the row has of it into its column. */
type Copy = (from: Cursor, siteId: string, by: RowSources) => void;

/** A column of event_rows: its type in the Native format, and its streams of bytes, beginning with the null map. */
interface Column {
  name: string;
  type: string;
  streams: readonly ColumnStream[];
  /** Its bytes in a block, of those of its streams in each chunk; absent: they are written one stream after the other. */
  pieces?(chunks: readonly ChunkPart[]): Buffer[];
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

/** What of a chunk a column is made of: the bytes of its streams, and what numbers in them mean. */
interface ChunkPart extends Pick<Chunk, 'names' | 'visitors' | 'visits'> {
  streams: readonly Buffer[];
}

const facts = new VisitorFacts();
const texts = createPropertyTexts(facts);

/** The fields of an event in the order of its Avro schema. */
const EVENT_COPIES: readonly Copy[] = [
  text('site_id'),
  eventId(),
  text('distinct_id', facts.visitor),
  time('received_at'),
  text('event'),
  time('timestamp'),
  textOrNull('original_timestamp'),
  symbol('mode', SITE_MODES, (mode) => (facts.isOnline = mode === 'online')),
  symbol('action_source', ACTION_SOURCES, (source) => (facts.isOfWebsite = source === 'website')),
  symbol('caller', CALLERS, (caller) => (facts.isBrowsers = caller === 'browser')),
  flag('identify'),
  identifiers(),
  textOrEmpty('city'),
  textOrEmpty('state'),
  textOrEmpty('zip'),
  textOrEmpty('country'),
  clientAddress(),
  textOrEmpty('client_user_agent', facts.userAgent),
  numberOrNull('value'),
  textOrEmpty('currency'),
  textOrEmpty('order_id'),
  properties(),
  skipTextOrNull,
  furtherIdentifiers,
  textOrEmpty('key_id'),
  consent(),
  historical(),
];
const copyPerson = textOrEmpty('arrived_person_id');
const rawPartition = column('raw_partition', 'Int32');
const rawOffset = column('raw_offset', 'Int64');
const rawIndex = column('raw_index', 'Int32');
const visitorNumbers = visitorColumns();
const visitKeys = column(VISIT_KEY, 'UInt64');
const arrivalNumbers = arrivalColumn();

/**
 * Appends an event's values to the streams of the columns.
 *
 * @throws MalformedError if its bytes are not an event; some of the streams are longer then.
 */
function copyEvent({ siteId, eventBytes, personBytes, coordinate }: EncodedEvent, chunk: Chunk): void {
  const from: Cursor = { buffer: eventBytes, at: 0 };
  facts.reset();
  for (const copy of EVENT_COPIES) copy(from, siteId, chunk);
  if (from.at !== eventBytes.length) throw new MalformedError('bytes behind the event');
  copyPerson({ buffer: personBytes, at: 0 }, siteId, chunk);
  rawPartition.int32(coordinate?.partition ?? -1);
  rawOffset.int64(coordinate?.offset ?? -1);
  rawIndex.int32(coordinate?.index ?? -1);
  const kept = chunk.locating.ofSite(siteId);
  const isVisitors = chunk.visitors.write(facts, kept.places, visitorNumbers);
  chunk.visits.write(facts, isVisitors && facts.isOfWebsite, kept.domains, visitKeys, arrivalNumbers);
}

/** Columns that share a stream of numbers, each of a text of one of them. */
function visitorColumns(): ColumnStream {
  const stream = new ColumnStream();
  const streams = [stream];
  for (const [at, name] of VISITOR_COLUMNS.entries()) {
    const pieces = (chunks: readonly ChunkPart[]): Buffer[] => [
      LOW_CARDINALITY,
      ...lowCardinalityPieces(chunks.map(({ visitors, streams }) => visitors.numbered(at, streams[0] as Buffer))),
    ];
    COLUMNS.push({ name, type: 'LowCardinality(String)', streams, pieces });
  }
  return stream;
}

function arrivalColumn(): ColumnStream {
  const stream = new ColumnStream();
  const pieces = (chunks: readonly ChunkPart[]): Buffer[] => [
    LOW_CARDINALITY,
    ...lowCardinalityPieces(chunks.map(({ visits, streams }) => visits.numbered(streams[0] as Buffer))),
  ];
  COLUMNS.push({ name: 'arrival', type: 'LowCardinality(String)', streams: [stream], pieces });
  return stream;
}

/** Whether a union of null and another type holds a value of the other type. */
function isThere(from: Cursor): boolean {
  const branch = readLong(from);
  if (branch !== 0 && branch !== 1) throw new MalformedError('no such branch');
  return branch === 1;
}

/** @param noted Where its bytes are told. */
function text(name: string, noted?: Span): Copy {
  const to = column(name, 'String');
  if (noted === undefined) return (from) => to.text(from);
  return (from) => {
    const length = to.text(from);
    putSpan(noted, from.buffer, from.at - length, from.at);
  };
}

function eventId(): Copy {
  const to = {
    text: column('event_id', 'String'),
    high: column('uuid_high', 'UInt64'),
    mixed: column('uuid_mixed', 'UInt64'),
  };
  return (from) => copyId(from, to);
}

/** Whole where a place is looked for; what the row has of it is what its site wants. */
function clientAddress(): Copy {
  const to = column('client_ip', 'String');
  return (from, siteId, { locating }) => {
    if (!isThere(from)) {
      to.byte(0);
      return;
    }
    const length = skipString(from);
    const start = from.at - length;
    Object.assign(facts.address, { bytes: from.buffer, start, end: from.at });
    if (!locating.ofSite(siteId).isCut) to.slice(from.buffer, start, from.at);
    else to.bytes(nativeText(cutAddress(from.buffer.toString('latin1', start, from.at))));
  };
}

/** @param noted Where its bytes are told. */
function textOrEmpty(name: string, noted?: Span): Copy {
  const to = column(name, 'String');
  return (from) => {
    if (!isThere(from)) {
      to.byte(0);
      return;
    }
    const length = to.text(from);
    if (noted !== undefined) putSpan(noted, from.buffer, from.at - length, from.at);
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

function symbol<Symbol extends string>(name: string, symbols: readonly Symbol[], noted?: (one: Symbol) => void): Copy {
  const to = column(name, 'String');
  const texts = symbols.map(nativeText);
  return (from) => {
    const number = readLong(from);
    const known = texts[number];
    if (known === undefined) throw new MalformedError('no such symbol');
    to.bytes(known);
    noted?.(symbols[number] as Symbol);
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

/** What servers bring in of the past of a site is what its browsers did. */
function historical(): Copy {
  const to = column('historical', 'Bool');
  return (from) => {
    const isHistorical = readBoolean(from);
    to.byte(isHistorical);
    if (isHistorical === 1) facts.isBrowsers = true;
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
  return (from, siteId, { phoneHmac }) => {
    const any = isThere(from);
    for (const { to, isKeyed } of fields) {
      const there = any && isThere(from);
      if (there && to === null) skipString(from);
      else if (there && isKeyed) to?.bytes(nativeText(phoneHmac(siteId, readString(from))));
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
    const length = json.text(from);
    texts.write(from.buffer, from.at - length, from.at);
  };
}

function skipTextOrNull(from: Cursor): void {
  if (isThere(from)) skipString(from);
}

/** Skips these, because rows hold none of them. */
function furtherIdentifiers(from: Cursor): void {
  for (let items = readLong(from); items !== 0; items = readLong(from)) {
    if (items < 0) readLong(from);
    for (let at = Math.abs(items) * IDENTIFIER_FIELDS.length; at > 0; at--) if (isThere(from)) skipString(from);
  }
}

const NO_STREAMS = new Streams([]);
const STREAMS = [...new Set(COLUMNS.flatMap(({ streams }) => streams))];
const streamOf = (column: string): number =>
  STREAMS.indexOf(COLUMNS.find(({ name }) => name === column)?.streams[0] as ColumnStream);
const [TIMESTAMPS, ARRIVALS] = [streamOf('timestamp'), streamOf('received_at')];
const [PARTITIONS, OFFSETS] = [streamOf('raw_partition'), streamOf('raw_offset')];

export const EVENT_COLUMNS: readonly string[] = COLUMNS.map(({ name }) => name);

/** The bytes of rows that were written together, column by column. */
interface Chunk extends RowSources {
  rows: number;
  /** In the order of STREAMS. */
  streams: Streams;
  /** The names that its property_texts mean by their numbers. */
  names: PropertyNames;
  /** The texts that its columns of visitors mean by their numbers. */
  visitors: VisitorTexts;
  /** The texts that its arrivals mean by their numbers. */
  visits: VisitTexts;
  /** The events of its rows, once somebody has asked for them. */
  views: readonly EncodedEvent[] | null;
  readAgain: () => readonly EncodedEvent[];
}

/** Those of the next chunk. */
let visitorTexts = new VisitorTexts(NO_PLACES);
let visitTexts = new VisitTexts();

function visitorsOf(locating: Locating): VisitorTexts {
  if (!visitorTexts.isOf(locating)) visitorTexts = new VisitorTexts(locating);
  return visitorTexts;
}

/**
 * An identified event as a row of event_rows, its values in the columns of a chunk. In ClickHouse's Native format and in
 * Avro a text is its length and its UTF-8 bytes, so most of a row is copied from the event's bytes, without making values of
 * them. The properties have the names of the columns by which rows are looked for.
 */
export class ColumnarEvent {
  readonly chunk: Chunk;
  readonly at: number;

  constructor(chunk: Chunk, at: number) {
    this.chunk = chunk;
    this.at = at;
  }

  get view(): EncodedEvent {
    this.chunk.views ??= this.chunk.readAgain();
    return this.chunk.views[this.at] as EncodedEvent;
  }

  get site_id(): string {
    return this.view.siteId;
  }

  get event_id(): string {
    return this.view.eventId;
  }

  /** Read from the chunk like the time it happened, because every row is asked for both. */
  get received_at(): number {
    return this.chunk.streams.int64(ARRIVALS, this.at);
  }

  get distinct_id(): string {
    return this.view.distinctId;
  }

  get timestamp(): number {
    return this.chunk.streams.int64(TIMESTAMPS, this.at);
  }

  get event(): string {
    return decodeEvent(this.view.eventBytes).event;
  }

  get raw_partition(): number {
    return this.chunk.streams.int32(PARTITIONS, this.at);
  }

  get raw_offset(): number {
    return this.chunk.streams.int64(OFFSETS, this.at);
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
 * The rows of identified events. The same event always gives the same row, but for its place where databases of these were renewed
 * in between. An event that cannot be read does not affect the others.
 *
 * @param readAgain The same events, read again where a row is asked for what its columns do not say: objects of events that
 *   live until a block is stored cost more than all else of garbage.
 */
export function columnarEvents(
  views: readonly EncodedEvent[],
  phoneHmac: PhoneHmac,
  locating: Locating = NO_PLACES,
  readAgain: () => readonly EncodedEvent[] = () => views,
): ColumnarEvents {
  const visitors = visitorsOf(locating);
  if (visitTexts.isFull()) visitTexts = new VisitTexts();
  const more = { names: texts.names(), visitors, visits: visitTexts, phoneHmac, locating };
  const chunk: Chunk = { rows: 0, streams: NO_STREAMS, readAgain, views: null, ...more };
  const poisonPills: ColumnarEvents['poisonPills'] = [];
  let rows: ColumnarEvent[];
  try {
    rows = fill(chunk, views, null);
  } catch {
    for (const stream of STREAMS) stream.cutTo(0);
    chunk.rows = 0;
    rows = fill(chunk, views, poisonPills);
    const without = new Set(poisonPills.map(({ index }) => index));
    chunk.readAgain = () => readAgain().filter((_, index) => !without.has(index));
  }
  chunk.streams = new Streams(STREAMS);
  return { rows, poisonPills };
}

/** Copies events into a chunk. One that cannot be read leaves nothing behind where those are noted; else it is thrown. */
function fill(
  chunk: Chunk,
  views: readonly EncodedEvent[],
  poisonPills: ColumnarEvents['poisonPills'] | null,
): ColumnarEvent[] {
  const rows: ColumnarEvent[] = [];
  for (const [index, view] of views.entries()) {
    if (poisonPills !== null) for (const stream of STREAMS) stream.savePosition();
    try {
      copyEvent(view, chunk);
      rows.push(new ColumnarEvent(chunk, chunk.rows++));
    } catch (error) {
      if (poisonPills === null) throw error;
      for (const stream of STREAMS) stream.rollBack();
      poisonPills.push({ view, index, error });
    }
  }
  return rows;
}

/** Rows as one block in ClickHouse's Native format, with the columns of EVENT_COLUMNS. */
export function nativeBlock(rows: readonly ColumnarEvent[]): Buffer {
  const chunks = chunksOf(rows);
  const block = new ColumnStream(chunks.reduce((sum, { streams }) => sum + streams.length, BLOCK_MORE_BYTES));
  for (const length of [COLUMNS.length, rows.length]) block.bytes(lengthBytes(length));
  let [parts, partsOf]: [ChunkPart[], Column['streams']] = [[], []];
  for (const { name, type, streams, pieces } of COLUMNS) {
    for (const word of [name, type]) block.bytes(nativeText(word));
    const first = STREAMS.indexOf(streams[0] as ColumnStream);
    if (pieces === undefined) {
      for (const at of streams.keys()) for (const chunk of chunks) chunk.streams.appendTo(block, first + at);
      continue;
    }
    if (streams !== partsOf) {
      partsOf = streams;
      parts = chunks.map((chunk) => partOf(chunk, first, streams.length));
    }
    for (const piece of pieces(parts)) block.bytes(piece);
  }
  return block.finish();
}

const partOf = ({ names, visitors, visits, streams }: Chunk, first: number, count: number): ChunkPart => ({
  names,
  visitors,
  visits,
  streams: Array.from({ length: count }, (_, at) => streams.of(first + at)),
});

/** What a block has beside the bytes of its chunks is mostly shorter. */
const BLOCK_MORE_BYTES = 65_536;

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
    const { rows: again, poisonPills } = columnarEvents(views, chunk.phoneHmac, chunk.locating);
    if (poisonPills[0] !== undefined) throw poisonPills[0].error;
    if (again[0] !== undefined) chunks.push(again[0].chunk);
  }
  return chunks;
}
