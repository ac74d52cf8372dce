import { describe, expect, it } from 'vitest';
import { REJECTIONS } from '#pipelines/intake/field_rules.ts';
import { processBatch } from '#pipelines/intake/take_event.ts';
import { checkAll } from '#test/harness/check_all.ts';
import { browser, refusal, server, siteWith, take } from './context.ts';

const LONG = 'x'.repeat(201);

describe('an event is rejected', () => {
  it('by a browser key where its site takes it of servers only, however it is written', () => {
    const site = siteWith({ server_only_events: ['Order Completed'] });
    expect(refusal({ event: 'order_completed' }, browser({ site }))).toBe('event_server_only');
    expect(take({ event: 'order_completed' }, server({ site })).event).toBe('order_completed');
    // Platforms are sent the same for all of these.
    for (const event of ['purchase', 'CompletePayment', 'place an order', 'Order.Completed'])
      expect(refusal({ event }, browser({ site }))).toBe('event_server_only');
    expect(take({ event: 'Order Refunded' }, browser({ site })).event).toBe('Order Refunded');
  });

  it('with the code of what is wrong', () =>
    checkAll(
      [
        [null, 'event_not_object'],
        [7, 'event_not_object'],
        ['purchase', 'event_not_object'],
        [[], 'event_not_object'],
        [{}, 'event_name_missing'],
        [{ event: null }, 'event_name_missing'],
        [{ event: '' }, 'event_name_missing'],
        [{ event: ' \t ' }, 'event_name_missing'],
        [{ event: 7 }, 'event_name_invalid'],
        [{ event: 'a\u0000b' }, 'event_name_invalid'],
        [{ event: 'a\nb' }, 'event_name_invalid'],
        [{ event: LONG }, 'event_name_too_long'],
        [{ event: 'e', uuid: '' }, 'uuid_invalid'],
        [{ event: 'e', uuid: 7 }, 'uuid_invalid'],
        [{ event: 'e', uuid: LONG }, 'uuid_invalid'],
        [{ event: 'e', uuid: 'a\rb' }, 'uuid_invalid'],
        [{ event: 'e', distinct_id: '' }, 'distinct_id_invalid'],
        [{ event: 'e', distinct_id: 7 }, 'distinct_id_invalid'],
        [{ event: 'e', distinct_id: {} }, 'distinct_id_invalid'],
        [{ event: 'e', distinct_id: LONG }, 'distinct_id_invalid'],
        [{ event: 'e', timestamp: 'yesterday' }, 'timestamp_invalid'],
        [{ event: 'e', timestamp: 1_794_000_000_000 }, 'timestamp_invalid'],
        [{ event: 'e', timestamp: '2024-01-01T00:00:00Z' }, 'timestamp_too_old'],
        [{ event: 'e', properties: [1] }, 'properties_not_object'],
        [{ event: 'e', properties: 'a=b' }, 'properties_not_object'],
        [{ event: 'e', properties: false }, 'properties_not_object'],
        [{ event: 'e', properties: { list: new Array(5001).fill(0) } }, 'properties_too_many'],
        [{ event: 'e', properties: { [LONG]: 1 } }, 'property_name_too_long'],
        [{ event: 'e', properties: { $action_source: 'app' } }, 'action_source_unknown'],
        [{ event: 'e', properties: { $action_source: 'Website' } }, 'action_source_unknown'],
        [{ event: 'e', properties: { $action_source: '' } }, 'action_source_unknown'],
        [{ event: 'e', properties: { $action_source: ['email'] } }, 'action_source_unknown'],
      ] as const,
      ([event, code]) => {
        expect(refusal(event, server())).toBe(code);
      },
    ));

  it('when it is nested too deep', () => {
    const deep = JSON.parse(`${'{"a":'.repeat(17)}1${'}'.repeat(17)}`) as unknown;
    expect(refusal({ event: 'e', properties: deep })).toBe('properties_too_deep');
  });

  it('without its neighbours, and its place is told', () => {
    const batch = processBatch([{ event: 'a' }, 7, { event: 'b' }, { event: '' }], browser());
    expect(batch.taken.map(({ event }) => event)).toEqual(['a', 'b']);
    expect(batch.rejected).toEqual([
      { index: 1, code: 'event_not_object', message: REJECTIONS.event_not_object },
      { index: 3, code: 'event_name_missing', message: REJECTIONS.event_name_missing },
    ]);
    expect(batch.dropped).toEqual([]);
  });
});

describe('an event is taken', () => {
  it('and gives the properties that were sent', () =>
    checkAll(
      [
        [{ event: '  Order Completed ' }, { event: 'Order Completed' }],
        [{ event: '$pageview' }, { event: '$pageview' }],
        [{ event: 'x'.repeat(200) }, { event: 'x'.repeat(200) }],
        [{ event: 'a\ud800' }, { event: 'a\ufffd' }],
        [{ event: 'Bestellung übermittelt 🎉' }, { event: 'Bestellung übermittelt 🎉' }],
        [{ event: 'e', distinct_id: ' u-1 ' }, { distinct_id: 'u-1' }],
        [{ event: 'e', uuid: null, distinct_id: null, timestamp: null, properties: null }, { properties: '{}' }],
        [{ event: 'e', unknown: { field: 1 } }, { properties: '{}' }],
        [{ event: 'e', properties: { $action_source: null } }, { action_source: 'website' }],
      ],
      ([event, fields]) => {
        expect(take(event)).toMatchObject(fields);
      },
    ));

  it('with any action source, which leaves the properties', () =>
    checkAll(['website', 'physical_store', 'phone_call', 'chat', 'email', 'system_generated'], (source) => {
      expect(take({ event: 'e', properties: { $action_source: source, a: 1 } })).toMatchObject({
        action_source: source,
        properties: '{"a":1}',
      });
    }));
});
