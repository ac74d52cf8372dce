import { phoneHmac } from '#pipelines/identity/identity.ts';
import type { EventRow } from '#pipelines/warehouse/block.ts';
import { CONSENT_TYPES, type EventEntry, type Identifiers } from '#schemas/event.ts';

const SECRET = Buffer.alloc(32, 7);

/** The keyed hash of a phone number in rows that tests make. */
export const testPhoneHmac = (siteId: string, sha256: string): string => phoneHmac(SECRET, siteId, sha256);

const NO_VISITOR = {
  ...{ geo_country: '', geo_region: '', geo_city: '' },
  ...{ browser: '', browser_version: '', os: '', os_version: '', device_type: '', language: '', screen_class: '' },
  ...{ visit_key: '0', arrival: '' },
};

/** The row of an identified event, without what is told of its visitor. The same event gives the same row whenever it is asked. */
export function eventRow({ event, person, coordinate }: EventEntry): EventRow {
  const of = (name: keyof Identifiers): string => event.identifiers?.[name] ?? '';
  const state = (type: (typeof CONSENT_TYPES)[number]): string => event.consent?.[type] ?? 'unset';
  const consent = (type: (typeof CONSENT_TYPES)[number]): string => {
    const [word = ''] = state(type).split('_');
    return word === 'unset' ? '' : word;
  };
  return {
    site_id: event.site_id,
    event_id: event.event_id,
    distinct_id: event.distinct_id,
    arrived_person_id: person?.person_id ?? '',
    event: event.event,
    timestamp: event.timestamp,
    received_at: event.received_at,
    original_timestamp: event.original_timestamp,
    mode: event.mode,
    action_source: event.action_source,
    caller: event.caller,
    identify: event.identify,
    email_sha256: of('email'),
    phone_hmac: of('phone') === '' ? '' : testPhoneHmac(event.site_id, of('phone')),
    first_name_sha256: of('first_name'),
    last_name_sha256: of('last_name'),
    external_id_sha256: of('external_id'),
    city: event.city ?? '',
    state: event.state ?? '',
    zip: event.zip ?? '',
    country: event.country ?? '',
    client_ip: event.client_ip ?? '',
    client_user_agent: event.client_user_agent ?? '',
    value: event.value,
    currency: event.currency ?? '',
    order_id: event.order_id ?? '',
    properties: event.properties,
    raw_partition: coordinate?.partition ?? -1,
    raw_offset: coordinate?.offset ?? -1,
    raw_index: coordinate?.index ?? -1,
    key_id: event.key_id ?? '',
    ad_storage: consent('ad_storage'),
    analytics_storage: consent('analytics_storage'),
    ad_user_data: consent('ad_user_data'),
    ad_personalization: consent('ad_personalization'),
    consent_defaults: CONSENT_TYPES.filter((type) => state(type).endsWith('default')).join(','),
    limited_data_use: event.consent?.limited_data_use ?? false,
    historical: event.historical ?? false,
    ...NO_VISITOR,
  };
}
