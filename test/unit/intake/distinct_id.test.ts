import { createHash, createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { browser, SECRET, server, siteWith, take } from './context.ts';

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const keyed = (text: string): string => `h_${createHmac('sha256', SECRET).update(text).digest('hex')}`;
const ANONYMOUS = /^anon_[a-z2-7]{26}$/;

describe('a sent distinct_id', () => {
  it.each(['u-1', '4155550100', 'auth0|123', 'anon_x', sha256('jane@example.com')])('%s is kept', (distinct_id) => {
    expect(take({ event: 'e', distinct_id })).toMatchObject({ distinct_id, identifiers: null });
  });

  it.each(['jane@example.com', ' Jane@Example.com ', 'jane%40example.com', 'mailto:jane@example.com'])(
    '%s becomes the keyed hash of the address and feeds it',
    (distinct_id) => {
      const event = take({ event: 'e', distinct_id });
      expect(event.distinct_id).toBe(keyed('jane@example.com'));
      expect(event.identifiers?.email).toBe(sha256('jane@example.com'));
    },
  );

  it.each([
    '+14155550100',
    '+1 (415) 555-0100',
    'tel:+14155550100',
    'tel:4155550100',
    '%2B14155550100',
    '(415) 555-0100',
  ])('%s becomes the keyed hash of the number and feeds it', (distinct_id) => {
    const event = take({ event: 'e', distinct_id });
    expect(event.distinct_id).toBe(keyed('+14155550100'));
    expect(event.identifiers).toMatchObject({ phone: sha256('+14155550100'), phone_digits: sha256('14155550100') });
  });

  it('that is a number of a country nobody named is hashed as it stands', () => {
    const event = take(
      { event: 'e', distinct_id: '0151 12345678' },
      server({ site: siteWith({ default_country: null }) }),
    );
    expect(event).toMatchObject({ distinct_id: keyed('0151 12345678'), identifiers: null });
  });

  it('that holds an address among other text is hashed as it stands', () => {
    const event = take({ event: 'e', distinct_id: 'user:jane@example.com' });
    expect(event).toMatchObject({ distinct_id: keyed('user:jane@example.com'), identifiers: null });
  });

  it('does not override an address among the properties', () => {
    const event = take({ event: 'e', distinct_id: 'a@example.com', properties: { email: 'b@example.com' } });
    expect(event.identifiers?.email).toBe(sha256('b@example.com'));
  });

  it('goes before the address of whom something is sent to', () => {
    const recipient = { shipping_first_name: 'Carl', shipping_phone: '+14155550100' };
    const properties = { shipping_email: 'carl@example.com', ...recipient };
    for (const said of [properties, recipient]) {
      const event = take({ event: 'purchase', distinct_id: 'ann@example.com', properties: said });
      expect(event.identifiers).toMatchObject({ email: sha256('ann@example.com'), phone: null, first_name: null });
    }
    const alone = take({ event: 'purchase', distinct_id: 'u1', properties });
    expect(alone.identifiers?.email).toBe(sha256('carl@example.com'));
  });
});

describe('without a distinct_id', () => {
  const anonymous = (properties: Record<string, unknown>, context = server()): string =>
    take({ event: 'purchase', properties }, context).distinct_id;

  it('a browser’s events share the id of its device', () => {
    expect(anonymous({}, browser())).toMatch(ANONYMOUS);
    expect(anonymous({ email: 'jane@example.com' }, browser())).toBe(anonymous({}, browser()));
    expect(anonymous({}, browser({ clientIp: '203.0.113.8' }))).not.toBe(anonymous({}, browser()));
  });

  it('a browser cannot claim another device', () => {
    const claimed = { client_ip_address: '198.51.100.1', client_user_agent: 'Other' };
    expect(anonymous(claimed, browser())).toBe(anonymous({}, browser()));
  });

  it('a server’s event that names nobody has the id of the shopper’s device, as if the shopper had called', () => {
    const { clientIp, userAgent } = browser();
    const properties = { client_ip_address: clientIp, client_user_agent: userAgent };
    expect(anonymous(properties)).toBe(anonymous({}, browser()));
  });

  it.each([
    ['a carrier', '203.0.113.50'],
    ['a proxy before the shop', '10.0.3.4'],
    ['an address that cannot be read', 'somewhere'],
    ['no address', undefined],
  ])('customers whom a server names are not one visitor for %s and one user agent', (_what, client_ip_address) => {
    const device = { client_ip_address, client_user_agent: browser().userAgent };
    const [ann, bob] = ['ann@a.example', 'bob@b.example'].map((email) => anonymous({ ...device, email }));
    expect(ann).toMatch(ANONYMOUS);
    expect(ann).not.toBe(bob);
    expect(anonymous({ email: 'ann@a.example' })).toBe(ann);
  });

  it('a server’s event that names nobody has the id of the server', () => {
    expect(anonymous({})).toMatch(ANONYMOUS);
    expect(anonymous({ order_id: '1' })).toBe(anonymous({ order_id: '2' }));
  });

  it.each([
    ['e-mail', { email: 'jane@example.com' }, { email: 'john@example.com' }],
    ['phone', { phone: '+14155550100' }, { phone: '+14155550101' }],
    ['external id', { external_id: '1' }, { external_id: '2' }],
  ])('customers that a till reports by %s are different visitors, the same one each time', (_what, one, other) => {
    const sale = { $action_source: 'physical_store', client_ip_address: '198.51.100.1' };
    expect(anonymous({ ...sale, ...one })).toMatch(ANONYMOUS);
    expect(anonymous({ ...sale, ...one })).toBe(anonymous({ ...one, value: 5 }));
    expect(anonymous({ ...sale, ...one })).not.toBe(anonymous({ ...sale, ...other }));
    expect(anonymous(one)).not.toBe(anonymous(one, server({ site: siteWith({ site_id: 'other' }) })));
  });
});
