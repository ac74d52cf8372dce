import type { SiteSlot } from './demo_event.ts';
import type { Random, Weighted } from './random.ts';
import storefronts from './storefronts.json' with { type: 'json' };

export const STOREFRONTS = storefronts satisfies Record<SiteSlot, unknown>;
export type Storefront = (typeof STOREFRONTS)[SiteSlot];
export type Product = Storefront['products'][number];

export interface Arrival {
  referrer: string | null;
  utm: Record<string, string>;
  click: 'gclid' | 'fbclid' | null;
}

const CAMPAIGNS: readonly Weighted<[referrer: string | null, utm: string, click: Arrival['click']]>[] = [
  [30, [null, '', null]],
  [22, ['https://www.google.com/', '', null]],
  [16, ['https://www.google.com/', 'google cpc brand_search', 'gclid']],
  [14, ['https://l.facebook.com/', 'facebook paid_social autumn_launch', 'fbclid']],
  [6, ['https://l.instagram.com/', 'instagram paid_social creators', 'fbclid']],
  [8, [null, 'newsletter email weekly_42', null]],
  [4, ['https://partner.example.org/', 'partner affiliate best_of_outdoor', null]],
];

export function drawArrival(random: Random): Arrival {
  const [referrer, utm, click] = random.weigh(CAMPAIGNS);
  const [source = '', medium = '', campaign = ''] = utm.split(' ');
  return { referrer, click, utm: utm === '' ? {} : { utm_source: source, utm_medium: medium, utm_campaign: campaign } };
}
