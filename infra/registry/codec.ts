import type { UnreadableReason } from '#pipelines/redelivery/dead_letter.ts';
import { type EncodedEvent, eventBatchType, readBatch } from '#schemas/event_batch.ts';
import { type SchemaName, schemaType } from '#schemas/schemas.ts';
import { type AvroType, assertHolds, readWire, writeWire } from '#schemas/wire.ts';
import { type Registry, RegistryError } from './schema_registry.ts';

export type Decoded<T> = { ok: true; value: T } | { ok: false; reason: UnreadableReason };

export interface Codec<T> {
  encode(value: T): Buffer;
  /** Reads what any registered writer schema wrote. Throws RegistryError where the registry cannot be asked. */
  decode(value: Buffer | null): Promise<Decoded<T>>;
}

/** How bytes of one schema are read: as the writer's type, then converted to ours if the two differ. */
interface Reading {
  writer: AvroType;
  resolver: ReturnType<AvroType['createResolver']> | null;
}

/**
 * What becomes of a record that a newer version of its schema wrote, which this process does not know: it waits until the
 * process is upgraded, or is left out as one that cannot be read, by who follows a table and cannot wait for one record.
 */
type Newer = 'waits' | 'left_out';

/** Encodes and decodes the values of one topic in the Confluent wire format. */
export async function createCodec<T>(
  registry: Registry,
  topic: string,
  schema: SchemaName,
  newer: Newer = 'waits',
): Promise<Codec<T>> {
  const type = schemaType(schema);
  const ownId = await registry.idOf(topic, schema);
  return {
    encode: (value) => writeWire(ownId, type.toBuffer(value)),
    decode: createReader(registry, type, ownId, newer, (reading, body) => readValue(type, reading, body) as T).read,
  };
}

/** Reads event batches as views over the record's memory. Bytes of an older schema are converted to ours first. */
export type EventBatchReader = Awaited<ReturnType<typeof createEventBatchReader>>;

export async function createEventBatchReader(registry: Registry, topic: string) {
  /** Under which this process writes event batches. */
  const schemaId = await registry.idOf(topic, 'event_batch');
  const toViews = (reading: Reading, body: Buffer): EncodedEvent[] =>
    readBatch(reading.resolver === null ? body : eventBatchType.toBuffer(readValue(eventBatchType, reading, body)));
  return { schemaId, ...createReader(registry, eventBatchType, schemaId, 'waits', toViews) };
}

/** Reads values of a type, whatever schema they were written by, or says why they cannot be read. @throws RegistryError */
function createReader<T>(
  registry: Registry,
  type: AvroType,
  ownId: number,
  newer: Newer,
  convert: (reading: Reading, body: Buffer) => T,
): {
  read(value: Buffer | null): Promise<Decoded<T>>;
  /** Of a value that was read before. */
  readAgain(value: Buffer | null): T;
} {
  const known = new Map<number, Reading | UnreadableReason>([[ownId, { writer: type, resolver: null }]]);

  async function readingOf(id: number): Promise<Reading | UnreadableReason> {
    const found = known.get(id);
    if (found !== undefined) return found;
    const writer = await registry.typeOf(id);
    if (writer === null) return 'schema_unknown';
    let made: Reading | UnreadableReason = 'schema_mismatch';
    try {
      made = { writer, resolver: type.createResolver(writer) };
    } catch {
      // Ids of a registry grow. One of another name is a record that stands on the wrong topic.
      if (id > ownId && writer.name === type.name && newer === 'waits') {
        throw new RegistryError('schema_newer', `schema ${id} is newer than ${ownId}, which this process knows`, null);
      }
    }
    known.set(id, made);
    return made;
  }

  return {
    async read(value) {
      const wire = readWire(value);
      if (!wire.ok) return { ok: false, reason: wire.code };
      const reading = await readingOf(wire.schemaId);
      if (typeof reading === 'string') return { ok: false, reason: reading };
      try {
        return { ok: true, value: convert(reading, wire.body) };
      } catch (error) {
        // avsc throws plain errors if bytes do not match the type. Their message may quote the bytes, so it is dropped.
        if (error instanceof Error) return { ok: false, reason: 'avro_malformed' };
        throw error;
      }
    },
    readAgain(value) {
      const wire = readWire(value);
      const reading = wire.ok ? known.get(wire.schemaId) : undefined;
      if (!wire.ok || typeof reading !== 'object') throw new Error('a value that was not read before');
      return convert(reading, wire.body);
    },
  };
}

function readValue(type: AvroType, { writer, resolver }: Reading, body: Buffer): unknown {
  assertHolds(writer, body);
  return type.fromBuffer(body, resolver ?? undefined);
}
