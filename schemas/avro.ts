// The Avro schemas beside this module, and where a value that one of them describes ends in its bytes.

import { readFileSync } from 'node:fs';
import avsc from 'avsc';
import { type Cursor, MalformedError, readLong } from './wire.ts';

/** Names of the schema files beside this module, without their ending. */
export type SchemaName =
  | 'event_batch'
  | 'setting'
  | 'identity_link'
  | 'quota_usage'
  | 'quota_counts'
  | 'delivery'
  | 'delivery_job'
  | 'dead_letter'
  | 'dead_resolution'
  | 'replay_progress'
  | 'inventory'
  | 'duplicates'
  | 'data_read';

/** The schema's text as registered: what the file holds. */
export function schemaText(name: SchemaName): string {
  return readFileSync(new URL(`./${name}.avsc`, import.meta.url), 'utf8');
}

/** A compiled type of ours. Unions of null and one type are plain nullable values. */
export function schemaType(name: SchemaName): avsc.Type {
  return avsc.Type.forSchema(JSON.parse(schemaText(name)));
}

/** Compiles a writer's schema read from the registry. */
export function foreignType(text: string): avsc.Type {
  return avsc.Type.forSchema(JSON.parse(text));
}

export type AvroType = avsc.Type;

/** What of the library's types tells how their values are written. */
interface Shape {
  typeName: string;
  fields?: readonly { type: Shape }[];
  itemsType?: Shape;
  valuesType?: Shape;
  types?: readonly Shape[];
  underlyingType?: Shape;
  size?: number;
}

/**
 * Walks over a value without making it. The library reads on behind the end of the bytes and makes as many items as a
 * damaged list says it has, which takes minutes and all memory.
 *
 * @throws MalformedError where the bytes do not hold a value of the type, or a list has more items than bytes are left.
 */
export function assertHolds(type: AvroType, buffer: Buffer): void {
  endOfValue(type, buffer, 0);
}

/**
 * Position behind a value that begins at `at`.
 *
 * @throws MalformedError as `assertHolds` does.
 */
export function endOfValue(type: AvroType, buffer: Buffer, at: number): number {
  const cursor = { buffer, at };
  walkerOf(type as unknown as Shape)(cursor);
  return cursor.at;
}

/** Moves a cursor behind a value of one type. */
type Walker = (cursor: Cursor) => void;

const walkers = new WeakMap<Shape, Walker>();

function walkerOf(shape: Shape): Walker {
  const known = walkers.get(shape);
  if (known !== undefined) return known;
  // A type may hold itself: while it is made, what it holds finds it here.
  let made: Walker | undefined;
  walkers.set(shape, (cursor) => made?.(cursor));
  made = walkerMade(shape);
  walkers.set(shape, made);
  return made;
}

function walkerMade(shape: Shape): Walker {
  const { typeName } = shape;
  if (shape.underlyingType !== undefined) return walkerOf(shape.underlyingType);
  if (typeName === 'record') return recordWalker((shape.fields ?? []).map(({ type }) => walkerOf(type)));
  if (typeName === 'array') return itemsWalker(walkerOf(shape.itemsType as Shape));
  if (typeName === 'map') return itemsWalker(recordWalker([skipBytes, walkerOf(shape.valuesType as Shape)]));
  if (typeName.startsWith('union:')) return unionWalker((shape.types ?? []).map(walkerOf));
  if (typeName === 'string' || typeName === 'bytes') return skipBytes;
  if (typeName === 'int' || typeName === 'long' || typeName === 'enum') return readLong;
  const bytes = typeName === 'fixed' ? (shape.size ?? 0) : (BYTES[typeName] ?? 0);
  return (cursor) => skip(cursor, bytes);
}

const BYTES: Readonly<Record<string, number>> = { null: 0, boolean: 1, float: 4, double: 8 };

function recordWalker(fields: readonly Walker[]): Walker {
  return (cursor) => {
    for (const field of fields) field(cursor);
  };
}

function unionWalker(branches: readonly Walker[]): Walker {
  return (cursor) => {
    const branch = branches[readLong(cursor)];
    if (branch === undefined) throw new MalformedError('no such branch');
    branch(cursor);
  };
}

/** Blocks of items, until an empty one; a negative count is followed by the block's bytes. */
function itemsWalker(item: Walker): Walker {
  return (cursor) => {
    for (let count = readLong(cursor); count !== 0; count = readLong(cursor)) {
      if (count < 0) readLong(cursor);
      const items = Math.abs(count);
      if (items > cursor.buffer.length - cursor.at) throw new MalformedError('more items than bytes');
      for (let at = 0; at < items; at++) item(cursor);
    }
  };
}

function skipBytes(cursor: Cursor): void {
  const length = readLong(cursor);
  if (length < 0) throw new MalformedError('bytes of a negative length');
  skip(cursor, length);
}

function skip(cursor: Cursor, bytes: number): void {
  cursor.at += bytes;
  if (cursor.at > cursor.buffer.length) throw new MalformedError('value past the end');
}
