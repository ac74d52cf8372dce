import { type EngageEvent, engageEvent } from './engage_event.ts';
import type { PromoAction } from './engage_request.ts';
import type { Promo } from './promo.ts';
import { showingEventId } from './showing_event_id.ts';
import { itemName } from './visitor_memory.ts';

/** Names that GA4 knows, and ours for what it has none for. */
const EVENTS = {
  view: 'view_promotion',
  click: 'select_promotion',
  dismiss: 'promotion_dismissed',
  copy_code: 'promotion_code_copied',
  redeem: 'promotion_redeemed',
} as const;

/**
 * The event of an action; the same action of one impression has the same event id.
 *
 * @param version The one that the visitor saw.
 */
export function promoEvent(promo: Promo, version: number, action: PromoAction): EngageEvent {
  const impression = action.impression_id.toLowerCase();
  const properties = {
    promotion_id: promo.id,
    promotion_name: promo.name,
    promotion_version: version,
    impression_id: impression,
    ...(promo.creative === '' ? {} : { creative_name: promo.creative }),
    ...(promo.slot === '' ? {} : { creative_slot: promo.slot }),
    ...(promo.code === '' ? {} : { coupon: promo.code }),
    ...(action.action === 'redeem' ? amountOf(action) : {}),
  };
  return engageEvent(
    EVENTS[action.action],
    showingEventId(impression, itemName('promo', promo.id), action.action),
    properties,
    action,
  );
}

function amountOf({ value, currency }: PromoAction): object {
  return { ...(value === undefined ? {} : { value }), ...(currency === undefined ? {} : { currency }) };
}
