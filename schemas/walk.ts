import type { AvroType } from './avro.ts';
import { type Cursor, MalformedError, readBytes, readLong } from './varint.ts';

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
  walk(type as unknown as Shape, { buffer, at: 0 });
}

function walk(shape: Shape, cursor: Cursor): void {
  const { typeName } = shape;
  if (shape.underlyingType !== undefined) {
    walk(shape.underlyingType, cursor);
  } else if (typeName === 'record') {
    for (const { type } of shape.fields ?? []) walk(type, cursor);
  } else if (typeName === 'array') {
    walkItems(cursor, () => walk(shape.itemsType as Shape, cursor));
  } else if (typeName === 'map') {
    walkItems(cursor, () => {
      readBytes(cursor);
      walk(shape.valuesType as Shape, cursor);
    });
  } else if (typeName.startsWith('union:')) {
    const branch = shape.types?.[readLong(cursor)];
    if (branch === undefined) throw new MalformedError('no such branch');
    walk(branch, cursor);
  } else if (typeName === 'string' || typeName === 'bytes') {
    readBytes(cursor);
  } else if (typeName === 'int' || typeName === 'long' || typeName === 'enum') {
    readLong(cursor);
  } else {
    skip(cursor, typeName === 'fixed' ? (shape.size ?? 0) : (BYTES[typeName] ?? 0));
  }
}

const BYTES: Readonly<Record<string, number>> = { null: 0, boolean: 1, float: 4, double: 8 };

/** Blocks of items, until an empty one; a negative count is followed by the block's bytes. */
function walkItems(cursor: Cursor, item: () => void): void {
  for (let count = readLong(cursor); count !== 0; count = readLong(cursor)) {
    if (count < 0) readLong(cursor);
    const items = Math.abs(count);
    if (items > cursor.buffer.length - cursor.at) throw new MalformedError('more items than bytes');
    for (let at = 0; at < items; at++) item();
  }
}

function skip(cursor: Cursor, bytes: number): void {
  cursor.at += bytes;
  if (cursor.at > cursor.buffer.length) throw new MalformedError('value past the end');
}
