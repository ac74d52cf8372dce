import { expect, test } from 'vitest';
import { faultOptions } from '#test/fault/options.ts';
import { atShare, linesOf, problemsOf, type RollingFacts } from '#test/fault/rolling/verdict.ts';

test.each([
  ['rolling', { rate: 10_000, minutes: 10, brokers: 1 }],
  ['rolling --rate 2000 --minutes 2 --brokers 3', { rate: 2_000, minutes: 2, brokers: 3 }],
  ['upgrade', null],
  ['--only rolling_restart', null],
])('%s', (words, rolling) => {
  expect(faultOptions(words.split(' ')).rolling).toEqual(rolling);
});

test.each([
  ['rolling upgrade', 'the drill rolling is run by itself'],
  ['upgrade --rate 5', '--rate is of the drill rolling'],
  ['rolling --rate fast', '--rate must be a whole number'],
  ['roll', 'no drill is called roll: upgrade, rolling'],
])('%s is refused', (words, message) => {
  expect(() => faultOptions(words.split(' '))).toThrow(message);
});

const HELD: RollingFacts = {
  ...{ rate: 100, seconds: 10, moved: 3, deaths: 0, processors: 2 },
  answers: new Map([
    ['200', 400],
    ['connection', 2],
  ]),
  events: { accepted: 1_000, givenUp: 0, lost: 0, doubled: 0 },
  lateness: new Map([
    [120, 990],
    [900, 10],
  ]),
  requestMs: [10, 20, 30],
  restarts: [{ name: 'dedup', tookMs: 2_500 }],
  cpu: new Map([
    ['edge', 4],
    ['sender', 6],
  ]),
};

test('a share of all events, not of blocks, says how late they are found', () => {
  expect([0.5, 0.99, 0.991, 1].map((share) => atShare(HELD.lateness, share))).toEqual([1_210, 1_210, 9_010, 9_010]);
  expect(atShare(new Map(), 0.5)).toBeNaN();
});

test('connections that broke and were tried again are told and no failure', () => {
  expect(problemsOf(HELD)).toEqual([]);
  expect(linesOf(HELD)).toEqual([
    'requests: 200: 400, connection: 2; moved to the other edge: 3',
    'events: 1,000 accepted (100/s), given up 0, lost 0, doubled 0',
    'accepted after (p50, p99, most): 20 ms, 30 ms, 30 ms',
    'queryable after (p50, p99, most): 1,210 ms, 1,210 ms, 9,010 ms',
    'restarts: 1, of 2,500 ms on average, 2,500 at most',
    'CPU: 50 % of 2 processors; sender 0.60, edge 0.40',
    'held',
  ]);
});

test.each<[Partial<RollingFacts>, string]>([
  [{ answers: new Map([['503 not_acknowledged', 1]]) }, '1 requests were answered 503 not_acknowledged'],
  [{ events: { ...HELD.events, givenUp: 20 } }, '20 events were given up'],
  [{ events: { ...HELD.events, lost: 1 } }, '1 accepted events were lost'],
  [{ events: { ...HELD.events, doubled: 2 } }, '2 events were stored more than once'],
  [{ lateness: new Map([[1_000, 1]]) }, 'p99 to queryable is 10010 ms'],
  [{ lateness: new Map() }, 'p99 to queryable is NaN ms'],
  [{ events: { ...HELD.events, accepted: 900 } }, '90 events/s were accepted, not 100'],
  [{ deaths: 1 }, '1 processes ended unasked'],
])('%j does not hold', (facts, problem) => {
  expect(problemsOf({ ...HELD, ...facts })).toEqual([problem]);
  expect(linesOf({ ...HELD, ...facts }).at(-1)).toBe('DID NOT HOLD');
});
