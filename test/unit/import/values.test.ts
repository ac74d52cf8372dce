import { expect, test } from 'vitest';
import {
  createZoneOffsets,
  type DateForm,
  type Decimal,
  readNumber,
  readTime,
} from '#services/cli/import/read_values.ts';
import { checkAll } from '#test/harness/check_all.ts';

function numberOf(text: string, decimal: Decimal = 'auto'): number | string {
  const read = readNumber(text, decimal);
  return read.ok ? read.value : read.problem;
}

test('a cell of any length is refused at once', () => {
  const blanks = ' '.repeat(40_000);
  expect(numberOf(`1${blanks}x`)).toBe('number_unreadable');
  expect(readTime(`2026-01-01 10:00${blanks}x`, 'auto', 'UTC', createZoneOffsets())).toMatchObject({
    problem: 'time_unreadable',
  });
});

test('amounts are read as they are written, and one that may be two is none', () =>
  checkAll<[string, number | string, Decimal?]>(
    [
      ['12', 12],
      ['12,5', 12.5],
      ['12.50', 12.5],
      [' 1.234,56 ', 1234.56],
      ['1,234.56', 1234.56],
      ['1.234.567', 1_234_567],
      ['1,234,567', 1_234_567],
      ["1'234.50", 1234.5],
      ['1\u2019234,50', 1234.5],
      ['1 234,500', 1234.5],
      ['1\u00a0234\u202f567', 'number_unreadable'],
      ['1\u202f234\u202f567,8', 1_234_567.8],
      ['0,123', 0.123],
      ['1234,567', 1234.567],
      ['.5', 0.5],
      ['-12,50', -12.5],
      ['\u221212,50', -12.5],
      ['12,50-', -12.5],
      ['(12.50)', -12.5],
      ['+3', 3],
      ['0', 0],
      ['-0', 0],
      ['1.234', 'number_ambiguous'],
      ['1,234', 'number_ambiguous'],
      ['-12,345', 'number_ambiguous'],
      ['1.234', 1234, ','],
      ['1.234', 1.234, '.'],
      ['1,234', 1.234, ','],
      ['1,234', 1234, '.'],
      ['12,5', 'number_unreadable', '.'],
      ['1.23.4', 'number_unreadable'],
      ['1,2,3', 'number_unreadable'],
      ['12.345,6.7', 'number_unreadable'],
      ['1234.567,8', 'number_unreadable'],
      ['', 'number_unreadable'],
      ['-', 'number_unreadable'],
      [',', 'number_unreadable'],
      ['n/a', 'number_unreadable'],
      ['-(5)', 'number_unreadable'],
      ['1E5', 'number_unreadable'],
      ['1234567890123456', 'number_unreadable'],
    ],
    ([text, value, decimal]) => expect(numberOf(text, decimal)).toBe(value),
  ));

test('a currency may stand beside the amount', () =>
  checkAll<[string, number, string | null]>(
    [
      ['12,50 €', 12.5, 'EUR'],
      ['€12.50', 12.5, 'EUR'],
      ['EUR 1.234,50', 1234.5, 'EUR'],
      ['99 chf', 99, 'CHF'],
      ['$5.00', 5, null],
      ['-5,00 €', -5, 'EUR'],
      ['5', 5, null],
    ],
    ([text, value, currency]) => expect(readNumber(text, 'auto')).toEqual({ ok: true, value, currency }),
  ));

const offsets = createZoneOffsets();

function timeOf(text: string, form: DateForm = 'auto', zone: string | null = 'Europe/Berlin'): string {
  const read = readTime(text, form, zone, offsets);
  return read.ok ? new Date(read.timeMs).toISOString() : read.problem;
}

test('times are read in the zone that was stated, or in their own', () =>
  checkAll<[string, string, DateForm?, (string | null)?]>(
    [
      ['2026-11-27T14:03:05Z', '2026-11-27T14:03:05.000Z'],
      ['2026-11-27T14:03:05.25+05:30', '2026-11-27T08:33:05.250Z'],
      ['2026-11-27 14:03:05+0100', '2026-11-27T13:03:05.000Z'],
      ['2026-11-27 14:03:05 America/New_York', '2026-11-27T19:03:05.000Z'],
      ['20261127 140305', '2026-11-27T13:03:05.000Z'],
      ['20261127 140305 Asia/Shanghai', '2026-11-27T06:03:05.000Z'],
      ['2026-11-27 14:03', '2026-11-27T13:03:00.000Z'],
      ['2026/11/27 14:03', '2026-11-27T13:03:00.000Z'],
      ['27.11.2026 14:03', '2026-11-27T13:03:00.000Z'],
      ['27.11.2026, 9:03 Uhr', '2026-11-27T08:03:00.000Z'],
      ['3.4.2026 14:03', '2026-04-03T12:03:00.000Z'],
      ['27.11.2026', '2026-11-26T23:00:00.000Z'],
      ['2026-07-01', '2026-06-30T22:00:00.000Z'],
      ['11/27/2026 2:03 PM', '2026-11-27T13:03:00.000Z'],
      ['27/11/2026 12:03 a.m.', '2026-11-26T23:03:00.000Z'],
      ['04/04/2026', '2026-04-03T22:00:00.000Z'],
      ['03/04/2026', 'date_ambiguous'],
      ['03-04-2026 10:00', 'date_ambiguous'],
      ['27.11.26', 'date_ambiguous'],
      ['03/04/2026', '2026-04-02T22:00:00.000Z', 'dmy'],
      ['03/04/2026', '2026-03-03T23:00:00.000Z', 'mdy'],
      ['27.11.26', '2026-11-26T23:00:00.000Z', 'dmy'],
      ['2026-11-27 14:03', 'zone_missing', 'auto', null],
      ['27.11.2026', 'zone_missing', 'auto', null],
      ['2026-11-27T14:03Z', '2026-11-27T14:03:00.000Z', 'auto', null],
      ['2026-11-27 14:03', '2026-11-27T08:33:00.000Z', 'auto', 'Asia/Kolkata'],
      ['2026-11-27 14:03', '2026-11-27T12:03:00.000Z', 'auto', '+02:00'],
      ['1795168800', '2026-11-20T10:00:00.000Z', 'epoch_s', null],
      ['1795168800123', '2026-11-20T10:00:00.123Z', 'epoch_ms', null],
      ['46353.5', '2026-11-27T11:00:00.000Z', 'excel'],
      ['46353,5', '2026-11-27T11:00:00.000Z', 'excel'],
      ['46353', 'zone_missing', 'excel', null],
      ['1795168800', 'time_unreadable'],
      ['46353', 'time_unreadable'],
      ['31.02.2026', 'time_unreadable'],
      ['27.11.2026 24:10', 'time_unreadable'],
      ['27.11.2026 14:60', 'time_unreadable'],
      ['27.11.2026 14', 'time_unreadable'],
      ['11/27/2026 13:03 PM', 'time_unreadable'],
      ['2026-11-27 14:03 Mars/Base', 'time_unreadable'],
      ['Gesamt', 'time_unreadable'],
      ['', 'time_unreadable'],
    ],
    ([text, time, form, zone]) => expect(timeOf(text, form, zone)).toBe(time),
  ));

test('a time that clocks skipped or showed twice is none; a day begins all the same', () =>
  checkAll<[string, string, string?]>(
    [
      ['29.03.2026 01:59', '2026-03-29T00:59:00.000Z'],
      ['29.03.2026 02:30', 'time_skipped'],
      ['29.03.2026 03:00', '2026-03-29T01:00:00.000Z'],
      ['25.10.2026 01:59', '2026-10-24T23:59:00.000Z'],
      ['25.10.2026 02:30', 'time_repeated'],
      ['25.10.2026 02:30 +0100', '2026-10-25T01:30:00.000Z'],
      ['2026-10-25 02:30+01:00', '2026-10-25T01:30:00.000Z'],
      ['25.10.2026 03:00', '2026-10-25T02:00:00.000Z'],
      // At midnight the clocks of Beirut go on to one o'clock.
      ['2026-03-29', '2026-03-28T22:00:00.000Z', 'Asia/Beirut'],
    ],
    ([text, time, zone]) => expect(timeOf(text, 'auto', zone ?? 'Europe/Berlin')).toBe(time),
  ));
