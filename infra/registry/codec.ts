import { type AvroType, type SchemaName, schemaType } from '#schemas/avro.ts';
import { type EntryView, eventBatchType, readBatch } from '#schemas/event_batch.ts';
import { MalformedError } from '#schemas/varint.ts';
import { assertHolds } from '#schemas/walk.ts';
import { readWire, writeWire } from '#schemas/wire.ts';
import type { Registry } from './registry.ts';

/** Why a value cannot be read: the record is poison. */
export type PoisonReason =
  | 'wire_null'
  | 'wire_short'
  | 'wire_magic'
  | 'schema_unknown'
  | 'schema_mismatch'
  | 'avro_malformed';

export type Decoded<T> = { ok: true; value: T } | { ok: false; reason: PoisonReason };

export interface Codec<T> {
  encode(value: T): Buffer;
  /** Reads what any registered writer schema wrote. Throws RegistryError where the registry cannot be asked. */
  decode(value: Buffer | null): Promise<Decoded<T>>;
}

type Resolver = ReturnType<AvroType['createResolver']>;

/** Encodes and decodes the values of one topic in the Confluent wire format. */
export async function createCodec<T>(registry: Registry, topic: string, schema: SchemaName): Promise<Codec<T>> {
  const type = schemaType(schema);
  const ownId = await registry.idOf(topic, schema);
  const resolvers = createResolvers(registry, type, ownId);
  return {
    encode: (value) => writeWire(ownId, type.toBuffer(value)),
    async decode(value) {
      const wire = readWire(value);
      if (!wire.ok) return { ok: false, reason: wire.code };
      const resolver = await resolvers(wire.schemaId);
      if (typeof resolver === 'string') return { ok: false, reason: resolver as PoisonReason };
      const writer = resolver === null ? type : await registry.typeOf(wire.schemaId);
      return guarded(() => {
        assertHolds(writer ?? type, wire.body);
        return type.fromBuffer(wire.body, resolver ?? undefined) as T;
      });
    },
  };
}

/** Reads EventBatches as views over the record's memory. Bytes under an older schema are brought to ours first. */
export interface BatchReader {
  /** Schema id under which batches are written. */
  readonly schemaId: number;
  read(value: Buffer | null): Promise<Decoded<EntryView[]>>;
}

export async function createBatchReader(registry: Registry, topic: string): Promise<BatchReader> {
  const schemaId = await registry.idOf(topic, 'event_batch');
  const resolvers = createResolvers(registry, eventBatchType, schemaId);
  return {
    schemaId,
    async read(value) {
      const wire = readWire(value);
      if (!wire.ok) return { ok: false, reason: wire.code };
      const resolver = await resolvers(wire.schemaId);
      if (typeof resolver === 'string') return { ok: false, reason: resolver as PoisonReason };
      const writer = resolver === null ? null : await registry.typeOf(wire.schemaId);
      return guarded(() => {
        if (resolver === null) return readBatch(wire.body);
        assertHolds(writer ?? eventBatchType, wire.body);
        return readBatch(eventBatchType.toBuffer(eventBatchType.fromBuffer(wire.body, resolver)));
      });
    },
  };
}

/** Finds how a writer's schema is read as ours: null where it is ours, a reason where it cannot be. */
function createResolvers(
  registry: Registry,
  type: AvroType,
  ownId: number,
): (id: number) => Promise<Resolver | null | PoisonReason> {
  const known = new Map<number, Resolver | null | PoisonReason>([[ownId, null]]);
  return async (id) => {
    const found = known.get(id);
    if (found !== undefined) return found;
    const writer = await registry.typeOf(id);
    if (writer === null) return 'schema_unknown';
    const made = resolverOf(type, writer);
    known.set(id, made);
    return made;
  };
}

function resolverOf(type: AvroType, writer: AvroType): Resolver | PoisonReason {
  try {
    return type.createResolver(writer);
  } catch {
    return 'schema_mismatch';
  }
}

/** avsc throws plain errors at bytes that do not fit; their text may quote the bytes, so only the fact is kept. */
function guarded<T>(read: () => T): Decoded<T> {
  try {
    return { ok: true, value: read() };
  } catch (error) {
    if (error instanceof MalformedError || error instanceof Error) return { ok: false, reason: 'avro_malformed' };
    throw error;
  }
}
