import { describe, expect, it } from 'vitest';
import { REJECTIONS } from '#pipelines/intake/field_rules.ts';
import { readEnvelope } from '#pipelines/intake/take_event.ts';

describe('the request body', () => {
  it.each([
    [null, 400, 'body_not_object'],
    ['x', 400, 'body_not_object'],
    [[], 400, 'body_not_object'],
    [{}, 400, 'events_missing'],
    [{ Events: [] }, 400, 'events_missing'],
    [{ events: null }, 400, 'events_not_array'],
    [{ events: { 0: {} } }, 400, 'events_not_array'],
    [{ events: [] }, 400, 'events_empty'],
    [{ events: [1, 2, 3] }, 413, 'events_too_many'],
  ] as const)('%j is refused with %i %s', (body, status, code) => {
    expect(readEnvelope(body, 2)).toEqual({ ok: false, status, code, message: REJECTIONS[code] });
  });

  it('with 1 to the most events is read, whatever the events are', () => {
    expect(readEnvelope({ events: [1, {}], more: 1 }, 2)).toEqual({
      ...{ ok: true, events: [1, {}] },
      sentAtMs: null,
      historical: false,
    });
  });

  it.each([
    ['2026-11-10T12:00:00Z', Date.UTC(2026, 10, 10, 12)],
    [1_794_312_000_000, 1_794_312_000_000],
    [0, 0],
    [86_400_000.5, 86_400_000],
    ['1794312000000', null],
    ['soon', null],
    [-1, null],
    [1_794_312_000, 1_794_312_000_000],
    [1_794_312_000_000_000, 1_794_312_000_000],
    [1_794_312_000_000_000_000, 1_794_312_000_000],
    [1e20, null],
    [Number.MAX_VALUE, null],
    [{}, null],
  ])('sent at %j says %j', (sent_at, sentAtMs) => {
    expect(readEnvelope({ events: [1], sent_at }, 2)).toMatchObject({ ok: true, events: [1], sentAtMs });
  });
});
