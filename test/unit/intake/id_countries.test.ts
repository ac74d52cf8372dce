import { describe, expect, it } from 'vitest';
import type { Event } from '#schemas/event.ts';
import { browser, server, siteWith, take } from './context.ts';

const PURCHASE = { event: '$identify', uuid: '0815-4711', distinct_id: '600-700-800' };
const idsOf = ({ event_id, distinct_id, previous_distinct_id, order_id }: Event) => ({
  event_id,
  distinct_id,
  previous_distinct_id,
  order_id,
});

describe('ids', () => {
  const site = siteWith({ default_country: null });
  const idsWith = (properties: object, context = browser({ site, country: null })) => {
    const sent = { $anon_distinct_id: '600-700-801', order_id: '0815-4712', ...properties };
    return idsOf(take({ ...PURCHASE, properties: sent }, context));
  };
  const plain = {
    event_id: '0815-4711',
    distinct_id: '600-700-800',
    previous_distinct_id: '600-700-801',
    order_id: '0815-4712',
  };

  it.each([{}, { country: 'DE' }, { country: 'PL' }, { user_data: { country: 'PL' } }, { country_code: 'de' }])(
    'are the same whatever country an event names: %j',
    (properties) => {
      expect(idsWith(properties)).toEqual(plain);
    },
  );

  it.each(['DE', 'PL'])('are the same from a browser in %s and from a server elsewhere', (country) => {
    expect(idsWith({}, browser({ site, country }))).toEqual(plain);
    expect(idsWith({}, server({ site, country: 'US' }))).toEqual(plain);
  });

  it('are hashed alike where the site’s country reads a phone number in them', () => {
    const polish = siteWith({ default_country: 'PL' });
    const hashed = idsWith({}, browser({ site: polish, country: null }));
    expect(hashed.distinct_id).toMatch(/^h_/);
    expect(idsWith({ country: 'DE' }, server({ site: polish }))).toEqual(hashed);
  });
});
