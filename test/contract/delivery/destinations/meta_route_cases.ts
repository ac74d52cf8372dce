import { type EntryChanges, entryOf } from '#test/unit/delivery/entries.ts';
import type { MappingCase } from '../subject.ts';

const ROUTES = JSON.stringify([
  { pixel_id: '9876543210', url_pattern: '/fr/*' },
  { pixel_id: '9876543210', url_pattern: 'https://outlet.example/*' },
]);

const routed = (title: string, changes: EntryChanges, pixel: string): MappingCase => ({
  title: `pixel: ${title}`,
  entry: entryOf(changes),
  settings: { route_pixels: ROUTES },
  expected: { form: { data: [{}] }, path: `/v25.0/${pixel}/events` },
});

const on = (url: string): EntryChanges => ({ properties: { $current_url: url } });

const named = (title: string, changes: EntryChanges, event_names: string, event_name: string): MappingCase => ({
  title: `chosen name: ${title}`,
  entry: entryOf(changes),
  settings: { event_names },
  expected: { form: { data: [{ event_name }] } },
});

export const routeCases: readonly MappingCase[] = [
  routed("the page's path matches", on('https://shop.example/fr/panier?x=1'), '9876543210'),
  routed('the whole address matches', on('https://outlet.example/a'), '9876543210'),
  routed("no pattern matches: the site's own", on('https://shop.example/de/korb'), '1234567890'),
  routed('no page', { action_source: 'chat', properties: {} }, '1234567890'),
  named('an event of the site', { event: 'Quiz Done' }, 'quiz_done=Lead', 'Lead'),
  named('in place of the standard one', { event: 'sign_up' }, 'cta=Contact,sign_up=Lead', 'Lead'),
  named('by the canonical name', { event: 'Order Completed' }, 'purchase=ShopOrder', 'ShopOrder'),
  named('others keep theirs', { event: 'add_to_cart' }, 'quiz_done=Lead', 'AddToCart'),
];
