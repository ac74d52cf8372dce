import { describe, expect, it } from 'vitest';
import { checkAll } from '#test/harness/check_all.ts';
import { browser, CHROME, server, take } from './context.ts';

const taken = (properties: Record<string, unknown>, context = browser()) => {
  const event = take({ event: 'e', properties }, context);
  return { ...event, properties: JSON.parse(event.properties) as unknown };
};

describe('a business field goes into its column, a place leaves the properties', () => {
  it('in whatever form it is sent', () =>
    checkAll(
      [
        [{ value: 12.5 }, { value: 12.5 }],
        [{ value: 0 }, { value: 0 }],
        [{ value: -3 }, { value: -3 }],
        [{ value: ' 12.50 ' }, { value: 12.5 }],
        [{ value: '1e3' }, { value: 1000 }],
        [{ value: '.5' }, { value: 0.5 }],
        [{ currency: 'usd' }, { currency: 'USD' }],
        [{ currency: ' Eur ' }, { currency: 'EUR' }],
        [{ order_id: ' A-1 ' }, { order_id: 'A-1' }],
        [{ order_id: 7 }, { order_id: '7' }],
        [{ city: ' Bern ' }, { city: 'Bern' }],
        [{ zip: 3011 }, { zip: '3011' }],
        [{ state: 'CA' }, { state: 'CA' }],
        [{ country: 'ch' }, { country: 'CH' }],
        [{ country: 'Switzerland' }, { country: 'Switzerland' }],
      ],
      ([properties, columns]) => {
        expect(taken({ ...properties, other: 1 })).toMatchObject({ ...columns, properties: { other: 1 } });
      },
    ));

  it('as a keyed hash when an order id is an address', () => {
    expect(taken({ order_id: 'jane@example.com' })).toMatchObject({
      order_id: expect.stringMatching(/^h_[0-9a-f]{64}$/),
      properties: { order_id: 'redacted' },
    });
  });
});

describe('a business field that cannot be read leaves its column null and stays', () => {
  it('in whatever way it is malformed', () =>
    checkAll(
      [
        { value: '12,50' },
        { value: '$12' },
        { value: '+12' },
        { value: '' },
        { value: '0x10' },
        { value: 'Infinity' },
        { value: true },
        { value: null },
        { value: { amount: 1 } },
        { currency: 'dollar' },
        { currency: '€' },
        { currency: 978 },
        { order_id: '' },
        { order_id: 'x'.repeat(201) },
        { order_id: ['a'] },
        { city: { name: 'Bern' } },
      ],
      (properties) => {
        expect(taken(properties)).toMatchObject({
          value: null,
          currency: null,
          order_id: null,
          city: null,
          properties,
        });
      },
    ));

  it('still without an address', () => {
    expect(taken({ order_id: `jane@example.com ${'x'.repeat(200)}` }).properties).toEqual({
      order_id: `redacted ${'x'.repeat(200)}`,
    });
  });
});

describe('the device', () => {
  const claimed = { client_ip_address: '2001:DB8::1', client_user_agent: 'App/1.0 (iPhone)' };

  it('of a browser is the peer, whatever the properties claim', () => {
    expect(taken(claimed)).toMatchObject({ client_ip: '203.0.113.9', client_user_agent: CHROME, properties: {} });
  });

  it('of a server’s event is what the properties say', () => {
    expect(taken(claimed, server())).toMatchObject({
      client_ip: '2001:db8::1',
      client_user_agent: 'App/1.0 (iPhone)',
      properties: {},
    });
  });

  it.each([{}, { client_ip_address: 'unknown', client_user_agent: '' }, { client_ip_address: 7 }])(
    'of a server’s event with %j is the server',
    (properties) => {
      expect(taken(properties, server())).toMatchObject({
        client_ip: '198.51.100.7',
        client_user_agent: 'node',
        properties: {},
      });
    },
  );

  it('is stored in one spelling and without addresses', () => {
    const context = server({ clientIp: '::ffff:198.51.100.7', userAgent: 'Shop (admin@shop.example)' });
    expect(taken({}, context)).toMatchObject({ client_ip: '198.51.100.7', client_user_agent: 'Shop (redacted)' });
  });

  it('tells the country of a browser, not of a server', () => {
    expect(taken({}).country).toBe('DE');
    expect(taken({ country: 'FR' }).country).toBe('FR');
    expect(taken({}, server()).country).toBeNull();
  });
});
