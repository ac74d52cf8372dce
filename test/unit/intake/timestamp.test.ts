import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseIso8601, readTimestamp } from '#pipelines/intake/timestamp.ts';
import { checkAll } from '#test/harness/check_all.ts';
import { server, take } from '#test/unit/intake/context.ts';

const RECEIVED_AT_MS = Date.UTC(2026, 10, 10, 12);
const HOUR_MS = 3_600_000;
const BROWSER = { receivedAtMs: RECEIVED_AT_MS, caller: 'browser' } as const;
const SERVER = { receivedAtMs: RECEIVED_AT_MS, caller: 'server' } as const;
const ARRIVAL = { ok: true, timestamp: RECEIVED_AT_MS } as const;

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
        ['2026-11-10T12:00:00', '2026-11-10T12:00:00.000Z'],
        ['2026-11-10 12:00:00', '2026-11-10T12:00:00.000Z'],
        ['2026-11-10 12:00:00.5', '2026-11-10T12:00:00.500Z'],
        ['2026-11-10T12:00', '2026-11-10T12:00:00.000Z'],
        ['2026-11-10', '2026-11-10T00:00:00.000Z'],
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
        '2026-02-30',
        '2026-11-1',
        '2026-11-10T',
        '2026-11-10T12',
        '2026-11-10T12:00:00.',
        '2026-11-10T12:00:',
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
      expect(readTimestamp(absent, BROWSER)).toEqual({ ...ARRIVAL, original: null, warning: null });
    }
  });

  it.each([
    [0, RECEIVED_AT_MS, null],
    [24 * HOUR_MS, RECEIVED_AT_MS + 24 * HOUR_MS, null],
    [24 * HOUR_MS + 1, RECEIVED_AT_MS, 'timestamp_ahead'],
    [-731 * 24 * HOUR_MS, RECEIVED_AT_MS - 731 * 24 * HOUR_MS, null],
    [-731 * 24 * HOUR_MS - 1, RECEIVED_AT_MS, 'timestamp_too_old'],
  ])('%i ms from arrival counts as %i, with the warning %s', (ahead, timestamp, warning) => {
    const sent = new Date(RECEIVED_AT_MS + ahead).toISOString();
    const original = warning === null ? null : sent;
    expect(readTimestamp(sent, BROWSER)).toEqual({ ok: true, timestamp, original, warning });
  });

  it('decades ahead is rather a number in the wrong field, which is not kept', () => {
    const foreign = { ...BROWSER, isCrossOrigin: true };
    for (const [sent, request] of [
      [4_915_112_345_678, foreign],
      ['4915112345678', foreign],
      ['2999-01-01T00:00:00.4915112345678Z', BROWSER],
    ] as const) {
      expect(readTimestamp(sent, request)).toEqual({ ...ARRIVAL, original: null, warning: 'timestamp_ahead' });
    }
    const clock = '2038-01-19T03:14:07Z';
    expect(readTimestamp(clock, BROWSER)).toEqual({ ...ARRIVAL, original: clock, warning: 'timestamp_ahead' });
  });

  it('of a server that is older than two years is rejected, by whatever protocol it came', () => {
    const sent = new Date(RECEIVED_AT_MS - 731 * 24 * HOUR_MS - 1).toISOString();
    for (const request of [SERVER, { ...SERVER, isCrossOrigin: true }]) {
      expect(readTimestamp(sent, request)).toEqual({ ok: false, code: 'timestamp_too_old' });
    }
  });

  it.each([
    ['two days behind', -48 * HOUR_MS],
    ['an hour ahead', HOUR_MS],
    ['three days ahead', 72 * HOUR_MS],
    ['at 1970', -RECEIVED_AT_MS],
    ['five minutes and a bit behind', -300_008],
  ])('of a clock that is %s is moved by as much', (_, off) => {
    const sent = new Date(RECEIVED_AT_MS + off + 5).toISOString();
    for (const request of [BROWSER, SERVER]) {
      const read = readTimestamp(sent, { ...request, sentAtMs: RECEIVED_AT_MS + off + 7 });
      expect(read).toEqual({ ok: true, timestamp: RECEIVED_AT_MS - 2, original: sent, warning: null });
    }
  });

  it('of a clock that is right stays as it is, however late it comes', () => {
    const sent = '2026-11-01T08:00:00.123Z';
    for (const off of [-300_000, 0, 300_000]) {
      const read = readTimestamp(sent, { ...BROWSER, sentAtMs: RECEIVED_AT_MS + off });
      expect(read).toEqual({ ok: true, timestamp: Date.parse(sent), original: null, warning: null });
    }
  });

  it('stays as it is where the request was not sent when it says, as it would happen where none can', () =>
    checkAll(
      [0, -HOUR_MS, 1_795_789_942, RECEIVED_AT_MS - 3 * 365 * 24 * HOUR_MS, RECEIVED_AT_MS + 729 * 24 * HOUR_MS, 9e13],
      (sentAtMs) => {
        const sent = '2026-11-07T12:00:00.123Z';
        for (const request of [BROWSER, SERVER, { ...BROWSER, isCrossOrigin: true }]) {
          const read = readTimestamp(sent, { ...request, sentAtMs });
          expect(read).toEqual({ ok: true, timestamp: Date.parse(sent), original: null, warning: null });
        }
      },
    ));

  it('of a browser that speaks another product’s protocol is moved by the least that its clock is off', () => {
    const sent = '2026-11-10 11:00:00';
    const read = readTimestamp(sent, { ...BROWSER, isCrossOrigin: true }, RECEIVED_AT_MS - 7);
    const timestamp = Date.parse(`${sent}Z`) + 7;
    expect(read).toEqual({ ok: true, timestamp, original: sent, warning: null });
  });

  it('of another product’s protocol may be a number in any unit, or as text', () =>
    checkAll(
      [1_794_312_000, '1794312000', 1_794_312_000_000, '1794312000000', 1_794_312_000_000_000, '1794312000000000000'],
      (sent) => {
        expect(readTimestamp(sent, { ...SERVER, isCrossOrigin: true })).toMatchObject({ timestamp: 1_794_312_000_000 });
        expect(readTimestamp(sent, SERVER)).toEqual({ ok: false, code: 'timestamp_invalid' });
      },
    ));

  it('that is none keeps the event of another product’s protocol, and nothing of what was sent', () =>
    checkAll(['garbage', 'jane@example.com', '', {}, true, -1, 1e20, Number.NaN, '-5', '1e9'], (sent) => {
      const read = readTimestamp(sent, { ...SERVER, isCrossOrigin: true });
      expect(read).toEqual({ ...ARRIVAL, original: null, warning: 'timestamp_invalid' });
      expect(readTimestamp(sent, BROWSER)).toEqual({ ok: false, code: 'timestamp_invalid' });
    }));
});

describe('an event without an id', () => {
  const foreign = server({ isCrossOrigin: true });
  const idsOf = (timestamp: unknown): Set<string> =>
    new Set(
      [0, 1].map((at) => take({ event: 'e', timestamp }, { ...foreign, randomEventId: () => `id-${at}` }).event_id),
    );

  it('is recognised by its time, whatever form that has, and not by one that is none', () => {
    expect(idsOf(1_794_312_000.5).size).toBe(1);
    expect(idsOf(1_794_312_000_123).size).toBe(1);
    expect(idsOf('2026-11-10T10:00:00.123Z').size).toBe(1);
    for (const coarse of [1_794_312_000, '1794312000', '2026-11-10', 'garbage']) expect(idsOf(coarse).size).toBe(2);
  });
});
