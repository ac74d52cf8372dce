import { NOW_MS, personOf } from '#test/unit/delivery/entries.ts';
import {
  caseBuilder,
  DAY_MS,
  definedAs,
  hash,
  JANE,
  MORE_OF_JANE,
  PAGE,
  skips,
  switchedOff,
  withSettings,
} from '../case_builders.ts';
import type { MappingCase } from '../subject.ts';

const addressWith = (givenName: unknown, familyName: unknown): object => ({
  address: { givenName, familyName, regionCode: 'US', postalCode: '10001' },
});

const { sends, sources } = caseBuilder((form) => ({ events: [form] }), 'events[0]');
const NOBODY = { identifiers: null, properties: PAGE };

const actions: MappingCase[] = [
  ...(
    [
      ['purchase', '111'],
      ['Order Completed', '111'],
      ['generate_lead', '222'],
      ['Signed Up', '333'],
      ['quiz_done', '444'],
    ] as const
  ).map(
    ([event, productDestinationId]): MappingCase => ({
      ...sends(`action: ${event}`, { event }, {}),
      expected: { form: { destinations: [{ productDestinationId }], encoding: 'HEX' }, path: '/v1/events:ingest' },
    }),
  ),
  skips('action: none for an event', { event: 'page_view' }, 'no_conversion_action'),
  definedAs(sends('definition: names the conversion', { event: 'cta' }, { eventSource: 'WEB' }), 'generate_lead'),
  switchedOff('google'),
  {
    ...withSettings(sends('account: through a manager, dashes left out', {}, {}), {
      customer_id: '123-456-7890',
      login_customer_id: '999-888-7777',
    }),
    expected: {
      form: {
        destinations: [
          {
            operatingAccount: { accountType: 'GOOGLE_ADS', accountId: '1234567890' },
            loginAccount: { accountType: 'GOOGLE_ADS', accountId: '9998887777' },
          },
        ],
      },
    },
  },
];

const sourceCases = sources({
  website: { eventSource: 'WEB' },
  physical_store: { eventSource: 'IN_STORE' },
  phone_call: { eventSource: 'PHONE' },
  chat: { eventSource: 'MESSAGE' },
  email: { eventSource: 'OTHER' },
  system_generated: { eventSource: 'OTHER' },
});

const userCases: MappingCase[] = [
  sends(
    "user: hashes by Google's rules, and an address that is whole",
    { identifiers: JANE, zip: ' 10001 ', country: 'US' },
    {
      userData: {
        userIdentifiers: [
          { emailAddress: JANE.email_google },
          { phoneNumber: JANE.phone },
          {
            address: {
              givenName: JANE.first_name_google,
              familyName: JANE.last_name,
              regionCode: 'US',
              postalCode: '10001',
            },
          },
        ],
      },
    },
  ),
  sends(
    "user: the address's country may be the site's",
    { identifiers: { email: null, first_name: JANE.first_name, last_name: JANE.last_name }, zip: '10001' },
    { userData: { userIdentifiers: [{ address: { regionCode: 'US' } }] } },
  ),
  sends(
    'user: an address that is not whole is left out',
    { identifiers: JANE, country: 'US' },
    { userData: { userIdentifiers: [{ emailAddress: JANE.email_google }, { phoneNumber: JANE.phone }] } },
  ),
  sends(
    'user: what the event lacks is known of the person',
    { identifiers: null, person: personOf({ email: JANE.email, email_google: JANE.email_google }) },
    { userData: { userIdentifiers: [{ emailAddress: JANE.email_google }] } },
  ),
  sends(
    'user: an e-mail whose variants are one',
    { identifiers: { email: JANE.email } },
    {
      userData: { userIdentifiers: [{ emailAddress: JANE.email }] },
    },
  ),
  sends(
    'click: ids of the page address alone are enough',
    { identifiers: null, properties: { $current_url: 'https://shop.example/?gclid=Cj0AbC&wbraid=w1' } },
    { adIdentifiers: { gclid: 'Cj0AbC' } },
    'userData',
    'adIdentifiers.wbraid',
  ),
  sends(
    'click: the one of the page is newer than one that was kept',
    { properties: { $current_url: 'https://shop.example/?wbraid=new&gbraid=new', gclid: 'old' } },
    { adIdentifiers: { gbraid: 'new' } },
    'adIdentifiers.gclid',
    'adIdentifiers.wbraid',
  ),
  sends(
    'click: of several that were kept one',
    { properties: { ...PAGE, wbraid: 'w', $gclid: 'g' } },
    { adIdentifiers: { gclid: 'g' } },
    'adIdentifiers.wbraid',
  ),
  sends('click: a property', { properties: { ...PAGE, gbraid: 'g-1' } }, { adIdentifiers: { gbraid: 'g-1' } }),
  skips('user: nothing to match by', NOBODY, 'insufficient_user_data'),
  skips('site: an event taken in offline mode', { mode: 'offline', identifiers: null }, 'anonymous_site'),
];

const valueCases: MappingCase[] = [
  sends(
    'whole: a purchase',
    {
      event_id: 'e-9',
      identifiers: { email: JANE.email },
      properties: { ...PAGE, items: [{ item_id: 'A', price: 19.5, quantity: 2 }, { item_id: 'B' }], store_id: 'S7' },
    },
    {
      transactionId: 'order-1',
      eventTimestamp: new Date(NOW_MS - 2_000).toISOString(),
      eventSource: 'WEB',
      conversionValue: 49.9,
      currency: 'EUR',
      userData: { userIdentifiers: [{ emailAddress: JANE.email }] },
      cartData: {
        items: [
          { merchantProductId: 'A', quantity: '2', unitPrice: 19.5 },
          { merchantProductId: 'B', quantity: '1' },
        ],
      },
      eventLocation: { storeId: 'S7' },
    },
    'consent',
  ),
  sends(
    'id: a purchase without an order has its event id',
    { order_id: null, event_id: 'e-1' },
    { transactionId: 'e-1' },
  ),
  sends('id: other events have their event id', { event: 'generate_lead', event_id: 'e-2' }, { transactionId: 'e-2' }),
  sends('value: a currency without value is left out', { value: null }, {}, 'conversionValue', 'currency'),
  sends(
    'consent: by the event',
    { properties: { ...PAGE, consent: { ad_user_data: 'granted', ad_personalization: false } } },
    {
      consent: { adUserData: 'CONSENT_GRANTED', adPersonalization: 'CONSENT_DENIED' },
    },
  ),
  withSettings(sends('consent: by the site', {}, { consent: { adUserData: 'CONSENT_GRANTED' } }), {
    consent: 'granted',
  }),
  withSettings(skips('consent: the site takes silence for a refusal', {}, 'consent_denied_by_default'), {
    consent: 'denied',
  }),
  withSettings(
    sends(
      'consent: by the event, against the site',
      { properties: { ...PAGE, consent: 'granted' } },
      { consent: { adUserData: 'CONSENT_GRANTED', adPersonalization: 'CONSENT_GRANTED' } },
    ),
    { consent: 'denied' },
  ),
  sends(
    'consent: limited use of any kind is no personalised advertising',
    { properties: { ...PAGE, opt_out: '1' } },
    { consent: { adPersonalization: 'CONSENT_DENIED' } },
  ),
  sends('time: 89 days ago', { timestamp: NOW_MS - 89 * DAY_MS }, { transactionId: 'order-1' }),
  skips('time: 90 days ago', { timestamp: NOW_MS - 90 * DAY_MS }, 'too_old'),
  sends(
    'user: several addresses and numbers, and a name with apostrophe and hyphen in both forms',
    { identifiers: JANE, further_identifiers: MORE_OF_JANE, zip: '10001', country: hash('us') },
    {
      userData: {
        userIdentifiers: [
          { emailAddress: JANE.email_google },
          { emailAddress: MORE_OF_JANE[0]?.email_google },
          { phoneNumber: JANE.phone },
          { phoneNumber: MORE_OF_JANE[1]?.phone },
          addressWith(JANE.first_name_google, JANE.last_name),
          addressWith(MORE_OF_JANE[2]?.first_name_google, MORE_OF_JANE[2]?.last_name_google),
        ],
      },
    },
  ),
  sends(
    'user: a postal code that the sender hashed gives no address',
    { identifiers: JANE, zip: hash('10001'), country: 'US' },
    { userData: { userIdentifiers: [{ emailAddress: JANE.email_google }, { phoneNumber: JANE.phone }] } },
  ),
];

export const googleCases: readonly MappingCase[] = [...actions, ...sourceCases, ...userCases, ...valueCases];
