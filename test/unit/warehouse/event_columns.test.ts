import { expect, test } from 'vitest';
import {
  type ColumnarEvent,
  columnarEvents,
  EVENT_COLUMNS,
  nativeBlock,
} from '#infra/clickhouse/inserts/event_columns.ts';
import { type EncodedEvent, encodeEvent, noPerson } from '#schemas/event_batch.ts';
import { MalformedError } from '#schemas/wire.ts';
import { testPhoneHmac } from '#test/harness/event_row.ts';
import { sampleEvent } from '../schemas/sample_event.ts';

const eventBytes = encodeEvent(sampleEvent({ value: 12.5 }));

function view(changes: Partial<EncodedEvent>): EncodedEvent {
  const head = { siteId: 'shop', eventId: 'e', distinctId: 'd', receivedAtMs: 1 };
  return { coordinate: null, personBytes: noPerson(), eventBytes, ...head, ...changes };
}

const ofSite = (site_id: string): EncodedEvent => view({ eventBytes: encodeEvent(sampleEvent({ site_id })) });

/** The rows of events of which none is refused. */
function rowsOf(views: readonly EncodedEvent[]): ColumnarEvent[] {
  const { rows, poisonPills } = columnarEvents(views, testPhoneHmac);
  expect(poisonPills).toEqual([]);
  return rows;
}

const blockOf = (...views: EncodedEvent[]): Buffer => nativeBlock(rowsOf(views));

test('bytes that are cut anywhere, or longer, are refused', () => {
  const cut = Array.from(eventBytes, (_, length) => view({ eventBytes: eventBytes.subarray(0, length) }));
  const longer = view({ eventBytes: Buffer.concat([eventBytes, Buffer.from([0])]) });
  const { rows, poisonPills } = columnarEvents([...cut, longer], testPhoneHmac);
  expect(rows).toEqual([]);
  expect(poisonPills.map(({ index }) => index)).toEqual([...cut, longer].map((_, index) => index));
  for (const { error } of poisonPills) expect(error).toBeInstanceOf(MalformedError);
});

test('an event that is refused harms no row before or behind it', () => {
  const [a, b, c] = [ofSite('a'), ofSite('b'), ofSite('c')];
  const cut = view({ eventBytes: eventBytes.subarray(0, -1) });
  const views = [a, cut, b, view({ coordinate: { partition: 2 ** 40, offset: 0, index: 0 } }), c];
  const { rows, poisonPills } = columnarEvents(views, testPhoneHmac, undefined, () => [...views]);
  expect(poisonPills.map(({ index }) => index)).toEqual([1, 3]);
  expect(nativeBlock(rows)).toEqual(blockOf(a, b, c));
  expect(rows.map((row) => row.view)).toEqual([a, b, c]);
});

test('a flipped byte is refused or makes a row, and nothing else', () => {
  const alone = blockOf(view({})).length;
  for (let at = 0; at < eventBytes.length; at++) {
    for (const bit of [0x01, 0x40, 0x80, 0xff]) {
      const flipped = Buffer.from(eventBytes);
      flipped[at] = (flipped[at] ?? 0) ^ bit;
      const { rows, poisonPills } = columnarEvents([view({ eventBytes: flipped })], testPhoneHmac);
      expect(rows.length + poisonPills.length).toBe(1);
      if (rows.length === 1) expect(nativeBlock(rows).length).toBeLessThan(alone + 256);
      for (const { error } of poisonPills) expect(error).toBeInstanceOf(MalformedError);
    }
  }
});

test('of a number that is none nothing is kept', () => {
  const none = view({ eventBytes: encodeEvent(sampleEvent({ value: Number.NaN })) });
  const nothing = view({ eventBytes: encodeEvent(sampleEvent({ value: null })) });
  expect(blockOf(none)).toEqual(blockOf(nothing));
});

test('a block says how many columns and rows it has', () => {
  const block = blockOf(...Array.from({ length: 300 }, () => view({})));
  expect([...block.subarray(0, 3)]).toEqual([EVENT_COLUMNS.length, 0x80 | (300 & 0x7f), 300 >> 7]);
});

const [a, b, c, d] = ['a', 'b', 'c', 'd'].map(ofSite) as [EncodedEvent, EncodedEvent, EncodedEvent, EncodedEvent];
const BLOCKS: [
  what: string,
  of: (first: ColumnarEvent[], second: ColumnarEvent[]) => unknown[],
  views: EncodedEvent[],
][] = [
  ['whole chunks', (first, second) => [...first, ...second], [a, b, c, d]],
  ['a chunk and a part of one before it', (first, second) => [first[1], ...second], [b, c, d]],
  ['a chunk and a part of one behind it', (first, second) => [...first, second[0]], [a, b, c]],
  ['a part between chunks', (first, second) => [...first, second[1], ...first], [a, b, d, a, b]],
  ['another order', (first, second) => [second[1], second[0], first[1], first[0]], [d, c, b, a]],
  ['one row twice', (first) => [first[0], first[0], first[1]], [a, a, b]],
  ['one row of each', (first, second) => [first[0], second[0]], [a, c]],
  ['none', () => [], []],
];

test.each(BLOCKS)('a block of rows that were written apart: %s', (_what, of, views) => {
  const rows = of(rowsOf([a, b]), rowsOf([c, d])) as ColumnarEvent[];
  expect(nativeBlock(rows)).toEqual(blockOf(...views));
});

test('rows stay as they are while others are written', () => {
  const rows = rowsOf([a, b]);
  const before = nativeBlock(rows);
  rowsOf(Array.from({ length: 1_000 }, () => d));
  expect(nativeBlock(rows)).toEqual(before);
});
