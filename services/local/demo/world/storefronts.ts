import type { SiteSlot } from './demo_event.ts';
import type { Random, Weighted } from './random.ts';

export interface Product {
  id: string;
  name: string;
  category: string;
  price: number;
}

export interface Storefront {
  origin: string;
  currency: string;
  /** Where listings and products live on the site. */
  listPath: string;
  productPath: string;
  listName: string;
  products: readonly Product[];
  searches: readonly string[];
  /** Pages that lead nowhere near a purchase. */
  readingPages: readonly { path: string; title: string }[];
  orderPrefix: string;
}

export interface Arrival {
  referrer: string | null;
  utm: Record<string, string>;
  click: 'gclid' | 'fbclid' | null;
}

const product = (id: string, name: string, category: string, price: number): Product => ({ id, name, category, price });

export const STOREFRONTS: Record<SiteSlot, Storefront> = {
  shop: {
    origin: 'https://shop.example.com',
    currency: 'USD',
    listPath: '/collections/',
    productPath: '/products/',
    listName: 'Outdoor',
    products: [
      product('TENT-2P', 'Two-person tent', 'tents', 189.9),
      product('TENT-4P', 'Family tent', 'tents', 349),
      product('BAG-0C', 'Three-season sleeping bag', 'sleeping', 129.5),
      product('MAT-R', 'Insulated mat', 'sleeping', 74.95),
      product('STOVE-G', 'Gas stove', 'kitchen', 39.99),
      product('POT-SET', 'Titanium pot set', 'kitchen', 64),
      product('BOOT-M', 'Leather hiking boots', 'footwear', 159),
      product('SOCK-3', 'Merino socks, three pairs', 'footwear', 34.5),
      product('JKT-RAIN', 'Rain jacket', 'clothing', 119),
      product('LAMP-H', 'Head torch', 'light', 29.9),
    ],
    searches: ['tent', 'rain jacket', 'hiking boots', 'sleeping bag', 'head torch'],
    readingPages: [
      { path: '/', title: 'Home' },
      { path: '/journal/packing-light', title: 'Packing light' },
      { path: '/stores', title: 'Our stores' },
      { path: '/help/returns', title: 'Returns' },
    ],
    orderPrefix: 'S',
  },
  travel: {
    origin: 'https://travel.example.com',
    currency: 'EUR',
    listPath: '/destinations/',
    productPath: '/trips/',
    listName: 'City breaks',
    products: [
      product('LIS-3N', 'Lisbon, three nights', 'city', 412),
      product('CPH-2N', 'Copenhagen, two nights', 'city', 388.5),
      product('NAP-4N', 'Naples, four nights', 'city', 529),
      product('AZO-7N', 'Azores, one week', 'nature', 1149),
      product('LOF-6N', 'Lofoten by boat', 'nature', 1690),
      product('CRE-7N', 'Crete, one week', 'beach', 874),
      product('SAR-7N', 'Sardinia, one week', 'beach', 932.4),
      product('ALP-5N', 'Alpine huts, five nights', 'hiking', 645),
    ],
    searches: ['lisbon', 'beach september', 'city break', 'hiking week', 'sardinia'],
    readingPages: [
      { path: '/', title: 'Home' },
      { path: '/guides/lisbon-in-a-day', title: 'Lisbon in a day' },
      { path: '/insurance', title: 'Travel insurance' },
      { path: '/about', title: 'About us' },
    ],
    orderPrefix: 'T',
  },
};

const CAMPAIGNS: readonly Weighted<[referrer: string | null, utm: string, click: Arrival['click']]>[] = [
  [30, [null, '', null]],
  [22, ['https://www.google.com/', '', null]],
  [16, ['https://www.google.com/', 'google cpc brand_search', 'gclid']],
  [14, ['https://l.facebook.com/', 'facebook paid_social autumn_launch', 'fbclid']],
  [6, ['https://l.instagram.com/', 'instagram paid_social creators', 'fbclid']],
  [8, [null, 'newsletter email weekly_42', null]],
  [4, ['https://partner.example.org/', 'partner affiliate best_of_outdoor', null]],
];

/** How a session came about. */
export function drawArrival(random: Random): Arrival {
  const [referrer, utm, click] = random.weigh(CAMPAIGNS);
  const [source = '', medium = '', campaign = ''] = utm.split(' ');
  return { referrer, click, utm: utm === '' ? {} : { utm_source: source, utm_medium: medium, utm_campaign: campaign } };
}
