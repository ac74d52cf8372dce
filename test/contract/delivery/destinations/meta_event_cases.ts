import { entryOf, NOW_MS } from '#test/unit/delivery/entries.ts';
import type { MappingCase } from '../subject.ts';

const DAY_MS = 86_400_000;
const URL_SEEN = 'https://shop.example/thanks';
const sent = (form: object): { form: object } => ({ form: { data: [form] } });

const names: [given: string, expected: string][] = [
  ['page_view', 'PageView'],
  ['$pageview', 'PageView'],
  ['view_item', 'ViewContent'],
  ['Product Viewed', 'ViewContent'],
  ['Products Searched', 'Search'],
  ['add_to_cart', 'AddToCart'],
  ['Product Added to Wishlist', 'AddToWishlist'],
  ['Checkout Started', 'InitiateCheckout'],
  ['add_payment_info', 'AddPaymentInfo'],
  ['Order Completed', 'Purchase'],
  ['PURCHASE', 'Purchase'],
  ['generate_lead', 'Lead'],
  ['Signed Up', 'CompleteRegistration'],
  ['start_trial', 'StartTrial'],
  ['submit_application', 'SubmitApplication'],
  ['refund', 'refund'],
  ['Quiz finished', 'Quiz finished'],
];

const nameCases = names.map(
  ([given, expected]): MappingCase => ({
    title: `name: ${given} is ${expected}`,
    entry: entryOf({ event: given }),
    expected: sent({ event_name: expected }),
  }),
);

const definition = (conversion: string): string =>
  JSON.stringify({ id: 'd', name: 'cta', conversion_event: conversion, trigger: 'click' });

const timeAndPlaceCases: MappingCase[] = [
  {
    title: 'name: an event definition names a canonical conversion',
    entry: entryOf({ event: 'cta' }),
    site: { event_definitions: [definition('sign_up')] },
    expected: sent({ event_name: 'CompleteRegistration' }),
  },
  {
    title: 'name: an event definition names a custom conversion',
    entry: entryOf({ event: 'cta' }),
    site: { event_definitions: [definition('BookedDemo')] },
    expected: sent({ event_name: 'BookedDemo' }),
  },
  {
    title: 'time: in whole seconds',
    entry: entryOf({ timestamp: NOW_MS - 61_999 }),
    expected: sent({ event_time: Math.floor((NOW_MS - 61_999) / 1000) }),
  },
  {
    title: "time: a sender's clock that runs ahead gives the time of arrival",
    entry: entryOf({ timestamp: NOW_MS + 3_600_000, received_at: NOW_MS - 5_000 }),
    expected: sent({ event_time: (NOW_MS - 5_000) / 1000 }),
  },
  {
    title: 'time: nearly 7 days ago is sent',
    entry: entryOf({ timestamp: NOW_MS - 7 * DAY_MS + 120_000 }),
    expected: sent({ action_source: 'website' }),
  },
  {
    title: 'time: 7 days ago is too old',
    entry: entryOf({ timestamp: NOW_MS - 7 * DAY_MS }),
    expected: { skip: 'too_old' },
  },
  {
    title: 'time: 61 days ago in a physical store is sent',
    entry: entryOf({ action_source: 'physical_store', timestamp: NOW_MS - 61 * DAY_MS }),
    expected: sent({ action_source: 'physical_store' }),
  },
  {
    title: 'time: 62 days ago in a physical store is too old',
    entry: entryOf({ action_source: 'physical_store', timestamp: NOW_MS - 62 * DAY_MS }),
    expected: { skip: 'too_old' },
  },
  {
    title: 'time: 8 days ago by phone is too old',
    entry: entryOf({ action_source: 'phone_call', timestamp: NOW_MS - 8 * DAY_MS }),
    expected: { skip: 'too_old' },
  },
  ...(['physical_store', 'phone_call', 'chat', 'email', 'system_generated'] as const).map(
    (action_source): MappingCase => ({
      title: `source: ${action_source} goes word for word and needs no page`,
      entry: entryOf({ action_source, client_user_agent: null, properties: {} }),
      expected: { ...sent({ action_source }), without: ['data[0].event_source_url'] },
    }),
  ),
  {
    title: 'page: $current_url',
    entry: entryOf(),
    expected: sent({ event_source_url: URL_SEEN, action_source: 'website' }),
  },
  {
    title: 'page: context.page.url',
    entry: entryOf({ properties: { context: { page: { url: URL_SEEN } } } }),
    expected: sent({ event_source_url: URL_SEEN }),
  },
  {
    title: "page: the site's fallback",
    entry: entryOf({ properties: {} }),
    settings: { event_source_url: 'https://shop.example/' },
    expected: sent({ event_source_url: 'https://shop.example/' }),
  },
  {
    title: "page: the site's first domain",
    entry: entryOf({ properties: { url: 'android-app://shop' } }),
    site: { domains: ['shop.example'] },
    expected: sent({ event_source_url: 'https://shop.example/' }),
  },
  {
    title: 'page: none for a website event',
    entry: entryOf({ properties: {} }),
    expected: { skip: 'missing_event_source_url' },
  },
  {
    title: 'browser: none for a website event',
    entry: entryOf({ client_user_agent: null }),
    expected: { skip: 'missing_client_user_agent' },
  },
  {
    title: 'site: an event taken in offline mode',
    entry: entryOf({ mode: 'offline', identifiers: null }),
    expected: { skip: 'anonymous_site' },
  },
  {
    title: 'id: the event id deduplicates with the browser pixel',
    entry: entryOf({ event_id: 'order-77' }),
    expected: sent({ event_id: 'order-77' }),
  },
  {
    title: 'id: of a hit of the pixel the one that the page gave',
    entry: entryOf({ properties: { $current_url: URL_SEEN, $lib: 'meta_pixel', $event_id: 'page-7' } }),
    expected: sent({ event_id: 'page-7' }),
  },
];

const PAGE = { $current_url: URL_SEEN };
const privacyCases: MappingCase[] = [
  {
    title: 'opt out: attribution only',
    entry: entryOf({ properties: { ...PAGE, opt_out: true } }),
    expected: sent({ opt_out: true }),
  },
  {
    title: 'privacy: an opt out as a word',
    entry: entryOf({ properties: { ...PAGE, opt_out: 'Yes' } }),
    expected: { ...sent({ opt_out: true }), without: ['data[0].data_processing_options'] },
  },
  {
    title: 'privacy: advertising that is not to be personalised',
    entry: entryOf({ properties: { ...PAGE, consent: { ad_user_data: 'granted', ad_personalization: 'denied' } } }),
    expected: sent({ opt_out: true }),
  },
  {
    title: 'privacy: limited data use in lower case, and as a text',
    entry: entryOf({ properties: { ...PAGE, data_processing_options: 'ldu', data_processing_options_country: '1' } }),
    settings: { data_processing: 'none' },
    expected: sent({
      data_processing_options: ['LDU'],
      data_processing_options_country: 0,
      data_processing_options_state: 0,
    }),
  },
  {
    title: 'limited data use: nothing is declared',
    entry: entryOf(),
    expected: { ...sent({}), without: ['data[0].data_processing_options', 'data[0].opt_out'] },
  },
  {
    title: 'limited data use: declared as none',
    entry: entryOf(),
    settings: { data_processing: 'none' },
    expected: { ...sent({ data_processing_options: [] }), without: ['data[0].data_processing_options_country'] },
  },
  {
    title: 'limited data use: where Meta locates the person',
    entry: entryOf(),
    settings: { data_processing: 'ldu_geolocate' },
    expected: sent({
      data_processing_options: ['LDU'],
      data_processing_options_country: 0,
      data_processing_options_state: 0,
    }),
  },
  {
    title: 'limited data use: California',
    entry: entryOf(),
    settings: { data_processing: 'ldu_california' },
    expected: sent({
      data_processing_options: ['LDU'],
      data_processing_options_country: 1,
      data_processing_options_state: 1000,
    }),
  },
  {
    title: 'limited data use: a signal that is not set does not lift it',
    entry: entryOf({ properties: { ...PAGE, gpc: false, us_privacy: '1YNN', restricted_data_processing: false } }),
    settings: { data_processing: 'ldu_geolocate' },
    expected: sent({ data_processing_options: ['LDU'] }),
  },
  {
    title: 'limited data use: a signal that is set leaves the place that the site names',
    entry: entryOf({ properties: { ...PAGE, gpc: true } }),
    settings: { data_processing: 'ldu_california' },
    expected: sent({
      data_processing_options: ['LDU'],
      data_processing_options_country: 1,
      data_processing_options_state: 1000,
    }),
  },
  {
    title: "limited data use: the event's own word goes before the site's",
    entry: entryOf({
      properties: {
        ...PAGE,
        data_processing_options: ['LDU'],
        data_processing_options_country: 1,
        data_processing_options_state: 1000,
      },
    }),
    settings: { data_processing: 'none' },
    expected: sent({ data_processing_options: ['LDU'], data_processing_options_state: 1000 }),
  },
  {
    title: 'request: a test event code stands at the top',
    entry: entryOf(),
    settings: { test_event_code: 'TEST123' },
    expected: { form: { test_event_code: 'TEST123', access_token: 'token-good' } },
  },
  {
    title: 'request: the token goes in the body, and no test code by default',
    entry: entryOf(),
    expected: { form: { access_token: 'token-good' }, without: ['test_event_code'] },
  },
];

export const eventCases: readonly MappingCase[] = [...nameCases, ...timeAndPlaceCases, ...privacyCases];
