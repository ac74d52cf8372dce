import { describe, expect, it } from 'vitest';
import { CANONICAL_NAMES, conversionName, platformName } from '#pipelines/events/vocabulary.ts';

describe('conversion names', () => {
  it.each([
    ['purchase', 'purchase'],
    ['Order Completed', 'purchase'],
    ['order_completed', 'purchase'],
    ['CompletePayment', 'purchase'],
    ['PLACE-AN-ORDER', 'purchase'],
    ['view_search_results', 'search'],
    ['Product List Viewed', 'view_item_list'],
    ['CompleteRegistration', 'sign_up'],
    ['$pageview', 'page_view'],
    ['page', 'page_view'],
    ['pages', null],
    ['', null],
    ['constructor', null],
  ])('%s is %s', (given, canonical) => expect(conversionName(given)).toEqual({ canonical, given }));

  it('are their own canonical names', () => {
    for (const name of CANONICAL_NAMES) expect(conversionName(name).canonical).toBe(name);
  });

  it('go as given where a platform has none of its own', () => {
    const table = { purchase: 'PURCHASE' };
    expect(platformName(conversionName('Order Completed'), table)).toBe('PURCHASE');
    expect(platformName(conversionName('Order Refunded'), table)).toBe('Order Refunded');
    expect(platformName(conversionName('Quiz'), table)).toBe('Quiz');
  });
});
