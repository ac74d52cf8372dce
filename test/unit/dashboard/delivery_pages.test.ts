import { expect, test } from 'vitest';
import type { DeadLetterItem, ReplayItem } from '#services/control_api/redelivery.ts';
import {
  countsByDay,
  deadLetterGroups,
  portions,
} from '#services/dashboard/src/pages/dead_letters/dead_letter_groups.ts';
import {
  adviceFor,
  destinationRows,
  failedText,
  stateSentence,
  testAdvice,
} from '#services/dashboard/src/pages/destinations/destination_rows.ts';
import {
  changeOf,
  draftOf,
  type Kind,
  settingFields,
} from '#services/dashboard/src/pages/destinations/setting_form.ts';
import {
  countedSentence,
  rangeOfSource,
  rangeProblems,
  rangesFor,
  replayBody,
  sendLabel,
  shownState,
} from '#services/dashboard/src/pages/replays/replay_sentences.ts';
import { healthOf } from '#test/browser/dashboard/harness/concern_answers.ts';

const DAY_MS = 86_400_000;
const KIND: Kind = {
  name: 'meta',
  title: 'Meta',
  schema: {
    required: ['version', 'pixel_id', 'token'],
    properties: {
      version: { title: 'Version', default: 'v25.0' },
      pixel_id: { title: 'Pixel' },
      token: { title: 'Token', secret: true },
      limits: { title: 'Limits', enum: ['unset', 'none'], default: 'unset' },
    },
  },
};
const FIELDS = settingFields(KIND);

test('what must be given comes first, and what has a default need not be', () => {
  expect(FIELDS.map(({ name, isNeeded }) => `${name} ${isNeeded}`)).toEqual([
    ...['pixel_id true', 'token true', 'version false', 'limits false'],
  ]);
});

test('only what was changed is sent; an emptied setting is removed, and an empty secret kept', () => {
  const item = { settings: { pixel_id: '1', version: 'v24.0' } };
  const draft = draftOf(FIELDS, item);
  expect(draft).toEqual({ pixel_id: '1', token: '', version: 'v24.0', limits: 'unset' });
  expect(changeOf(FIELDS, draft, item)).toEqual({});
  expect(changeOf(FIELDS, { ...draft, pixel_id: ' 2 ', version: '', token: 'new', limits: 'none' }, item)).toEqual({
    settings: { pixel_id: '2', version: null, limits: 'none' },
    secrets: { token: 'new' },
  });
});

test('a destination that is switched off is off whatever its health, and without answer nothing is claimed', () => {
  const item = {
    site_id: 's',
    name: 'meta',
    kind: 'meta',
    enabled: true,
    settings: {},
    secrets: [],
    rules: [],
    version: '1',
  };
  const meta = { ...item, changed_at: 0, changed_by: '' };
  const states = (enabled: boolean, health: [] | 'loading' | null): string[] =>
    destinationRows([{ ...meta, enabled }], [KIND], health).map(({ state }) => state);
  expect([states(true, null), states(true, []), states(false, [])]).toEqual([['unknown'], ['idle'], ['off']]);
  expect([states(true, 'loading'), states(false, 'loading')]).toEqual([['loading'], ['off']]);
});

test.each([
  ['settings_invalid', /setting is missing/],
  ['meta_token_expired', /credentials/],
  ['http_503', /retried automatically/],
  ['address_refused', /public internet/],
  ['meta_100', /Attempts has/],
])('%s has advice of its own', (reason, advice) => {
  expect(adviceFor(reason, false)).toMatch(advice);
});

test('a code of a platform of its own is about the credentials where it waits for settings', () => {
  expect(adviceFor('meta_190_460', true)).toMatch(/credentials/);
  expect(adviceFor('settings_invalid', true)).toMatch(/setting is missing/);
});

test('letters of one stage and reason are one group, with the days that have none', () => {
  const deadLetter = (reason: string, died_at: number) =>
    ({ stage: 'identity', reason, died_at, events: 2 }) as DeadLetterItem;
  const [first, second] = deadLetterGroups([deadLetter('a', 5), deadLetter('b', 6), deadLetter('b', 2 * DAY_MS)]);
  expect([first?.reason, first?.count, first?.events, second?.reason]).toEqual(['b', 2, 4, 'a']);
  expect(first && countsByDay(first, 0, 3 * DAY_MS)).toEqual([1, 0, 1]);
  expect(portions(Array.from({ length: 250 }, String)).map(({ length }) => length)).toEqual([100, 100, 50]);
});

test('a replay is told in a sentence before it is sent, and asks for the range as it is now', () => {
  const counted = { to_send: 1, delivered: 5, pending: 2, unreadable: 0, not_reached: 0, estimate_ms: 2, rate: 500 };
  expect(countedSentence(counted as ReplayItem)).toBe(
    '1 event to send, 5 already delivered, 2 waiting for a retry, about 1 s at 500 a second',
  );
  expect(countedSentence({ ...counted, to_send: 3, skipped_before: 2 } as ReplayItem)).toMatch(
    /^3 events to send, of which 2 were skipped before and may be skipped again, 5 already/,
  );
  expect(shownState({ state: 'done', dry_run: true }).label).toBe('Counted, nothing sent');
  expect(shownState({ state: 'done', dry_run: false }).label).toBe('Done');
  const draft = {
    destination: 'meta',
    site: '',
    source: 'events',
    range: '24h',
    rate: '',
    force: false,
    from: '',
    to: '',
  } as const;
  expect(replayBody(draft, 2 * DAY_MS)).toEqual({
    ...{ destination: 'meta', source: 'events', force: false, from: DAY_MS, to: 2 * DAY_MS },
  });
});

test('while a replay sends, the sentence says what counting found', () => {
  const found = { delivered: 5, pending: 0, unreadable: 0, skipped_before: 0 };
  const now = { to_send: 4, delivered: 0, pending: 0, unreadable: 0, not_reached: 0, estimate_ms: null, rate: 500 };
  expect(countedSentence({ ...now, found } as ReplayItem)).toBe('4 events to send, 5 already delivered');
});

test.each([
  [null, 'Send'],
  [0, 'Nothing to send'],
  [1, 'Send 1 event'],
])('the button that sends %s events says %s', (count, label) => {
  expect(sendLabel(count)).toBe(label);
});

test('dead letters are replayed whenever they died, events of a day', () => {
  const of = (source: 'events' | 'dead_letters') => {
    const draft = { destination: 'meta', site: 'shop', from: '', to: '', rate: '', force: false };
    return replayBody({ ...draft, ...rangeOfSource(source) }, 50 * DAY_MS).from;
  };
  expect([of('events'), of('dead_letters')]).toEqual([49 * DAY_MS, 10 * DAY_MS]);
  for (const source of ['events', 'dead_letters'] as const) {
    expect(rangesFor(source).map(({ value }) => value)).toContain(rangeOfSource(source).range);
  }
  expect(rangesFor('events').map(({ value }) => value)).not.toContain('kept');
});

test('a range of two moments is sent as it is, up to now without an end, and not where it makes no sense', () => {
  const nowMs = Date.parse('2026-11-25T12:00');
  const draft = {
    destination: 'meta',
    site: 'shop',
    source: 'dead_letters',
    range: 'own',
    rate: '',
    force: false,
  } as const;
  const of = (from: string, to: string) => ({ ...draft, from, to });
  expect(replayBody(of('2026-11-25T10:00', '2026-11-25T11:00'), nowMs)).toMatchObject({
    ...{ from: nowMs - 7_200_000, to: nowMs - 3_600_000, site_id: 'shop' },
  });
  expect(replayBody(of('2026-11-25T10:00', ''), nowMs)).toMatchObject({ to: nowMs });
  const wrong = (from: string, to: string) =>
    Object.entries(rangeProblems(of(from, to), nowMs)).flatMap(([field, text]) => (text === '' ? [] : [field]));
  expect(wrong('2026-11-25T10:00', '')).toEqual([]);
  expect(wrong('', '')).toEqual(['from']);
  expect(wrong('2026-11-25T10:00', '2026-11-25T09:00')).toEqual(['to']);
  expect(wrong('2026-11-26T10:00', '2026-11-27T09:00')).toEqual(['from']);
});

test.each([
  ['failing', 0, 0, 'The newest event was not delivered.'],
  ['failing', 1, 0, 'The newest event was not delivered. 1 event is waiting, to be retried automatically.'],
  [
    ...['failing', 0, 4],
    'The newest event was not delivered. 4 events failed permanently: replay them once the cause is fixed.',
  ],
  [
    ...['waits_for_settings', 3, 0],
    'Nothing is sent until its settings are changed. 3 events are waiting, to be sent after that automatically.',
  ],
  ['delivering', 0, 4, 'The newest event was delivered.'],
] as const)('%s with %i events that wait and %i that failed is told as it is', (state, waiting, failed, sentence) => {
  expect(stateSentence({ state, health: healthOf('meta', { state, waiting, failed }) })).toBe(sentence);
});

test('what failed and was put right since is no loss any more, and stays counted', () => {
  const texts = [
    { failed: 0, dead: 0 },
    { failed: 1, dead: 3 },
    { failed: 0, dead: 4 },
  ].map(failedText);
  expect(texts).toEqual(['None', '1 event', 'None left; 4 did in the last 24 hours']);
});

test.each(['http_503', 'http_429', 'meta_100', 'token_expired'])(
  'advice about a test that ended in %s is about a test',
  (reason) => {
    expect(testAdvice(reason, false)).not.toMatch(/by itself|replay/);
    expect(testAdvice(reason, false)).toMatch(/test/);
  },
);
