import { expect, test, vi } from 'vitest';
import type { Listing } from '#pipelines/analytics/event_lists.ts';
import {
  askedFrom,
  browserQuestion,
  cameSince,
  likelyOrigins,
  pageOf,
  rejectedNow,
} from '#services/dashboard/src/pages/install/install_page.tsx';

// The router reads it as soon as it is imported.
vi.hoisted(() => vi.stubGlobal('location', new URL('http://localhost/dashboard/')));

const event = (received_at: number, properties: Record<string, unknown> = {}): Listing['events'][number] =>
  ({ event: 'page_view', received_at, properties }) as Listing['events'][number];

test('only events of browser keys are asked for, and those of just before the page was opened as well', () => {
  expect(browserQuestion(5).filters).toEqual([{ field: { column: 'caller' }, is: 'equal', to: ['browser'] }]);
  expect(askedFrom({ openedMs: 100_000, newest: null })).toBe(40_000);
  expect(askedFrom({ openedMs: 100_000, newest: event(90_000) })).toBe(90_000);
});

test('an event is the first when it is newer than the page was opened', () => {
  expect(cameSince({ openedMs: 100, newest: null })).toBe(false);
  expect(cameSince({ openedMs: 100, newest: event(100) })).toBe(false);
  expect(cameSince({ openedMs: 100, newest: event(101) })).toBe(true);
});

test('the page of an event is what the tag or a compatible client says; anything but a text is none', () => {
  expect(pageOf(event(0, { $current_url: 'https://a.example/' }))).toBe('https://a.example/');
  expect(pageOf(event(0, { page_location: 'https://b.example/' }))).toBe('https://b.example/');
  expect(pageOf(event(0, { $current_url: 7 }))).toBe('');
});

test('pages of a site are likely at the name that its domains are below', () => {
  expect(likelyOrigins([{ domain: 't.shop.co.uk' }, { domain: 'e.shop.co.uk' }])).toEqual([
    'https://shop.co.uk',
    'https://*.shop.co.uk',
  ]);
  expect(likelyOrigins([])).toEqual([]);
});

test('what is rejected now is what counts more than before, and requests and events refused in the hour, without warnings', () => {
  const bot = { kind: 'dropped', code: 'bot' } as const;
  const foreign = { kind: 'refused', code: 'origin_not_allowed' } as const;
  const odd = { kind: 'rejected', code: 'bot' } as const;
  const before = { from: 0, totals: [{ ...bot, count: 12 }] };
  const totals = [
    { ...bot, count: 13 },
    { ...foreign, count: 2 },
    { kind: 'warned', code: 'placeholder_id', count: 4 } as const,
  ];
  const found = [
    { ...foreign, count: 2, added: 2 },
    { ...bot, count: 13, added: 1 },
  ];
  expect(rejectedNow(before, { from: 0, totals })).toEqual(found);
  expect(rejectedNow(before, { from: 0, totals: [{ ...odd, count: 12 }] })).toEqual([{ ...odd, count: 12, added: 12 }]);
  expect(rejectedNow({ from: 0, totals }, { from: 0, totals })).toEqual([{ ...foreign, count: 2, added: 0 }]);
  expect(rejectedNow(before, before)).toEqual([]);
});
