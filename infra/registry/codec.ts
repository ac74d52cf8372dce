import type { UnreadableReason } from '#pipelines/redelivery/dead_letter.ts';
import { type EntryView, eventBatchType, readBatch } from '#schemas/event_batch.ts';
import { type SchemaName, schemaType } from '#schemas/schemas.ts';
import { type AvroType, assertHolds, MalformedError, readWire, writeWire } from '#schemas/wire.ts';
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
  const readings = createReadings(registry, type, ownId, newer);
  return {
    encode: (value) => writeWire(ownId, type.toBuffer(value)),
    async decode(value) {
      const wire = readWire(value);
      if (!wire.ok) return { ok: false, reason: wire.code };
      const reading = await readings(wire.schemaId);
      if (typeof reading === 'string') return { ok: false, reason: reading };
      return guarded(() => readValue(type, reading, wire.body) as T);
    },
  };
}

/** Reads event batches as views over the record's memory. Bytes of an older schema are converted to ours first. */
export interface EventBatchReader {
  /** Schema id under which this process writes event batches. */
  readonly schemaId: number;
  read(value: Buffer | null): Promise<Decoded<EntryView[]>>;
}

export async function createEventBatchReader(registry: Registry, topic: string): Promise<EventBatchReader> {
  const schemaId = await registry.idOf(topic, 'event_batch');
  const readings = createReadings(registry, eventBatchType, schemaId, 'waits');
  return {
    schemaId,
    async read(value) {
      const wire = readWire(value);
      if (!wire.ok) return { ok: false, reason: wire.code };
      const reading = await readings(wire.schemaId);
      if (typeof reading === 'string') return { ok: false, reason: reading };
      return guarded(() => {
        if (reading.resolver === null) return readBatch(wire.body);
        return readBatch(eventBatchType.toBuffer(readValue(eventBatchType, reading, wire.body)));
      });
    },
  };
}

/** Finds how bytes of a schema id are read, or why they cannot be. @throws RegistryError */
function createReadings(
  registry: Registry,
  type: AvroType,
  ownId: number,
  newer: Newer,
): (id: number) => Promise<Reading | UnreadableReason> {
  const known = new Map<number, Reading | UnreadableReason>([[ownId, { writer: type, resolver: null }]]);
  return async (id) => {
    const found = known.get(id);
    if (found !== undefined) return found;
    const writer = await registry.typeOf(id);
    if (writer === null) return 'schema_unknown';
    const made = readingOf(type, writer);
    // Ids of a registry grow. One of another name is a record that stands on the wrong topic.
    const isNewer = made === 'schema_mismatch' && id > ownId && writer.name === type.name;
    if (isNewer && newer === 'waits') {
      throw new RegistryError('schema_newer', `schema ${id} is newer than ${ownId}, which this process knows`, null);
    }
    known.set(id, made);
    return made;
  };
}

function readingOf(type: AvroType, writer: AvroType): Reading | UnreadableReason {
  try {
    return { writer, resolver: type.createResolver(writer) };
  } catch {
    return 'schema_mismatch';
  }
}

function readValue(type: AvroType, { writer, resolver }: Reading, body: Buffer): unknown {
  assertHolds(writer, body);
  return type.fromBuffer(body, resolver ?? undefined);
}

/** avsc throws plain errors if bytes do not match the type. Their message may quote the bytes, so it is dropped. */
function guarded<T>(read: () => T): Decoded<T> {
  try {
    return { ok: true, value: read() };
  } catch (error) {
    if (error instanceof MalformedError || error instanceof Error) return { ok: false, reason: 'avro_malformed' };
    throw error;
  }
}
