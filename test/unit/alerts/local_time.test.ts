import { expect, it } from 'vitest';
import { intervalName, intervalStart, isWithin, localText, wallMs } from '#pipelines/settings/calendar.ts';

const BRUSSELS = { timeZone: 'Europe/Brussels', weekStart: 'monday' } as const;
const utc = (text: string): number => Date.parse(`${text}Z`);

it.each([
  ['day', '2027-03-01T22:59', '2027-03-01T23:00'],
  ['hour', '2027-03-01T12:59', '2027-03-01T13:00'],
  // Clocks are set back: the hour from two to three is there twice.
  ['hour', '2026-10-25T00:59', '2026-10-25T01:00'],
  ['week', '2027-03-07T22:59', '2027-03-07T23:00'],
  ['month', '2027-02-28T22:59', '2027-02-28T23:00'],
] as const)('an interval of a %s ends by the clocks of its zone', (interval, last, next) => {
  const before = intervalName(utc(last), interval, BRUSSELS);
  expect(intervalName(utc(last) - 60_000, interval, BRUSSELS)).toBe(before);
  expect(intervalName(utc(next), interval, BRUSSELS)).not.toBe(before);
});

it.each([
  ['monday', '2027-03-08'],
  ['sunday', '2027-03-07'],
  ['saturday', '2027-03-06'],
] as const)('weeks begin on %s', (weekStart, day) => {
  const calendar = { timeZone: 'UTC', weekStart };
  const begin = utc(`${day}T00:00`);
  expect(intervalName(begin, 'week', calendar)).not.toBe(intervalName(begin - 1, 'week', calendar));
  expect(intervalName(begin, 'week', calendar)).toBe(intervalName(begin + 7 * 86_400_000 - 1, 'week', calendar));
});

it.each([
  ['hour', '2026-10-25T01:59', 0, '2026-10-25T01:00'],
  ['hour', '2026-10-25T00:59', 1, '2026-10-25T01:00'],
  ['day', '2026-10-25T12:00', 0, '2026-10-24T22:00'],
  ['day', '2026-10-25T12:00', 1, '2026-10-25T23:00'],
  ['week', '2026-10-25T12:00', 0, '2026-10-18T22:00'],
  ['month', '2026-12-31T23:30', 0, '2026-12-31T23:00'],
  ['month', '2026-12-31T12:00', 2, '2027-01-31T23:00'],
] as const)('the %s of %s, %i later, begins by the clocks of its zone', (interval, time, later, start) => {
  expect(intervalStart(utc(time), interval, BRUSSELS, later)).toBe(utc(start));
});

it.each([
  ['America/Santiago', '2027-09-05', '2027-09-05T04:00'],
  ['America/Havana', '2027-03-14', '2027-03-14T05:00'],
  ['Africa/Cairo', '2027-04-30', '2027-04-29T22:00'],
] as const)(
  'in %s, where clocks are set forward at midnight, %s begins with its first hour',
  (timeZone, day, start) => {
    const calendar = { timeZone, weekStart: 'monday' } as const;
    expect(intervalStart(utc(`${day}T18:00`), 'day', calendar)).toBe(utc(start));
    expect(intervalStart(utc(start) - 1, 'day', calendar, 1)).toBe(utc(start));
  },
);

it('reads hours over midnight, in the zone', () => {
  const night = { from: '22:00', to: '07:00' };
  const within = (text: string) => isWithin(utc(text), night, 'Europe/Brussels');
  expect(['2027-03-01T20:59', '2027-03-01T21:00', '2027-03-02T05:59', '2027-03-02T06:00'].map(within)).toEqual([
    false,
    true,
    true,
    false,
  ]);
  expect(isWithin(utc('2027-03-01T12:00'), { from: '09:00', to: '17:00' }, 'UTC')).toBe(true);
  expect(isWithin(utc('2027-03-01T17:00'), { from: '09:00', to: '17:00' }, 'UTC')).toBe(false);
});

it('shows what clocks show', () => {
  expect(localText(utc('2027-07-01T22:30'), 'Europe/Brussels')).toBe('2027-07-02 00:30');
  expect(wallMs(utc('2027-01-01T00:00'), 'Asia/Kathmandu')).toBe(utc('2027-01-01T05:45'));
});
