import { Readable } from 'node:stream';
import { ClickHouseError } from '@clickhouse/client';
import { expect, test } from 'vitest';
import type { Warehouse } from '#infra/clickhouse/client.ts';
import { columnarEvents } from '#infra/clickhouse/inserts/event_columns.ts';
import { refusedAsIs } from '#pipelines/redelivery/resend.ts';
import { createBatchWriter, encodeEvent, noPerson, readBatch } from '#schemas/event_batch.ts';
import { WIRE_HEADER_BYTES } from '#schemas/wire.ts';
import { createInsert, createTableWaits } from '#services/warehouse/insert.ts';
import type { Row } from '#services/warehouse/tables.ts';
import { testPhoneHmac } from '#test/harness/event_row.ts';
import { sampleEvent } from '#test/unit/schemas/sample_event.ts';

const BATCH = 7;
const TOKEN = 'events.identified/3/40-41';

function views(count: number) {
  const writer = createBatchWriter(BATCH);
  for (let index = 0; index < count; index++) {
    const event = sampleEvent({ event_id: `e-${index}` });
    writer.add({ partition: 3, offset: 40, index }, noPerson(), encodeEvent(event));
  }
  return readBatch(writer.finish().subarray(WIRE_HEADER_BYTES));
}

/** A warehouse whose ClickHouse answers every insert with an error, or takes it where there is none. */
function world() {
  const server = { error: null as ClickHouseError | null, inserts: 0, nowMs: 0 };
  const deadLetters: { reason: string; value: Buffer | null }[] = [];
  const said: string[] = [];
  const gauges: number[] = [];
  const answer = async () => {
    server.inserts++;
    if (server.error !== null) throw server.error;
    return { stream: Readable.from([]) };
  };
  const waits = createTableWaits(
    { gauge: () => ({ set: (_labels: object, value: number) => void gauges.push(value) }) as never },
    { error: (_facts: object, text: string) => void said.push(text), info: () => undefined } as never,
    () => server.nowMs,
  );
  const asked = { insert: answer, exec: answer, query: answer };
  const insert = createInsert({
    warehouse: {
      ...asked,
      attempt: (ask: (server: typeof asked) => unknown) => ask(asked),
    } as unknown as Warehouse,
    cluster: null,
    tables: { tableOf: () => 'event_rows' },
    deadLetters: {
      write: async (_at, reason, _detail, value) => void deadLetters.push({ reason, value }),
      writePoisonPill: async () => undefined,
    },
    metrics: { in: () => undefined, dropped: () => undefined },
    logger: { warn: () => undefined } as never,
    dedupWindowMs: Number.MAX_SAFE_INTEGER,
    uuidTexts: async () => () => false,
    eventSchemaId: BATCH,
    waits,
  });
  const write = (rows: readonly Row[], again = false) =>
    insert('events.identified', TOKEN, rows, again, () => undefined);
  return { server, deadLetters, said, gauges, waits, write };
}

const unknownTable = new ClickHouseError({ code: '60', type: 'UNKNOWN_TABLE', message: '' });
const wrongType = new ClickHouseError({ code: '53', type: 'TYPE_MISMATCH', message: '' });

test('while the table is away no row is to blame, the process is not able, and one line says so', async () => {
  const { server, deadLetters, said, gauges, waits, write } = world();
  const { rows } = columnarEvents(views(16), testPhoneHmac);
  server.error = unknownTable;
  for (let tries = 0; tries < 3; tries++) {
    await expect(write(rows)).rejects.toMatchObject({ code: 'warehouse_mismatch', recovery: 'wait' });
  }
  // After a failure the block is taken up, and looked for in the table that is away.
  await expect(write(rows, true)).rejects.toMatchObject({ code: 'warehouse_mismatch', recovery: 'wait' });
  expect(server.inserts).toBe(4);
  expect(deadLetters).toEqual([]);
  expect(waits.areNone()).toBe(false);
  expect(said).toHaveLength(1);
  server.error = null;
  await write(rows);
  expect(waits.areNone()).toBe(true);
  expect(gauges).toEqual([1, 0]);
});

test('rows that are all refused for one reason for minutes are to blame, and their letters can be sent in again', async () => {
  const { server, deadLetters, write } = world();
  const events = views(2);
  const { rows } = columnarEvents(events, testPhoneHmac);
  server.error = wrongType;
  await expect(write(rows)).rejects.toMatchObject({ code: 'warehouse_mismatch' });
  server.nowMs += 300_000;
  await write(rows);
  expect(deadLetters.map(({ reason }) => reason)).toEqual(['warehouse_refused', 'warehouse_refused']);
  for (const [at, { value }] of deadLetters.entries()) {
    const bytes = value as Buffer;
    const deadLetter = { stage: 'warehouse', reason: 'warehouse_refused', bytes, bytes_total: bytes.length };
    expect(refusedAsIs(deadLetter as never)).toBeNull();
    const [again] = readBatch(bytes.subarray(WIRE_HEADER_BYTES));
    expect(again?.coordinate).toEqual({ partition: 3, offset: 40, index: at });
    expect(again?.eventBytes).toEqual(events[at]?.eventBytes);
  }
});

test('a row of another table has no event, and its letter cannot be sent in again', async () => {
  const { server, deadLetters, write } = world();
  server.error = wrongType;
  await write([{ site_id: 'shop' }]);
  const bytes = deadLetters[0]?.value as Buffer;
  expect(JSON.parse(bytes.toString())).toEqual({ site_id: 'shop' });
  const deadLetter = { stage: 'warehouse', reason: 'warehouse_refused', bytes, bytes_total: bytes.length };
  expect(refusedAsIs(deadLetter as never)).toBe('not_resendable');
});
