import type { MapContext } from '#pipelines/delivery/contract.ts';
import { keyMeaning } from '#pipelines/privacy/key_meaning.ts';

/** Limits of the Measurement Protocol's page on sending events. */
const NAME_CHARACTERS_MAX = 40;

const RESERVED_EVENTS = new Set([
  'ad_activeview',
  'ad_click',
  'ad_exposure',
  'ad_impression',
  'ad_query',
  'adunit_exposure',
  'app_clear_data',
  'app_install',
  'app_remove',
  'app_store_refund',
  'app_store_subscription_cancel',
  'app_store_subscription_convert',
  'app_store_subscription_renew',
  'app_update',
  'error',
  'first_open',
  'first_visit',
  'in_app_purchase',
  'notification_dismiss',
  'notification_foreground',
  'notification_open',
  'notification_receive',
  'os_update',
  'screen_view',
  'session_start',
  'user_engagement',
]);
const RESERVED_EVENT_PREFIX = /^(_|firebase_|ga_|google_|gtag\.)/;
const RESERVED_PARAMETER = /^(_|firebase_|ga_|google_|gtag\.)/;
const RESERVED_PROPERTIES = new Set([
  'first_open_time',
  'first_visit_time',
  'last_deep_link_referrer',
  'user_id',
  'first_open_after_install',
]);
const NAME = /^[a-zA-Z][a-zA-Z0-9_]*$/;

/** GA4's form of a name: letters, digits and underscores, a letter first, at most 40 characters; null when nothing is left. */
function nameOf(text: string): string | null {
  const name = text
    .trim()
    .replace(/[^a-zA-Z0-9_]+/g, '_')
    .replace(/^[^a-zA-Z]+/, '')
    .replace(/_+$/, '')
    .slice(0, NAME_CHARACTERS_MAX);
  return name === '' ? null : name;
}

/** An event's name as GA4 takes it, or why it takes none. The canonical names are GA4's own. */
export function eventName(
  context: Pick<MapContext<unknown>, 'name' | 'chosenName'>,
): { kind: 'name'; name: string } | { kind: 'skip'; reason: string } {
  const { canonical, given } = context.name;
  const name = context.chosenName ?? canonical ?? given;
  if (RESERVED_EVENTS.has(name) || RESERVED_EVENT_PREFIX.test(name))
    return { kind: 'skip', reason: 'reserved_event_name' };
  const formed = nameOf(name);
  if (formed === null) return { kind: 'skip', reason: 'unusable_event_name' };
  const isReserved = RESERVED_EVENTS.has(formed) || RESERVED_EVENT_PREFIX.test(formed);
  return isReserved ? { kind: 'skip', reason: 'reserved_event_name' } : { kind: 'name', name: formed };
}

/** Whether a property may go as an event parameter under its own name. */
export const isParameterName = (name: string): boolean =>
  NAME.test(name) &&
  name.length <= NAME_CHARACTERS_MAX &&
  !RESERVED_PARAMETER.test(name) &&
  name !== 'firebase_conversion';

/** Google's own click ids. */
const GOOGLE_CLICKS = new Set(['gclid', 'gbraid', 'wbraid', 'dclid']);
const OTHER_IDS = new Set(['subscription_id', 'page_id', 'lead_event_source']);

/**
 * Whether a property's name says that it holds an id of the visitor: a customer number, a device's or a lead's id, or
 * another platform's click. Google forbids what identifies a person, and has fields of its own for what it asks for.
 */
export const namesVisitor = (name: string): boolean =>
  OTHER_IDS.has(name) || (!GOOGLE_CLICKS.has(name) && keyMeaning(name).removal === 'if_anonymous');

/** Whether a property may go as a user property under its own name. */
export const isUserPropertyName = (name: string): boolean =>
  NAME.test(name) && name.length <= 24 && !RESERVED_PARAMETER.test(name) && !RESERVED_PROPERTIES.has(name);
