import { expect, test } from 'vitest';
import { STANDARD_EVENTS as META } from '#pipelines/delivery/destinations/meta/map.ts';
import { STANDARD_EVENTS as TIKTOK } from '#pipelines/delivery/destinations/tiktok/adapter.ts';
import { ALIASES, CANONICAL_NAMES, conversionName } from '#pipelines/events/vocabulary.ts';
import { vendorNames } from '#services/tag/src/vendor_events.ts';
import { checkAll } from '#test/harness/check_all.ts';

const KNOWN = CANONICAL_NAMES.flatMap((canonical) => [canonical, ...ALIASES[canonical]]);

test('every known name has the names that the service delivers it under', () =>
  checkAll(KNOWN, (given) => {
    const { canonical } = conversionName(given);
    if (canonical === null) throw new Error(`${given} is no known name`);
    expect(vendorNames(given)).toEqual({ ga4: canonical, meta: META[canonical], tiktok: TIKTOK[canonical] });
  }));

test.each(['ADD TO CART', 'add-to.cart', 'addToCart'])('%s is add_to_cart', (given) =>
  expect(vendorNames(given).ga4).toBe('add_to_cart'),
);

test.each(['quiz_done', '$identify', '-', ''])('%j has no name of a platform', (given) =>
  expect(vendorNames(given)).toEqual({}),
);
