import { expect, test, vi } from 'vitest';
import { CALL_PROBLEMS } from '#pipelines/intake/compat/mapped_call.ts';
import { REJECTIONS } from '#pipelines/intake/field_rules.ts';
import { needsEvents, rejectionAlerts } from '#services/dashboard/src/pages/overview/alerts_panel.tsx';
import {
  keptPart,
  REASON_TEXTS,
  reasonText,
  rejectionChart,
} from '#services/dashboard/src/pages/rejected_events/rejected_events_page.tsx';
import { EDGE_ERRORS } from '#services/edge/errors.ts';

// The router reads it as soon as it is imported.
vi.hoisted(() => vi.stubGlobal('location', new URL('http://localhost/dashboard/')));

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Codes of the edge that no site is told of: whose the request is is not known, it asked for something, or its events were counted. */
const NEVER = [
  ...['key_repeated', 'key_missing', 'measurement_id_missing', 'measurement_id_contested'],
  ...['not_found', 'method_not_allowed', 'domain_malformed', 'domain_unverified'],
  ...['events_rejected', 'allowance_exhausted', 'internal', 'not_taken_now'],
  ...['script_not_configured', 'script_not_built'],
];
const DROPS = ['bot', 'prefetch', 'blocked', 'quota'];
const WARNINGS = ['placeholder_id', 'id_too_long', 'timestamp_ahead', 'uuid_missing', 'uuid_reused'];

test('of every reason it is said in a sentence what it means and what to do', () => {
  const codes = new Set([
    ...Object.keys(EDGE_ERRORS),
    ...Object.keys(REJECTIONS),
    ...Object.keys(CALL_PROBLEMS),
    ...DROPS,
    ...WARNINGS,
  ]);
  for (const code of NEVER) codes.delete(code);
  expect(Object.keys(REASON_TEXTS).sort()).toEqual([...codes].sort());
  expect(Object.values(REASON_TEXTS).filter((text) => !/^[^.].{20,140}\.$/.test(text))).toEqual([]);
  expect(reasonText('constructor')).toBe('See docs/errors.md.');
});

test('lines over time are by hour, or by day of the zone of whoever looks', () => {
  const from = Date.UTC(2026, 10, 10, 22);
  const counts = [
    { at: from, kind: 'rejected', code: 'uuid_invalid', count: 3 },
    { at: from + HOUR_MS, kind: 'rejected', code: 'event_name_missing', count: 1 },
    { at: from + 2 * HOUR_MS, kind: 'dropped', code: 'bot', count: 5 },
  ] as const;
  const answer = { counts: [...counts], from: from + 5, to: from + 3 * HOUR_MS };
  expect(rejectionChart(answer, 'hour', 'UTC')).toMatchObject({
    starts: [from, from + HOUR_MS, from + 2 * HOUR_MS],
    series: [
      { name: 'Rejected events', values: [3, 1, 0] },
      { name: 'Dropped events', values: [0, 0, 5] },
      { name: 'Refused requests', values: [0, 0, 0] },
      { name: 'Warnings of accepted events', values: [0, 0, 0] },
    ],
  });
  const days = rejectionChart(answer, 'day', 'Europe/Brussels');
  expect(days.starts).toEqual([Date.UTC(2026, 10, 9, 23), Date.UTC(2026, 10, 10, 23)]);
  expect(days.series.map(({ values }) => values)).toEqual([
    [3, 1],
    [0, 5],
    [0, 0],
    [0, 0],
  ]);
});

test('what of a period is kept', () => {
  const nowMs = 100 * DAY_MS;
  expect(keptPart({ from: 0, to: nowMs }, nowMs)).toEqual({ from: 93 * DAY_MS, to: nowMs });
  expect(keptPart({ from: nowMs - DAY_MS, to: nowMs }, nowMs)).toEqual({ from: nowMs - DAY_MS, to: nowMs });
});

const rejected = (count: number) => ({ kind: 'rejected', code: 'uuid_invalid', count }) as const;
const foreign = (count: number) => ({ kind: 'refused', code: 'origin_not_allowed', count }) as const;

test.for([
  ['too few', [rejected(19), foreign(19)], 0, []],
  ['a small share', [rejected(20), foreign(20)], 2_000, []],
  ['a notable share', [rejected(15), rejected(6), foreign(21)], 2_000, ['rejected', 'origin']],
  ['only what is dropped', [{ kind: 'dropped', code: 'bot', count: 5_000 }], 10, []],
  ['nothing but what is refused', [foreign(20)], 0, ['origin']],
] as const)('%s of a day', ([, totals, events, ids]) => {
  const concerns = rejectionAlerts('a b', { totals: [...totals], events });
  expect(concerns.map(({ id }) => id)).toEqual([...ids]);
  expect(concerns.every(({ path }) => path === '/sites/a%20b/refusals')).toBe(true);
  if (ids.length > 0) expect(needsEvents([...totals])).toBe(true);
});

test('where too little is refused, events are not asked for, and nothing is said', () => {
  expect(needsEvents([rejected(19), foreign(19)])).toBe(false);
  expect(rejectionAlerts('shop', { totals: [rejected(19)], events: null })).toEqual([]);
});
