import { describe, expect, it } from 'vitest';
import { processBatch } from '#pipelines/intake/take_event.ts';
import { RECEIVED_AT_MS, refusal, server, siteWith, take } from './context.ts';

const DAY_MS = 86_400_000;
const history = server({ isHistorical: true });
const event = (changes: object = {}) => ({
  event: 'page_view',
  uuid: '0190a1b2-0000-7000-8000-000000000001',
  distinct_id: 'ann',
  timestamp: '2019-05-04T03:02:01Z',
  ...changes,
});

describe('a historical event', () => {
  it('keeps its time, and is marked', () => {
    const { timestamp, original_timestamp, received_at, historical } = take(event(), history);
    expect({ timestamp, original_timestamp, received_at, historical }).toEqual({
      timestamp: Date.UTC(2019, 4, 4, 3, 2, 1),
      original_timestamp: null,
      received_at: RECEIVED_AT_MS,
      historical: true,
    });
  });

  it('is marked by its request alone, whatever it says', () => {
    const said = { timestamp: undefined, historical: true, historical_migration: true };
    expect(take(event({ ...said, properties: said }), server()).historical).toBeUndefined();
  });

  it('keeps its time whatever clock its sender says to have', () => {
    const sentAtMs = RECEIVED_AT_MS - 3 * DAY_MS;
    expect(take(event(), { ...history, sentAtMs }).timestamp).toBe(Date.UTC(2019, 4, 4, 3, 2, 1));
  });

  it.each([
    ['2005-01-01T00:00:00Z', null],
    ['2004-12-31T23:59:59Z', 'timestamp_too_old'],
    [undefined, 'timestamp_missing'],
    [null, 'timestamp_missing'],
    ['yesterday', 'timestamp_invalid'],
    [1_556_938_921, 'timestamp_invalid'],
    [new Date(RECEIVED_AT_MS + 2 * DAY_MS).toISOString(), 'timestamp_ahead'],
    [new Date(RECEIVED_AT_MS + DAY_MS).toISOString(), null],
  ])('of %s: %s', (timestamp, code) => {
    expect(refusal(event({ timestamp }), history)).toBe(code);
  });

  it.each([
    ['2019-05-04 03:02:01.000000+00:00', null],
    [1_556_938_921_000_000, null],
    ['soon', 'timestamp_invalid'],
    ['', 'timestamp_invalid'],
  ])('of another product’s %s: %s, and never the arrival', (timestamp, code) => {
    expect(refusal(event({ timestamp }), { ...history, isCrossOrigin: true })).toBe(code);
  });

  it('is refused where the site would not keep it', () => {
    const kept = { ...history, site: siteWith({ event_days: 30 }) };
    const daysAgo = (days: number): string => new Date(RECEIVED_AT_MS - days * DAY_MS).toISOString();
    const codes = [29, 31].map((days) => refusal(event({ timestamp: daysAgo(days) }), kept));
    expect(codes).toEqual([null, 'timestamp_not_kept']);
    // As its age counts from when it came, another late event is.
    expect(refusal(event({ timestamp: daysAgo(31) }), { ...kept, isHistorical: false })).toBeNull();
  });

  it('has nothing of who brings it in', () => {
    expect(take(event(), history)).toMatchObject({ client_ip: null, client_user_agent: null });
    const shopper = { client_ip_address: '203.0.113.9', client_user_agent: 'Mozilla/5.0 Firefox/60.0' };
    expect(take(event({ properties: shopper }), history)).toMatchObject({
      client_ip: '203.0.113.9',
      client_user_agent: 'Mozilla/5.0 Firefox/60.0',
    });
    expect(take(event({ properties: { client_ip_address: '10.0.0.1' } }), history).client_ip).toBe('10.0.0.1');
  });

  it('names its visitor or customer', () => {
    const nobodys = event({ distinct_id: undefined });
    expect(refusal(nobodys, history)).toBe('distinct_id_missing');
    expect(refusal({ ...nobodys, properties: { client_ip_address: '203.0.113.9' } }, history)).toBe(
      'distinct_id_missing',
    );
    expect(refusal({ ...nobodys, properties: { email: 'ann@example.com' } }, history)).toBeNull();
    expect(refusal({ ...nobodys, properties: { external_id: '7' } }, history)).toBeNull();
  });

  it('without an id is the same whenever it is brought in', () => {
    const once = processBatch([event({ uuid: undefined })], history).taken;
    const later = processBatch([event({ uuid: undefined })], {
      ...history,
      receivedAtMs: RECEIVED_AT_MS + 30 * DAY_MS,
      clientIp: '192.0.2.1',
      anonymousSalt: Buffer.alloc(32, 9),
    }).taken;
    expect(later.map(({ event_id, distinct_id }) => [event_id, distinct_id])).toEqual(
      once.map(({ event_id, distinct_id }) => [event_id, distinct_id]),
    );
  });
});
