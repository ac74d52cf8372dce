import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseIso8601 } from '#pipelines/intake/iso_8601.ts';
import { readTimestamp } from '#pipelines/intake/timestamp.ts';
import { checkAll } from '#test/harness/check_all.ts';

const RECEIVED_AT_MS = Date.UTC(2026, 10, 10, 12);
const HOUR_MS = 3_600_000;

describe('a timestamp', () => {
  it('is read in each of its forms', () =>
    checkAll(
      [
        ['2026-11-10T12:00:00Z', '2026-11-10T12:00:00.000Z'],
        ['2026-11-10t12:00:00z', '2026-11-10T12:00:00.000Z'],
        ['2026-11-10 12:00:00Z', '2026-11-10T12:00:00.000Z'],
        ['2026-11-10T12:00Z', '2026-11-10T12:00:00.000Z'],
        ['2026-11-10T12:00:00.1Z', '2026-11-10T12:00:00.100Z'],
        ['2026-11-10T12:00:00,25Z', '2026-11-10T12:00:00.250Z'],
        ['2026-11-10T12:00:00.123456789Z', '2026-11-10T12:00:00.123Z'],
        ['2026-11-10T12:00:00+01:00', '2026-11-10T11:00:00.000Z'],
        ['2026-11-10T12:00:00-0530', '2026-11-10T17:30:00.000Z'],
        ['2026-11-10T12:00+02', '2026-11-10T10:00:00.000Z'],
        ['2026-01-01T00:30:00+01:00', '2025-12-31T23:30:00.000Z'],
        ['2024-02-29T23:59:59Z', '2024-02-29T23:59:59.000Z'],
        ['2016-12-31T23:59:60Z', '2017-01-01T00:00:00.000Z'],
        ['2026-11-10T12:00:00-00:00', '2026-11-10T12:00:00.000Z'],
      ],
      ([text, instant]) => {
        expect(new Date(parseIso8601(text) ?? Number.NaN).toISOString()).toBe(instant);
      },
    ));

  it('is none of these', () =>
    checkAll(
      [
        '',
        'Z',
        '+',
        '2026-11-10',
        '2026-11-10T12:00:00',
        '2026-11-10T12:00:00.Z',
        '2026-11-10T12:00:00+',
        '2026-11-10T12:00:00+1',
        '2026-11-10T12:00:00+01:',
        '2026-11-10T12:00:00+01:0',
        '2026-11-10T12:00:00+01:000',
        '2026-11-10T12:00:00+24:00',
        '2026-11-10T12:00:00+01:60',
        '2026-11-10T12:00:00Z ',
        ' 2026-11-10T12:00:00Z',
        '2026-11-10T24:00:00Z',
        '2026-11-10T12:60:00Z',
        '2026-11-10T12:00:61Z',
        '2026-11-10T12:00:0Z',
        '2026-02-29T12:00:00Z',
        '2026-04-31T12:00:00Z',
        '2026-00-10T12:00:00Z',
        '2026-13-10T12:00:00Z',
        '2026-11-00T12:00:00Z',
        '0026-11-10T12:00:00Z',
        '2026-11-10X12:00:00Z',
        '2026/11/10T12:00:00Z',
        '20261110T120000Z',
        '2026-11-10T12:00:00 Europe/Berlin',
        'Tue, 10 Nov 2026 12:00:00 GMT',
        '1794312000',
        '２０２６-11-10T12:00:00Z',
        `2026-11-10T12:00:00.${'0'.repeat(30)}Z`,
      ],
      (text) => {
        expect(parseIso8601(text)).toBeNull();
      },
    ));

  it('reads every instant that JavaScript writes', () => {
    const range = {
      min: new Date('1000-01-01T00:00:00Z'),
      max: new Date('9999-12-31T23:59:59.999Z'),
      noInvalidDate: true,
    };
    fc.assert(fc.property(fc.date(range), (date) => parseIso8601(date.toISOString()) === date.getTime()));
  });

  it('is the arrival when absent', () => {
    for (const absent of [undefined, null]) {
      expect(readTimestamp(absent, RECEIVED_AT_MS)).toEqual({ ok: true, timestamp: RECEIVED_AT_MS, original: null });
    }
  });

  it.each([
    [0, RECEIVED_AT_MS, false],
    [24 * HOUR_MS, RECEIVED_AT_MS + 24 * HOUR_MS, false],
    [24 * HOUR_MS + 1, RECEIVED_AT_MS, true],
    [-731 * 24 * HOUR_MS, RECEIVED_AT_MS - 731 * 24 * HOUR_MS, false],
  ])('%i ms from arrival counts as %i', (ahead, timestamp, isReplaced) => {
    const sent = new Date(RECEIVED_AT_MS + ahead).toISOString();
    expect(readTimestamp(sent, RECEIVED_AT_MS)).toEqual({ ok: true, timestamp, original: isReplaced ? sent : null });
  });

  it('older than two years is rejected', () => {
    const sent = new Date(RECEIVED_AT_MS - 731 * 24 * HOUR_MS - 1).toISOString();
    expect(readTimestamp(sent, RECEIVED_AT_MS)).toEqual({ ok: false, code: 'timestamp_too_old' });
  });
});
