import { describe, expect, it } from 'vitest';
import { consentState, NOTHING_SAID } from '#pipelines/events/consent.ts';
import { browser, RECEIVED_AT_MS, server, siteWith, take } from './context.ts';

const site = siteWith({ mode: 'offline' });
const ANONYMOUS = /^anon_[a-z2-7]{26}$/;
const IDENTIFYING = {
  email: 'jane@example.com',
  phone: '+1 415 555 0100',
  first_name: 'Jane',
  last_name: 'Doe',
  city: 'Bern',
  zip: '3011',
  external_id: 'customer-42',
  user_id: 'user-42',
  client_ip_address: '192.0.2.44',
  client_user_agent: 'Shop/1.0 (iPhone)',
  fbclid: 'click-1',
  gclid: 'click-2',
  ttclid: 'click-3',
  msclkid: 'click-4',
  fbp: 'fb.1.1.42',
  _fbc: 'fb.1.1.click-1',
};

describe('an event of an offline-mode site', () => {
  const sent = {
    event: 'purchase',
    uuid: 'order-1',
    distinct_id: 'visitor-42',
    properties: {
      ...IDENTIFYING,
      state: 'BE',
      country: 'ch',
      value: 5,
      currency: 'CHF',
      order_id: 'o-1',
      user_data: { ...IDENTIFYING, plan: 'pro' },
      deep: [{ nested: { ...IDENTIFYING, kept: 1 } }],
      url: 'https://shop.example/?q=shoes&fbclid=click-1&uid=user-42&email=jane%40example.com',
      seen_from: '192.0.2.44',
    },
  };

  it.each([
    ['browser', browser({ site })],
    ['server', server({ site })],
  ])('from a %s keeps what was done and not by whom', (_caller, context) => {
    const event = take(sent, context);
    expect({ ...event, properties: JSON.parse(event.properties) as unknown }).toEqual({
      site_id: 'shop',
      event_id: 'order-1',
      distinct_id: expect.stringMatching(ANONYMOUS),
      received_at: RECEIVED_AT_MS,
      event: 'purchase',
      timestamp: RECEIVED_AT_MS,
      original_timestamp: null,
      mode: 'offline',
      action_source: 'website',
      caller: context.caller,
      key_id: context.keyId,
      identify: false,
      identifiers: null,
      city: null,
      state: 'BE',
      zip: null,
      country: 'CH',
      client_ip: null,
      client_user_agent: null,
      value: 5,
      currency: 'CHF',
      order_id: 'o-1',
      previous_distinct_id: null,
      consent: consentState(NOTHING_SAID, null),
      properties: {
        value: 5,
        currency: 'CHF',
        order_id: 'o-1',
        user_data: { plan: 'pro' },
        deep: [{ nested: { city: 'Bern', zip: '3011', kept: 1 } }],
        url: 'https://shop.example/?q=shoes&fbclid=redacted&uid=redacted&email=redacted',
        seen_from: 'redacted',
      },
    });
  });

  it('has the anonymous id of its device, whatever distinct_id was sent', () => {
    const anonymous = take({ event: 'e' }).distinct_id;
    for (const distinct_id of [undefined, 'visitor-42', 'jane@example.com']) {
      expect(take({ event: 'e', distinct_id }, browser({ site })).distinct_id).toBe(anonymous);
    }
  });

  it('of a till has the id of the till, not one of its customer', () => {
    const sale = (email: string) => ({ event: 'sale', properties: { email, $action_source: 'physical_store' } });
    const ids = ['a@example.com', 'b@example.com'].map((email) => take(sale(email), server({ site })).distinct_id);
    expect(ids[0]).toBe(ids[1]);
  });

  it('says that it was taken offline, and the next one of the site online does not', () => {
    expect(take({ event: 'e' }, browser({ site })).mode).toBe('offline');
    expect(take({ event: 'e' }, browser({ site: { ...site, mode: 'online' } }))).toMatchObject({
      mode: 'online',
      client_ip: '203.0.113.9',
    });
  });
});
