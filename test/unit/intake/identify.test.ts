import { describe, expect, it } from 'vitest';
import { checkAll } from '#test/harness/check_all.ts';
import { browser, siteWith, take } from './context.ts';

const isIdentify = (event: string, changes = {}, properties = {}): boolean =>
  take({ event, properties }, browser({ site: siteWith(changes) })).identify;

describe('an event may stitch identities', () => {
  it('by each of these names', () =>
    checkAll(
      '$identify,identify,Identify,$set,alias,$create_alias,sign_up,Sign Up,signUp,SignedUp,signup,login,Lead,lead,generate_lead,CompleteRegistration,complete_registration,Subscribe,Purchase,purchase,order_completed,Order Completed,order-completed'.split(
        ',',
      ),
      (event) => {
        expect(isIdentify(event)).toBe(true);
      },
    ));

  it('not by these names', () =>
    checkAll(['page_view', 'add_to_cart', 'purchased', 'leads', 'identity', '$pageview'], (event) => {
      expect(isIdentify(event)).toBe(false);
    }));

  it.each(['physical_store', 'phone_call', 'chat', 'email', 'system_generated'])('by the source %s', (source) => {
    expect(isIdentify('page_view', {}, { $action_source: source })).toBe(true);
  });

  it('by the site’s own list instead of ours', () => {
    const changes = { identify_events: ['Newsletter Joined'] };
    expect(isIdentify('newsletter_joined', changes)).toBe(true);
    expect(isIdentify('purchase', changes)).toBe(false);
    expect(isIdentify('purchase', { identify_events: [] })).toBe(false);
    expect(isIdentify('page_view', { identify_events: [] }, { $action_source: 'chat' })).toBe(true);
  });

  it('never on an offline-mode site', () => {
    expect(isIdentify('identify', { mode: 'offline' })).toBe(false);
    expect(isIdentify('sale', { mode: 'offline' }, { $action_source: 'physical_store' })).toBe(false);
  });
});

describe('the other id that an event names', () => {
  const previousId = (event: string, properties: object, context = browser()): string | null =>
    take({ event, distinct_id: 'u1', properties }, context).previous_distinct_id;

  it('is an alias of the events that join by one, and the anonymous id of an event of any name', () => {
    expect(previousId('$identify', { $anon_distinct_id: 'a1' })).toBe('a1');
    expect(previousId('$create_alias', { alias: 7 })).toBe('7');
    expect(previousId('page_view', { $anon_distinct_id: 'a1', alias: 'b1' })).toBe('a1');
    expect(previousId('page_view', { alias: 'a1' })).toBeNull();
    expect(previousId('$identify', { $anon_distinct_id: { id: 'a1' } })).toBeNull();
    expect(previousId('$identify', { $anon_distinct_id: 'u1' })).toBeNull();
  });

  it('is as clean as a distinct id', () => {
    const { distinct_id } = take({ event: 'page_view', distinct_id: 'jane@shop.example' }, browser());
    expect(previousId('$identify', { $anon_distinct_id: 'Jane@shop.example' })).toBe(distinct_id);
  });

  it('is not kept of an offline-mode site', () => {
    const context = browser({ site: siteWith({ mode: 'offline' }) });
    expect(previousId('$identify', { $anon_distinct_id: 'a1' }, context)).toBeNull();
  });
});
