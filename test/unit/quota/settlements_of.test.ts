import { expect, test } from 'vitest';
import { settlementsOf } from '#pipelines/quota/settle.ts';
import type { EntryView } from '#schemas/event_batch.ts';

const OCTOBER_MS = Date.UTC(2026, 9, 31, 23, 59, 59, 999);
const NOVEMBER_MS = OCTOBER_MS + 1;

function view(siteId: string, receivedAtMs: number): EntryView {
  const empty = Buffer.alloc(0);
  return { coordinate: null, personBytes: empty, eventBytes: empty, siteId, eventId: '', distinctId: '', receivedAtMs };
}

const ACCOUNTS = new Map([
  ['shop', 'a'],
  ['blog', 'a'],
  ['bank', 'b'],
]);
const accountOf = (siteId: string): string | undefined => ACCOUNTS.get(siteId);

test('events are summed by account, month of arrival and record', () => {
  const records = [
    { offset: 4, views: [view('shop', OCTOBER_MS), view('blog', OCTOBER_MS), view('bank', OCTOBER_MS)] },
    { offset: 6, views: [view('shop', OCTOBER_MS), view('shop', NOVEMBER_MS)] },
  ];
  const both = [
    { offset: 4, count: 2 },
    { offset: 6, count: 1 },
  ];
  expect(settlementsOf(records, 3, accountOf)).toEqual([
    { accountId: 'a', month: '2026-10', partition: 3, records: both, newestMs: OCTOBER_MS },
    { accountId: 'b', month: '2026-10', partition: 3, records: [{ offset: 4, count: 1 }], newestMs: OCTOBER_MS },
    { accountId: 'a', month: '2026-11', partition: 3, records: [{ offset: 6, count: 1 }], newestMs: NOVEMBER_MS },
  ]);
});

test('a site without an account is left out', () => {
  expect(settlementsOf([{ offset: 0, views: [view('nobody', OCTOBER_MS)] }], 0, accountOf)).toEqual([]);
});
