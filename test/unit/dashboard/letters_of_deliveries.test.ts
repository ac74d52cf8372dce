import { expect, test, vi } from 'vitest';
import type { DeadLetterItem, ResendAnswer } from '#services/control_api/redelivery.ts';
import {
  DEAD_LETTER_FILTERS,
  isAllSettled,
  isOpen,
  resentSentence,
  stateOf,
} from '#services/dashboard/src/pages/dead_letters/dead_letter_groups.ts';
import { openBySite } from '#services/dashboard/src/pages/operations/operations_page.tsx';

// The router reads it as soon as it is imported.
vi.hoisted(() => vi.stubGlobal('location', new URL('http://localhost/dashboard/')));

const deadLetterOf = (change: Partial<DeadLetterItem>): DeadLetterItem =>
  ({
    ...{ stage: 'delivery', resent_at: null, resolved: null, delivery: 'dead', resendable: true, site_ids: ['shop'] },
    ...change,
  }) as DeadLetterItem;
const resolved = { at: 1, by: 'ada', note: 'a test' };

test.each<[Partial<DeadLetterItem>, string, string[]]>([
  [{}, 'Can be resent', ['open', 'all']],
  [{ delivery: 'unknown' }, 'Open; delivery unknown', ['open', 'all']],
  [{ delivery: 'waiting', resendable: false }, 'Waiting for a retry', ['open', 'all']],
  [{ delivery: null, resendable: false }, 'Cannot be resent', ['open', 'all']],
  [{ resent_at: 1 }, 'Resent', ['resent', 'all']],
  [{ resent_at: 1, delivery: 'delivered', resendable: false }, 'Delivered since', ['resent', 'delivered', 'all']],
  [{ delivery: 'delivered', resendable: false }, 'Delivered since', ['delivered', 'all']],
  [{ resolved }, 'Resolved', ['resolved', 'all']],
])('a letter that is %j is told as: %s', (change, text, filters) => {
  const deadLetter = deadLetterOf(change);
  expect(stateOf(deadLetter)).toBe(text);
  expect(DEAD_LETTER_FILTERS.filter(({ takes }) => takes(deadLetter)).map(({ value }) => value)).toEqual(filters);
  expect(isOpen(deadLetter)).toBe(filters.includes('open'));
});

test('what became of letters is told with why some were not sent', () => {
  const of = (...outcomes: ResendAnswer['items'][number]['outcome'][]): string =>
    resentSentence(outcomes.map((outcome, at) => ({ id: `delivery-0-${at}`, outcome })));
  expect(of('resent')).toBe('1 dead letter resent');
  expect(of('resent', 'resent', 'resent_before', 'delivered', 'cut')).toBe(
    '2 dead letters resent, 1 already resent, 1 already delivered, 1 could not be resent',
  );
  expect(of('replay_runs')).toBe('No dead letters resent, 1 skipped, as a replay to the destination is running');
});

test.each([
  [['resent', 'resent_before', 'delivered', 'waiting'], true],
  [['resent', 'cut'], false],
  [['replay_runs'], false],
  [['not_known'], false],
] as const)('of letters that are %j nothing is left to be done: %s', (outcomes, isSettled) => {
  expect(isAllSettled(outcomes.map((outcome, at) => ({ id: `delivery-0-${at}`, outcome })))).toBe(isSettled);
});

test('open letters are counted by site, those of several for each, and those that cannot be read apart', () => {
  const found = openBySite([
    deadLetterOf({ site_ids: ['shop', 'till'] }),
    deadLetterOf({ stage: 'dedup', site_ids: ['till'] }),
    deadLetterOf({ stage: 'dedup', site_ids: ['till'] }),
    deadLetterOf({ site_ids: [] }),
  ]);
  expect(found).toEqual([
    { siteId: 'till', count: 3, stages: ['delivery', 'dedup'] },
    { siteId: 'shop', count: 1, stages: ['delivery'] },
    { siteId: null, count: 1, stages: ['delivery'] },
  ]);
});
