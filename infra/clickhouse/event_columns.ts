import { decodeEvent, type EntryView } from '#schemas/event_batch.ts';
import { type ColumnStream, lengthBytes } from './column_stream.ts';
import { copyEvent, EVENT_COLUMN_LAYOUT, type PhoneHmac } from './event_column_layout.ts';

const STREAMS = EVENT_COLUMN_LAYOUT.flatMap(({ streams }) => streams);
const TIMESTAMPS = STREAMS.indexOf(
  EVENT_COLUMN_LAYOUT.find(({ name }) => name === 'timestamp')?.streams[0] as ColumnStream,
);

export const EVENT_COLUMNS: readonly string[] = EVENT_COLUMN_LAYOUT.map(({ name }) => name);

/** The bytes of rows that were written together, column by column. */
interface Chunk {
  rows: number;
  /** The bytes of each stream, in the order of STREAMS. */
  streams: readonly Buffer[];
  /** By which its rows were made. */
  phoneHmac: PhoneHmac;
}

/**
 * An identified event as a row of event_rows, its values in the columns of a chunk. In ClickHouse's Native format and in
 * Avro a text is its length and its UTF-8 bytes, so most of a row is copied from the event's bytes, without making values of
 * them. The properties have the names of the columns by which rows are looked for.
 */
export class ColumnarEvent {
  readonly view: EntryView;
  readonly chunk: Chunk;
  /** Its index in the chunk. */
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

export interface ColumnarEvents {
  rows: ColumnarEvent[];
  /** Events that make no row. */
  poisonPills: { view: EntryView; index: number; error: unknown }[];
}

/**
 * The rows of identified events. The same event always gives the same row. An event that cannot be read does not affect the
 * others.
 */
export function columnarEvents(views: readonly EntryView[], phoneHmac: PhoneHmac): ColumnarEvents {
  const chunk: Chunk = { rows: 0, streams: [], phoneHmac };
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
  const pieces: Buffer[] = [lengthBytes(EVENT_COLUMN_LAYOUT.length), lengthBytes(rows.length)];
  let first = 0;
  for (const { name, type, streams } of EVENT_COLUMN_LAYOUT) {
    for (const word of [name, type]) pieces.push(lengthBytes(word.length), Buffer.from(word));
    for (let at = first; at < first + streams.length; at++) {
      for (const chunk of chunks) pieces.push(chunk.streams[at] as Buffer);
    }
    first += streams.length;
  }
  return Buffer.concat(pieces);
}

/** Chunks with exactly these rows, in this order. If some rows of a chunk are missing, a new chunk is made. */
function chunksOf(rows: readonly ColumnarEvent[]): Chunk[] {
  const chunks: Chunk[] = [];
  let loose: ColumnarEvent[] = [];
  function flushLoose(): void {
    const [first] = loose;
    if (first === undefined) return;
    const { rows: again, poisonPills } = columnarEvents(
      loose.map(({ view }) => view),
      first.chunk.phoneHmac,
    );
    if (poisonPills[0] !== undefined) throw poisonPills[0].error;
    if (again[0] !== undefined) chunks.push(again[0].chunk);
    loose = [];
  }
  for (let at = 0; at < rows.length; ) {
    const row = rows[at] as ColumnarEvent;
    const { chunk } = row;
    if (isWhole(rows, at)) {
      flushLoose();
      chunks.push(chunk);
      at += chunk.rows;
    } else {
      loose.push(row);
      at++;
    }
  }
  flushLoose();
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
