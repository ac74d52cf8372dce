import { ACTION_SOURCES, type Caller, type Identifiers, type SiteMode } from '#schemas/event.ts';
import { decodeEvent, type EntryView } from '#schemas/event_batch.ts';
import { IDENTIFIER_FIELDS } from '#schemas/event_encoder.ts';
import { type Cursor, MalformedError, readLong } from '#schemas/varint.ts';

const SITE_MODES: readonly SiteMode[] = ['online', 'offline'];
const CALLERS: readonly Caller[] = ['browser', 'server'];

const KEPT: readonly (keyof Identifiers)[] = ['email', 'phone', 'first_name', 'last_name', 'external_id'];
/** Of each Avro field of Identifiers, in their order, whether a row has it. */
const IDENTIFIERS_KEPT = IDENTIFIER_FIELDS.map((field) => KEPT.includes(field));
const IDENTIFIER_COLUMNS = IDENTIFIER_FIELDS.filter((field) => KEPT.includes(field)).map((field) => `${field}_sha256`);

/** Where rows are written. */
interface Target {
  buffer: Buffer;
  at: number;
}

/** Moves on behind a value of the event, and writes of it what the row has. */
type Copy = (from: Cursor, to: Target) => void;

const EVENT: readonly (readonly [columns: readonly string[], copy: Copy])[] = [
  [['site_id'], text],
  [['event_id'], text],
  [['distinct_id'], text],
  [['received_at'], time],
  [['event'], text],
  [['timestamp'], time],
  [['original_timestamp'], textOrNull],
  [['mode'], symbol(SITE_MODES)],
  [['action_source'], symbol(ACTION_SOURCES)],
  [['caller'], symbol(CALLERS)],
  [['identify'], flag],
  [IDENTIFIER_COLUMNS, identifiers],
  [['city'], textOrEmpty],
  [['state'], textOrEmpty],
  [['zip'], textOrEmpty],
  [['country'], textOrEmpty],
  [['client_ip'], textOrEmpty],
  [['client_user_agent'], textOrEmpty],
  [['value'], numberOrNull],
  [['currency'], textOrEmpty],
  [['order_id'], textOrEmpty],
  [['properties'], text],
];

const EVENT_COPIES = EVENT.map(([, copy]) => copy);

/** Columns in the order of a row's values: those of the event as its Avro fields are ordered, then what is attached. */
export const EVENT_COLUMNS: readonly string[] = [
  ...EVENT.flatMap(([columns]) => columns),
  'arrived_person_id',
  'raw_partition',
  'raw_offset',
  'raw_index',
];

/**
 * An identified event as a row of event_rows. In ClickHouse's RowBinary and in Avro a text is its length and its UTF-8
 * bytes, so most of the row is copied from the event as it came, and no values are made. The names are those of the
 * columns by which rows are looked for.
 */
export class EventBinary {
  readonly view: EntryView;
  readonly bytes: Buffer;

  constructor(view: EntryView, bytes: Buffer) {
    this.view = view;
    this.bytes = bytes;
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

  get timestamp(): number {
    return decodeEvent(this.view.eventBytes).timestamp;
  }
}

/** Rows are written one behind the other into memory that is taken for many at once. */
const SLAB_BYTES = 512 * 1024;
/** What a row may be longer than its event: names of symbols, times, texts in the place of nothing, the coordinate. */
const LONGER_BYTES_MAX = 256;

const slab: Target = { buffer: Buffer.alloc(0), at: 0 };

/**
 * The row of an identified event. The same event gives the same row whenever it is asked.
 *
 * @throws MalformedError where the bytes are not those of an event.
 */
export function eventBinary(view: EntryView): EventBinary {
  const room = view.eventBytes.length + view.personBytes.length + LONGER_BYTES_MAX;
  if (slab.at + room > slab.buffer.length) {
    slab.buffer = Buffer.allocUnsafeSlow(Math.max(SLAB_BYTES, room));
    slab.at = 0;
  }
  const to: Target = { buffer: slab.buffer, at: slab.at };
  const from: Cursor = { buffer: view.eventBytes, at: 0 };
  for (const copy of EVENT_COPIES) copy(from, to);
  if (from.at !== from.buffer.length) throw new MalformedError('bytes behind the event');
  textOrEmpty({ buffer: view.personBytes, at: 0 }, to);
  writeInt32(to, view.coordinate?.partition ?? -1);
  writeInt64(to, view.coordinate?.offset ?? -1);
  writeInt32(to, view.coordinate?.index ?? -1);
  const bytes = slab.buffer.subarray(slab.at, to.at);
  slab.at = to.at;
  return new EventBinary(view, bytes);
}

/** Below this a loop is faster than the call that copies. */
const SHORT_BYTES = 32;

function text(from: Cursor, to: Target): void {
  const length = readLong(from);
  const end = from.at + length;
  if (length < 0 || end > from.buffer.length) throw new MalformedError('text past the end');
  writeLength(to, length);
  if (length > SHORT_BYTES) {
    to.at += from.buffer.copy(to.buffer, to.at, from.at, end);
    from.at = end;
  } else {
    while (from.at < end) to.buffer[to.at++] = from.buffer[from.at++] as number;
  }
}

/** Whether a union of null and something else has the latter. */
function isThere(from: Cursor): boolean {
  const branch = readLong(from);
  if (branch !== 0 && branch !== 1) throw new MalformedError('no such branch');
  return branch === 1;
}

function textOrEmpty(from: Cursor, to: Target): void {
  if (isThere(from)) text(from, to);
  else writeLength(to, 0);
}

function textOrNull(from: Cursor, to: Target): void {
  const there = isThere(from);
  writeByte(to, there ? 0 : 1);
  if (there) text(from, to);
}

function time(from: Cursor, to: Target): void {
  writeInt64(to, readLong(from));
}

function flag(from: Cursor, to: Target): void {
  const value = from.buffer[from.at++];
  if (value !== 0 && value !== 1) throw new MalformedError('neither true nor false');
  writeByte(to, value);
}

function symbol(names: readonly string[]): Copy {
  const texts = names.map((name) => Buffer.from(`${String.fromCharCode(name.length)}${name}`));
  return (from, to) => {
    const known = texts[readLong(from)];
    if (known === undefined) throw new MalformedError('no such symbol');
    to.at += known.copy(to.buffer, to.at);
  };
}

/** A number that is none would make every sum that it is in one. */
function numberOrNull(from: Cursor, to: Target): void {
  const value = isThere(from) ? readDouble(from) : Number.NaN;
  const there = Number.isFinite(value);
  writeByte(to, there ? 0 : 1);
  if (there) to.at = to.buffer.writeDoubleLE(value, to.at);
}

function readDouble(from: Cursor): number {
  const start = from.at;
  from.at += Float64Array.BYTES_PER_ELEMENT;
  if (from.at > from.buffer.length) throw new MalformedError('number past the end');
  return from.buffer.readDoubleLE(start);
}

function identifiers(from: Cursor, to: Target): void {
  if (!isThere(from)) {
    for (let column = 0; column < IDENTIFIER_COLUMNS.length; column++) writeLength(to, 0);
    return;
  }
  for (const kept of IDENTIFIERS_KEPT) {
    const start = to.at;
    textOrEmpty(from, to);
    if (!kept) to.at = start;
  }
}

function writeByte(to: Target, value: number): void {
  to.buffer[to.at++] = value;
}

function writeLength(to: Target, length: number): void {
  let rest = length;
  while (rest >= 0x80) {
    writeByte(to, (rest & 0x7f) | 0x80);
    rest >>>= 7;
  }
  writeByte(to, rest);
}

function writeInt32(to: Target, value: number): void {
  to.at = to.buffer.writeInt32LE(value, to.at);
}

const TWO_TO_32 = 2 ** 32;

/** Of a safe integer. */
function writeInt64(to: Target, value: number): void {
  const high = Math.floor(value / TWO_TO_32);
  to.buffer.writeUInt32LE(value - high * TWO_TO_32, to.at);
  to.buffer.writeInt32LE(high, to.at + 4);
  to.at += 8;
}
