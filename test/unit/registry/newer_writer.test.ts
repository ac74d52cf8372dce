import { expect, test } from 'vitest';
import { createCodec, createEventBatchReader } from '#infra/registry/codec.ts';
import type { Registry } from '#infra/registry/schema_registry.ts';
import type { Duplicates } from '#schemas/records.ts';
import { schemaText } from '#schemas/schemas.ts';
import { avroType, writeWire } from '#schemas/wire.ts';

const OURS = 7;

/** A schema of ours in which a text is something that a reader of today cannot take. */
const changed = (name: 'duplicates' | 'event_batch', field: string): string => {
  const text = schemaText(name).replace(`"name":"${field}","type":"string"`, `"name":"${field}","type":"bytes_2"`);
  return text.replace('"bytes_2"', '{"type": "map", "values": "long"}');
};

const registryOf = (writer: string): Registry => ({
  register: async () => OURS,
  idOf: async () => OURS,
  typeOf: async () => avroType(writer),
});

const WAITS = { code: 'schema_newer', recovery: 'wait' };
const record = (id: number): Buffer => writeWire(id, Buffer.from([0]));

test('what a newer version of its schema wrote waits for a reader that knows it', async () => {
  const registry = registryOf(changed('duplicates', 'event_id'));
  const codec = await createCodec<Duplicates>(registry, 'dedup.duplicates', 'duplicates');
  await expect(codec.decode(record(OURS + 1))).rejects.toMatchObject(WAITS);
  await expect(codec.decode(record(OURS + 1))).rejects.toMatchObject(WAITS);
  const events = await createEventBatchReader(registryOf(changed('event_batch', 'event_id')), 'events.unique');
  await expect(events.read(record(OURS + 1))).rejects.toMatchObject(WAITS);
});

test('an older version that cannot be taken, and a schema of another name, wait for nobody', async () => {
  const older = await createCodec<Duplicates>(registryOf(changed('duplicates', 'event_id')), 'd', 'duplicates');
  expect(await older.decode(record(OURS - 1))).toEqual({ ok: false, reason: 'schema_mismatch' });
  const strange = await createCodec<Duplicates>(registryOf(schemaText('inventory')), 'd', 'duplicates');
  expect(await strange.decode(record(OURS + 1))).toEqual({ ok: false, reason: 'schema_mismatch' });
});

test('a table that is followed goes on without it', async () => {
  const registry = registryOf(changed('duplicates', 'event_id'));
  const codec = await createCodec<Duplicates>(registry, 'd', 'duplicates', 'left_out');
  expect(await codec.decode(record(OURS + 1))).toEqual({ ok: false, reason: 'schema_mismatch' });
});
