/** What the demo shop sells. */
export interface Product {
  slug: string;
  name: string;
  category: CategorySlug;
  /** Euros. */
  price: number;
  text: string;
  /** Of its drawing, in degrees on the colour wheel. */
  hue: number;
}

export const CATEGORIES = { cups: 'Cups', lamps: 'Lamps', paper: 'Paper' } as const;
export type CategorySlug = keyof typeof CATEGORIES;

export const PRODUCTS: readonly Product[] = [
  {
    slug: 'morning-cup',
    name: 'Morning cup',
    category: 'cups',
    price: 18.5,
    hue: 20,
    text: 'Stoneware, 300 ml, glazed by hand.',
  },
  {
    slug: 'travel-cup',
    name: 'Travel cup',
    category: 'cups',
    price: 24.9,
    hue: 200,
    text: 'Steel, keeps tea hot for four hours.',
  },
  {
    slug: 'espresso-pair',
    name: 'Espresso pair',
    category: 'cups',
    price: 22,
    hue: 340,
    text: 'Two small cups that stack.',
  },
  {
    slug: 'desk-lamp',
    name: 'Desk lamp',
    category: 'lamps',
    price: 79,
    hue: 50,
    text: 'Warm light, one joint, no app.',
  },
  {
    slug: 'floor-lamp',
    name: 'Floor lamp',
    category: 'lamps',
    price: 1249,
    hue: 90,
    text: 'Brass and linen, made to order.',
  },
  {
    slug: 'night-light',
    name: 'Night light',
    category: 'lamps',
    price: 14.25,
    hue: 260,
    text: 'Dims by itself after an hour.',
  },
  {
    slug: 'notebook',
    name: 'Notebook',
    category: 'paper',
    price: 9.9,
    hue: 140,
    text: '160 dotted pages that lie flat.',
  },
  {
    slug: 'letter-set',
    name: 'Letter set',
    category: 'paper',
    price: 12.4,
    hue: 300,
    text: 'Twelve sheets, twelve envelopes.',
  },
  {
    slug: 'wall-calendar',
    name: 'Wall calendar',
    category: 'paper',
    price: 21,
    hue: 0,
    text: 'One month a page, room to write.',
  },
];

export const productsOf = (category: CategorySlug): Product[] =>
  PRODUCTS.filter((product) => product.category === category);

/** As the shop writes prices: `€ 1,249.00`. */
export function priceText(price: number): string {
  return `€ ${price.toLocaleString('en-GB', { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`;
}
