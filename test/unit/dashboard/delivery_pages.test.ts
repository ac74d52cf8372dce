import { expect, test } from 'vitest';
import type { LetterItem } from '#services/control_api/dead_letter_shapes.ts';
import type { ReplayItem } from '#services/control_api/replay_shapes.ts';
import { countsByDay, letterGroups, portions } from '#services/dashboard/src/pages/dead_letters/letter_groups.ts';
import { adviceFor, destinationRows } from '#services/dashboard/src/pages/destinations/destination_rows.ts';
import {
  changeOf,
  draftOf,
  type Kind,
  settingFields,
} from '#services/dashboard/src/pages/destinations/setting_form.ts';
import { countedSentence, replayBody, shownState } from '#services/dashboard/src/pages/replays/replay_sentences.ts';

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
  const item = { site_id: 's', name: 'meta', enabled: true, settings: {}, secrets: [], version: '1' };
  const meta = { ...item, changed_at: 0, changed_by: '' };
  const states = (enabled: boolean, health: [] | null): string[] =>
    destinationRows([{ ...meta, enabled }], [KIND], health).map(({ state }) => state);
  expect([states(true, null), states(true, []), states(false, [])]).toEqual([['unknown'], ['idle'], ['off']]);
});

test.each([
  ['settings_invalid', /setting is missing/],
  ['meta_token_expired', /credentials/],
  ['http_503', /tried again by itself/],
  ['address_refused', /public internet/],
  ['meta_100', /Attempts says/],
])('%s has advice of its own', (reason, advice) => {
  expect(adviceFor(reason, false)).toMatch(advice);
});

test('a code of a platform of its own is about the credentials where it waits for settings', () => {
  expect(adviceFor('meta_190_460', true)).toMatch(/credentials/);
  expect(adviceFor('settings_invalid', true)).toMatch(/setting is missing/);
});

test('letters of one stage and reason are one group, with the days that have none', () => {
  const letter = (reason: string, died_at: number) => ({ stage: 'identity', reason, died_at, events: 2 }) as LetterItem;
  const [first, second] = letterGroups([letter('a', 5), letter('b', 6), letter('b', 2 * DAY_MS)]);
  expect([first?.reason, first?.count, first?.events, second?.reason]).toEqual(['b', 2, 4, 'a']);
  expect(first && countsByDay(first, 0, 3 * DAY_MS)).toEqual([1, 0, 1]);
  expect(portions(Array.from({ length: 250 }, String)).map(({ length }) => length)).toEqual([100, 100, 50]);
});

test('a replay is told in a sentence before it is sent, and asks for the range as it is now', () => {
  const counted = { to_send: 1, delivered: 5, pending: 2, unreadable: 0, not_reached: 0, estimate_ms: 2, rate: 500 };
  expect(countedSentence(counted as ReplayItem)).toBe(
    '1 event to send, 5 known as delivered, 2 waiting for a retry of their own, about 1 s at 500 a second',
  );
  expect(countedSentence({ ...counted, to_send: 3, skipped_before: 2 } as ReplayItem)).toMatch(
    /^3 events to send, of which 2 were skipped before and may be skipped again, 5 known/,
  );
  expect(shownState({ state: 'done', dry_run: true }).label).toBe('Counted, nothing sent');
  expect(shownState({ state: 'done', dry_run: false }).label).toBe('Done');
  const draft = { destination: 'meta', site: '', source: 'events', range: '24h', rate: '', force: false } as const;
  expect(replayBody(draft, 2 * DAY_MS)).toEqual({
    ...{ destination: 'meta', source: 'events', force: false, from: DAY_MS, to: 2 * DAY_MS },
  });
});
