import {
  caseBuilder,
  DAY_MS,
  definedAs,
  JANE,
  PAGE,
  skips,
  switchedOff,
  withSettings,
} from '#test/contract/delivery/case_builders.ts';
import type { MappingCase } from '#test/contract/delivery/subject.ts';
import { NOW_MS, personOf } from '#test/unit/delivery/entries.ts';

const { sends, names, sources } = caseBuilder((form) => ({ elements: [form] }), 'elements[0]');
const emailOf = (idValue: string): object => ({ user: { userIds: [{ idType: 'SHA256_EMAIL', idValue }] } });

const rules = names(
  [
    ['purchase', '111'],
    ['Order Completed', '111'],
    ['Lead', '222'],
    ['Quiz Done', '333'],
  ],
  (id) => ({ conversion: `urn:lla:llaPartnerConversion:${id}` }),
);

/** An event each, and what LinkedIn is sent of it. */
export const linkedinCases: readonly MappingCase[] = [
  ...rules,
  skips('rule: none for an event', { event: 'page_view' }, 'no_conversion_rule'),
  definedAs(
    sends('definition: names the conversion', { event: 'cta' }, { conversion: 'urn:lla:llaPartnerConversion:222' }),
    'generate_lead',
  ),
  switchedOff('linkedin'),
  ...sources({ website: {}, physical_store: {}, phone_call: {}, chat: {}, email: {}, system_generated: {} }),
  sends(
    'whole: a purchase of the website',
    { event_id: 'order-9', identifiers: JANE, properties: { ...PAGE, li_fat_id: 'click-1' } },
    {
      conversion: 'urn:lla:llaPartnerConversion:111',
      conversionHappenedAt: NOW_MS - 2_000,
      conversionValue: { currencyCode: 'EUR', amount: '49.9' },
      eventId: 'order-9',
      user: {
        userIds: [
          { idType: 'SHA256_EMAIL', idValue: JANE.email },
          { idType: 'LINKEDIN_FIRST_PARTY_ADS_TRACKING_UUID', idValue: 'click-1' },
        ],
      },
    },
  ),
  sends(
    'user: what the event lacks is known of the person',
    { identifiers: null, person: personOf({ email: JANE.email }) },
    emailOf(JANE.email),
  ),
  sends(
    'click: from the page address is enough',
    { identifiers: null, properties: { $current_url: 'https://shop.example/?li_fat_id=AbC' } },
    { user: { userIds: [{ idType: 'LINKEDIN_FIRST_PARTY_ADS_TRACKING_UUID', idValue: 'AbC' }] } },
  ),
  skips(
    'user: a phone is nothing to match by',
    { identifiers: { email: null, phone: JANE.phone } },
    'insufficient_user_data',
  ),
  skips('consent: LinkedIn has no word for limited use', { properties: { ...PAGE, opt_out: 1 } }, 'consent_denied'),
  sends('value: zero is a value', { value: 0 }, { conversionValue: { amount: '0' } }),
  sends('value: none without a currency', { currency: null }, {}, 'conversionValue'),
  withSettings(sends('request: another version', {}, { eventId: '0190a1b2-0000-7000-8000-000000000001' }), {
    version: '202701',
  }),
  sends('time: 89 days ago', { timestamp: NOW_MS - 89 * DAY_MS }, { conversionHappenedAt: NOW_MS - 89 * DAY_MS }),
  skips('time: 90 days ago', { timestamp: NOW_MS - 90 * DAY_MS }, 'too_old'),
  skips('site: an event taken in offline mode', { mode: 'offline', identifiers: null }, 'anonymous_site'),
];
