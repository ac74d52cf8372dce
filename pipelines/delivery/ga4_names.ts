/** Limits of the Measurement Protocol's page on sending events. */
export const NAME_CHARACTERS_MAX = 40;

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

/** Whether Google keeps the name for events of its own. */
export const isReservedEventName = (name: string): boolean =>
  RESERVED_EVENTS.has(name) || RESERVED_EVENT_PREFIX.test(name);

/** Whether a property may go as an event parameter under its own name. */
export const isParameterName = (name: string): boolean =>
  NAME.test(name) &&
  name.length <= NAME_CHARACTERS_MAX &&
  !RESERVED_PARAMETER.test(name) &&
  name !== 'firebase_conversion';

/** Whether a property may go as a user property under its own name. */
export const isUserPropertyName = (name: string): boolean =>
  NAME.test(name) && name.length <= 24 && !RESERVED_PARAMETER.test(name) && !RESERVED_PROPERTIES.has(name);
