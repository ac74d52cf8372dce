import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { processBatch } from '#pipelines/intake/take_event.ts';
import { browser, CHROME, RANDOM_ID, server, siteWith, take } from './context.ts';

const AT = '2026-11-10T11:00:00.123Z';
const id = (event: Record<string, unknown>, context = browser()): string =>
  take({ event: 'e', ...event }, context).event_id;

describe('a sent uuid', () => {
  it.each([
    ['01890A5D-AC96-774B-BCCE-B302099A8057', '01890a5d-ac96-774b-bcce-b302099a8057'],
    ['Order-7', 'Order-7'],
    [' Order-7 ', 'Order-7'],
    ['x'.repeat(200), 'x'.repeat(200)],
  ])('%s is the event id %s', (uuid, eventId) => {
    expect(id({ uuid })).toBe(eventId);
  });

  it.each(['jane@example.com', 'order-jane@example.com-1', '+14155550100', 'jane%40example.com'])(
    '%s becomes a keyed hash, a different one for each',
    (uuid) => {
      expect(id({ uuid })).toMatch(/^h_[0-9a-f]{64}$/);
      expect(id({ uuid })).toBe(id({ uuid }));
      expect(id({ uuid })).not.toBe(id({ uuid: `${uuid}2` }));
    },
  );
});

describe('an id as what was shown to visitors has', () => {
  const uuid = '0151291a-0917-4000-8000-4155550100aa:form:quote:submitted';

  it('is nobody else’s', () => {
    for (const sent of [uuid, uuid.toUpperCase().replace('FORM', 'form'), ` ${uuid}`]) {
      expect(id({ uuid: sent })).toMatch(/^h_[0-9a-f]{64}$/);
    }
    expect(id({ uuid: uuid.replace(':form:', ':order:') })).toBe(uuid.replace(':form:', ':order:'));
  });

  it('stays what it is where it was made here', () => {
    const [event] = processBatch([{ event: 'generate_lead', uuid }], server({ isEngageEvent: true })).taken;
    expect(event?.event_id).toBe(uuid);
  });
});

describe('without a uuid', () => {
  it('and without a timestamp the id is random', () => {
    expect(id({})).toBe(RANDOM_ID);
    expect(id({ timestamp: null, uuid: null })).toBe(RANDOM_ID);
  });

  it('a timestamped event has the form of a UUID of version 8', () => {
    expect(id({ timestamp: AT })).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });

  it('the same event sent again has the same id, at any later time', () => {
    const event = { timestamp: AT, properties: { a: 1 } };
    expect(id(event)).toBe(
      id(event, browser({ receivedAtMs: browser().receivedAtMs + 1, anonymousSalt: Buffer.alloc(32, 9) })),
    );
  });

  it('the order of keys does not count, at any depth', () => {
    const shuffled = (value: unknown): unknown => {
      if (Array.isArray(value)) return value.map(shuffled);
      if (typeof value !== 'object' || value === null) return value;
      return Object.fromEntries(
        Object.entries(value)
          .toReversed()
          .map(([key, member]) => [key, shuffled(member)]),
      );
    };
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 4 })), (properties) => {
        const event = { event: 'e', timestamp: AT, properties };
        fc.pre(!JSON.stringify(properties).includes('__proto__'));
        expect(take(shuffled(event)).event_id).toBe(take(event).event_id);
      }),
    );
  });

  it.each([
    ['name', { event: 'f', timestamp: AT }, browser()],
    ['timestamp', { timestamp: '2026-11-10T11:00:00.124Z' }, browser()],
    ['distinct_id', { timestamp: AT, distinct_id: 'u' }, browser()],
    ['properties', { timestamp: AT, properties: { a: 1 } }, browser()],
    ['e-mail', { timestamp: AT, properties: { email: 'jane@example.com' } }, browser()],
    ['address', { timestamp: AT }, browser({ clientIp: '203.0.113.8' })],
    ['user agent', { timestamp: AT }, browser({ userAgent: `${CHROME} Edg/126` })],
    ['site', { timestamp: AT }, browser({ site: siteWith({ site_id: 'other' }) })],
    ['secret', { timestamp: AT }, browser({ identitySecret: Buffer.alloc(32, 3) })],
  ])('another %s gives another id', (_what, event, context) => {
    expect(id(event, context)).not.toBe(id({ timestamp: AT }));
  });

  it('equal events of one request are different events, and their retry has the same ids', () => {
    const sale = { event: 'e', timestamp: AT, properties: { value: 3 } };
    const ids = () => processBatch([sale, sale, sale], server()).taken.map(({ event_id }) => event_id);
    expect(new Set(ids()).size).toBe(3);
    expect(ids()).toEqual(ids());
    expect(processBatch([sale], server()).taken[0]?.event_id).toBe(ids()[0]);
  });

  const COARSE = ['2026-11-10', '2026-11-10T11:00Z', '2026-11-10T11:00:07Z', '2026-11-10T11:00:07.000+01:00'];
  const sale = { event: 'purchase', properties: { $action_source: 'physical_store', value: 5, currency: 'EUR' } };

  it.each(COARSE)('sales of the time %s that name nobody are as many, and are warned about', (timestamp) => {
    const { taken, warned } = processBatch([{ ...sale, timestamp }], server());
    expect(taken[0]?.event_id).toBe(RANDOM_ID);
    expect(warned).toEqual([{ index: 0, code: 'uuid_missing' }]);
  });

  it.each([
    { distinct_id: 'u1' },
    { uuid: 'till-7-1' },
    { timestamp: '2026-11-10T11:00:07.250Z' },
    { timestamp: null },
    ...[{ order_id: 'R-1' }, { email: 'jane@example.com' }, { phone: '+16505551212' }, { external_id: 'c1' }].map(
      (said) => ({ properties: { ...sale.properties, ...said } }),
    ),
  ])('one that says %j is known again, or says nothing that would be wrong', (changes) => {
    const sent = { ...sale, timestamp: '2026-11-10', ...changes };
    const [first, again] = [processBatch([sent], server()), processBatch([sent], server())];
    expect([first.warned, first.taken[0]?.event_id]).toEqual([[], again.taken[0]?.event_id]);
  });
});
