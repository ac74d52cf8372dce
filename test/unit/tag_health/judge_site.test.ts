import { expect, test } from 'vitest';
import { HOUR_MS, siteVolume } from '#pipelines/tag/tag_health.ts';

const DAY = 24;
/** Half past an hour. */
const HOUR = 480_012;
const NOW_MS = (HOUR + 0.5) * HOUR_MS;

/** As many events in each hour as `countOf` says, `days` before the last day and in it. */
function hoursOf(days: number, countOf: (hour: number, isLastDay: boolean) => number): Map<number, number> {
  const hours = new Map<number, number>();
  for (let hour = HOUR - (days + 1) * DAY - 1; hour <= HOUR; hour += 1) {
    const count = countOf(hour, hour >= HOUR - DAY);
    if (count > 0) hours.set(hour, count);
  }
  return hours;
}

test('a site without any event never sent one', () => {
  expect(siteVolume(new Map(), NOW_MS)).toMatchObject({ state: 'never', lastDay: { now: 0, usual: null } });
});

test('what is usual is not known in the first three days', () => {
  expect(
    siteVolume(
      hoursOf(1, () => 10),
      NOW_MS,
    ),
  ).toMatchObject({ state: 'new', lastDay: { usual: null } });
  expect(
    siteVolume(
      hoursOf(3, () => 10),
      NOW_MS,
    ),
  ).toMatchObject({ state: 'receiving', lastDay: { usual: 240 } });
});

test('a site that fell from 300 events a day to 1 is quiet, for two weeks at least', () => {
  const at = hoursOf(14, (_hour, isLastDay) => (isLastDay ? 0 : 12.5)).set(HOUR - 3, 1);
  expect(siteVolume(at, NOW_MS)).toMatchObject({ state: 'quiet', lastDay: { now: 1 } });
  for (let day = 1; day <= 12; day += 1) {
    const fallen = hoursOf(27, (hour) => (hour >= HOUR - day * DAY ? 0 : 12.5)).set(HOUR, 1);
    expect(siteVolume(fallen, NOW_MS).state, `day ${day}`).toBe('quiet');
  }
});

test('a large site is quiet within the hour', () => {
  const hours = hoursOf(7, () => 1_000)
    .set(HOUR, 0)
    .set(HOUR - 1, 100);
  expect(siteVolume(hours, NOW_MS)).toMatchObject({ state: 'quiet', lastHour: { now: 50, usual: 1_000 } });
});

test('a night is usual', () => {
  const hours = hoursOf(7, (hour) => (hour % DAY === HOUR % DAY || hour % DAY === (HOUR - 1) % DAY ? 0 : 1_000));
  expect(siteVolume(hours, NOW_MS)).toMatchObject({ state: 'receiving', lastHour: { now: 0, usual: 0 } });
});

test('half of a usual day is nothing to tell of, and neither is silence where little is usual', () => {
  expect(
    siteVolume(
      hoursOf(7, (_hour, isLast) => (isLast ? 6 : 12)),
      NOW_MS,
    ).state,
  ).toBe('receiving');
  expect(
    siteVolume(
      hoursOf(7, (hour) => (hour % DAY === 3 ? 5 : 0)),
      NOW_MS,
    ).state,
  ).toBe('receiving');
});

test('of the hour under way only what has passed is compared', () => {
  const hours = hoursOf(7, () => 100).set(HOUR, 50);
  expect(siteVolume(hours, NOW_MS)).toMatchObject({
    lastHour: { now: 100, usual: 100 },
    lastDay: { now: 2_400, usual: 2_400 },
  });
});
