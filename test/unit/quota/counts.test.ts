import { expect, test } from 'vitest';
import { isClosed, openMonths } from '#pipelines/quota/limits.ts';
import { byLog, countedEvents, countsOf, settlementsOf } from '#pipelines/quota/settle.ts';
import type { EncodedEvent } from '#schemas/event_batch.ts';
import type { Reserved } from '#schemas/wire.ts';

const OCTOBER_MS = Date.UTC(2026, 9, 31, 23, 59, 59, 999);
const NOVEMBER_MS = OCTOBER_MS + 1;

function record(offset: number, count: number, reserved: Reserved | null, receivedAtMs = OCTOBER_MS) {
  const bytes = Buffer.alloc(0);
  const head = { coordinate: null, personBytes: bytes, eventBytes: bytes, siteId: '', eventId: '', distinctId: '' };
  const views = Array.from({ length: count }, (): EncodedEvent => ({ ...head, receivedAtMs }));
  return { offset, reserved, views };
}

const passed = (...offsets: number[]) => offsets.map((offset) => ({ recordOffset: offset }));

test('events are counted by account, month of arrival and lease', () => {
  const records = [
    record(1, 3, { accountId: 'a', lease: 'x' }),
    record(2, 2, { accountId: 'a', lease: 'x' }),
    record(3, 1, { accountId: 'a', lease: 'y' }),
    record(4, 1, { accountId: 'b', lease: '' }, NOVEMBER_MS),
    record(5, 2, null),
    record(6, 0, { accountId: 'a', lease: 'x' }),
  ];
  const october = { month: '2026-10', newest_at: OCTOBER_MS };
  expect(countsOf(records, passed(1, 1, 2, 3, 5))).toEqual([
    { account_id: 'a', ...october, hold: 'x', unique: 3, duplicate: 2 },
    { account_id: 'a', ...october, hold: 'y', unique: 1, duplicate: 0 },
    { account_id: 'b', month: '2026-11', newest_at: NOVEMBER_MS, hold: '', unique: 0, duplicate: 1 },
    { account_id: '', ...october, hold: '', unique: 1, duplicate: 1 },
  ]);
});

test('counts are settled by account and month, in their order', () => {
  const count = { account_id: 'a', month: '2026-10', hold: 'x', unique: 3, duplicate: 2, newest_at: 7 };
  const batch = [
    { partition: 1, next_offset: 4, log: 'one', counts: [count, { ...count, hold: '', newest_at: 9 }] },
    { partition: 1, next_offset: 6, log: 'one', counts: [] },
    { partition: 1, next_offset: 8, log: 'one', counts: [{ ...count, account_id: '' }, count] },
  ];
  expect(settlementsOf(batch)).toEqual([
    {
      accountId: 'a',
      month: '2026-10',
      partition: 1,
      log: 'one',
      newestMs: 9,
      ranges: [
        { nextOffset: 4, unique: 6, arrived: [{ lease: 'x', events: 5 }] },
        { nextOffset: 8, unique: 3, arrived: [{ lease: 'x', events: 5 }] },
      ],
    },
  ]);
  expect(countedEvents(batch)).toEqual({ unique: 12, duplicate: 8, withoutAccount: 3 });
});

test('counts are cut where another events.raw begins', () => {
  const of = (log: string, next_offset: number) => ({ partition: 1, next_offset, log, counts: [] });
  const [old, older, anew] = [of('one', 8), of('one', 9), of('two', 1)];
  expect(byLog([old, older, anew])).toEqual([[old, older], [anew]]);
  expect(byLog([])).toEqual([[]]);
});

test('this month and the last are open', () => {
  expect(openMonths(Date.UTC(2026, 0, 31))).toEqual(['2026-01', '2025-12']);
  expect(openMonths(Date.UTC(2026, 2, 31))).toEqual(['2026-03', '2026-02']);
  expect(isClosed('2026-01', Date.UTC(2026, 2, 31))).toBe(false);
  expect(isClosed('2026-01', Date.UTC(2026, 4, 1))).toBe(true);
});
