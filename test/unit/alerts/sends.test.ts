import { expect, it } from 'vitest';
import {
  answered,
  begun,
  firedAlert,
  GIVE_UP_MS,
  isDue,
  outlived,
  takenUp,
  testAlert,
  withSend,
} from '#pipelines/alerts/sends.ts';
import type { AlertSend, FiredAlert } from '#schemas/records.ts';
import { alertWith, DAY_MS, figureAt, HOUR_MS, NOON_MS } from './alert_world.ts';

const alert = alertWith({ quiet_hours: { from: '22:00', to: '07:00' } });
const firedAt = (at: number, id = 'f'): FiredAlert =>
  firedAlert('shop', alert, { id, is: 'fired', figure: figureAt(0, 1), at }, '');
const sendOf = ({ sends }: FiredAlert): AlertSend => sends[0] as AlertSend;
const EVENING_MS = NOON_MS + 11 * HOUR_MS;

it('holds in quiet hours what fires then, and has it due when they end', () => {
  const fired = firedAt(EVENING_MS);
  const due = (atMs: number) => isDue(fired, sendOf(fired), alert, 'UTC', atMs);
  expect([EVENING_MS, NOON_MS + 18 * HOUR_MS + 59 * 60_000, NOON_MS + 19 * HOUR_MS].map(due)).toEqual([
    false,
    false,
    true,
  ]);
  // By other clocks it is day.
  expect(isDue(fired, sendOf(fired), alert, 'America/Los_Angeles', EVENING_MS)).toBe(true);
});

it('sends a test at once, and what is of a removed alert is not held', () => {
  const test = testAlert('shop', alert, 't', EVENING_MS);
  expect(isDue(test, sendOf(test), alert, 'UTC', EVENING_MS)).toBe(true);
  const fired = firedAt(EVENING_MS);
  expect(isDue(fired, sendOf(fired), null, 'UTC', EVENING_MS)).toBe(true);
});

it('tries again with growing pauses for a day, and then gives up', () => {
  let send = sendOf(firedAt(NOON_MS));
  let nowMs = NOON_MS;
  const waits: number[] = [];
  while (send.state === 'due') {
    send = answered(begun(send, nowMs), { kind: 'again', reason: 'smtp_econnection' }, nowMs, 0.5);
    waits.push(send.due_at - nowMs);
    nowMs = Math.max(nowMs, send.due_at);
  }
  expect(waits.slice(0, 8).map((wait) => wait / 1_000)).toEqual([10, 20, 40, 80, 160, 320, 600, 600]);
  expect(send).toMatchObject({ state: 'given_up', reason: 'smtp_econnection' });
  expect(nowMs - NOON_MS).toBeGreaterThanOrEqual(GIVE_UP_MS);
  expect(nowMs - NOON_MS).toBeLessThan(GIVE_UP_MS + HOUR_MS);
});

it('waits as long as the receiver asks for, and gives up at once where nothing will help', () => {
  const send = begun(sendOf(firedAt(NOON_MS)), NOON_MS);
  expect(answered(send, { kind: 'again', reason: 'http_429', afterMs: 90_000 }, NOON_MS, 0).due_at).toBe(
    NOON_MS + 90_000,
  );
  expect(answered(send, { kind: 'never', reason: 'http_410' }, NOON_MS, 0)).toMatchObject({
    ...{ state: 'given_up', reason: 'http_410', done_at: NOON_MS },
  });
});

it('sends again what was begun and not answered, and says so', () => {
  const send = begun(sendOf(firedAt(NOON_MS)), NOON_MS);
  expect(takenUp(send)).toMatchObject({ state: 'due', is_repeated: true, attempts: 1 });
  const sent = answered(send, { kind: 'sent' }, NOON_MS, 0);
  expect(takenUp(sent)).toBe(sent);
});

it('keeps 90 days and 200 of a site, but nothing of a site that is gone, and all that is to be sent', () => {
  const done = (fired: FiredAlert): FiredAlert => withSend(fired, { ...sendOf(fired), state: 'sent' });
  const old = done(firedAt(NOON_MS - 91 * DAY_MS, 'old'));
  const open = firedAt(NOON_MS - 91 * DAY_MS, 'open');
  const many = Array.from({ length: 201 }, (_, at) => done(firedAt(NOON_MS - at, `many-${at}`)));
  const gone = outlived([old, open, ...many], NOON_MS, () => true).map(({ fired_id }) => fired_id);
  expect(gone.sort()).toEqual(['many-200', 'old']);
  expect(outlived([old, open], NOON_MS, () => false)).toHaveLength(2);
});
