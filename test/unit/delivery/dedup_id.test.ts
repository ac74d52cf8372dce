import { expect, test } from 'vitest';
import { dedupId } from '#pipelines/delivery/event_fields.ts';
import { entryOf } from './entries.ts';

const { event } = entryOf();

test.each(['meta_pixel', 'tiktok_pixel'])('a hit of %s goes under the id that the page gave to the pixel', ($lib) => {
  expect(dedupId(event, { $lib, $event_id: 'order-77' })).toBe('order-77');
});

test.each([
  ['an event of another sender', { $event_id: 'order-77' }],
  ['a hit whose id was an event of its own', { $lib: 'meta_pixel' }],
  ['a hit whose id held personal data', { $lib: 'meta_pixel', $event_id: 'redacted-77' }],
  ['a hit whose id is none', { $lib: 'meta_pixel', $event_id: ['order-77'] }],
])('%s goes under its event id', (_, properties) => {
  expect(dedupId(event, properties)).toBe(event.event_id);
});
