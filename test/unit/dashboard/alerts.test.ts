import { expect, test, vi } from 'vitest';
import type { DeadLetterItem } from '#services/control_api/redelivery.ts';
import {
  deadLetterAlerts,
  deliveryAlerts,
  quotaAlerts,
  tagAlerts,
} from '#services/dashboard/src/pages/overview/alerts_panel.tsx';
import { healthOf, tagOf } from '#test/browser/dashboard/harness/concern_answers.ts';

// The router reads it as soon as it is imported.
vi.hoisted(() => vi.stubGlobal('location', new URL('http://localhost/dashboard/')));

/** A third of November is over. */
const NOW_MS = Date.UTC(2026, 10, 11);
const account = (used_this_month: number | null) => ({
  ...{ account_id: 'acme', name: 'Acme', monthly_allowance: 1_000, used_this_month },
  ...{ version: 'v', changed_at: 0, changed_by: '' },
});
const deadLetter = (resent_at: number | null, resolved: DeadLetterItem['resolved'] = null) => ({
  ...{
    id: 'dedup-0-1',
    stage: 'dedup' as const,
    destination: null,
    reason: 'r',
    detail: '',
    topic: 't',
    partition: 0,
    offset: 1,
    index: 0,
  },
  ...{ died_at: 0, bytes_total: 1, cut: false, resendable: true, resent_at, resolved, events: 1 },
  ...{ site_ids: ['shop'], event: null, delivery: null },
});

test('nothing is wrong where all is well', () => {
  expect([
    ...deliveryAlerts('shop', [healthOf('meta'), healthOf('ga4', { state: 'idle' })], NOW_MS),
    ...tagAlerts('shop', tagOf(), NOW_MS),
    ...quotaAlerts(account(100), NOW_MS),
    ...quotaAlerts(account(null), NOW_MS),
    ...quotaAlerts(account(300), NOW_MS),
    ...deadLetterAlerts('shop', [deadLetter(1), deadLetter(null, { at: 1, by: 'ada', note: 'a test' })], false),
  ]).toEqual([]);
});

test.for([
  ['waits_for_settings', 'bad', 'meta rejects its settings (token_expired)'],
  ['failing', 'bad', 'meta is not delivering (token_expired)'],
  ['delivering', 'warn', '7 events to meta failed in the last 24 hours'],
] as const)('a destination that is %s', ([state, severity, title]) => {
  const [concern] = deliveryAlerts(
    'a b',
    [healthOf('meta', { state, reason: 'token_expired', dead: 9, failed: 7, waiting: 3 })],
    NOW_MS,
  );
  expect(concern).toMatchObject({ severity, title, path: '/sites/a%20b/destinations' });
});

test('what died and was delivered since is no concern, and advice names only what is so', () => {
  expect(deliveryAlerts('shop', [healthOf('meta', { dead: 4, failed: 0 })], NOW_MS)).toEqual([]);
  const adviceOf = (waiting: number, failed: number): string | undefined =>
    deliveryAlerts('shop', [healthOf('meta', { state: 'failing', waiting, failed })], NOW_MS)[0]?.advice;
  expect(adviceOf(0, 4)).toMatch(/^4 events failed permanently/);
  expect(adviceOf(2, 0)).toMatch(/^2 events are waiting, to be retried automatically\. If/);
  expect(adviceOf(0, 0)).toMatch(/^If this persists/);
});

test('a tag that never sent, fell quiet, was forbidden, or whose definition stopped', () => {
  const titles = (more: Parameters<typeof tagOf>[0]): string[] =>
    tagAlerts('shop', tagOf(more), NOW_MS).map(({ title }) => title);
  expect(titles({ state: 'never' })).toEqual(['No browser has sent an event yet']);
  expect(titles({ state: 'quiet', last_event_at: NOW_MS - 7_200_000 })).toEqual([
    'Browsers send far fewer events than usual, last 2 h ago',
  ]);
  expect(titles({ reported: { retried: 5, dropped: 0, rejected: 0, blocked: 12 } })).toEqual([
    'A content security policy blocked 12 requests of the tag in the last 7 days',
  ]);
  const definition = { id: 'd', name: 'Sign-up', fired: 3, last_fired_at: NOW_MS, usual_gap_ms: 1 };
  expect(
    titles({
      definitions: [
        { ...definition, state: 'stopped' },
        { ...definition, id: 'e', state: 'quiet' },
      ],
    }),
  ).toEqual(['“Sign-up” stopped firing']);
});

test.for([
  [1_200, 'bad', 'The monthly allowance is used up: events are dropped'],
  [1_000, 'bad', 'The monthly allowance is used up'],
  [800, 'warn', 'The monthly allowance will be exceeded'],
  [450, 'warn', 'The monthly allowance will be exceeded'],
] as const)('%i of 1,000 events after a third of the month', ([used, severity, title]) => {
  expect(quotaAlerts(account(used), NOW_MS)).toMatchObject([{ severity, title, path: '/account' }]);
});

test('dead letters of the site that nobody sent in again, and that were not delivered since', () => {
  const since = (delivery: DeadLetterItem['delivery']): DeadLetterItem => ({ ...deadLetter(null), delivery });
  expect(deadLetterAlerts('shop', [since('delivered'), since('dead'), since('unknown')], false)).toMatchObject([
    { title: '2 open dead letters (dedup)', query: { site: 'shop', period: '90d' } },
  ]);
  expect(deadLetterAlerts('shop', [deadLetter(null), deadLetter(1)], false)).toMatchObject([
    { title: '1 open dead letter (dedup)' },
  ]);
  expect(deadLetterAlerts('shop', [deadLetter(1), deadLetter(1)], true)).toMatchObject([
    { title: 'More than 2 dead letters: open ones are unknown' },
  ]);
  expect(deadLetterAlerts('shop', [deadLetter(null), deadLetter(null)], true)).toMatchObject([
    { title: 'More than 2 open dead letters (dedup)' },
  ]);
});
