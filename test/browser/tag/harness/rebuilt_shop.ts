/** A shop's page as a build of a framework leaves it: with each seed other hashes in classes and ids, and another order. */
export function rebuiltShop(seed: number): string {
  const random = randomFrom(seed);
  const hash = (): string =>
    Math.floor(random() * 36 ** 6)
      .toString(36)
      .padStart(6, 'k');
  const shuffled = <T>(list: readonly T[]): T[] =>
    list
      .map((one) => [random(), one] as const)
      .sort(([a], [b]) => a - b)
      .map(([, one]) => one);
  const cls = (word = ''): string =>
    `class="${shuffled([`css-${hash()}`, `Shop_${word || 'box'}__${hash()}`, `_${hash()}_1`]).join(' ')}"`;
  const link = ([text, href]: readonly [string, string]): string =>
    `<li ${cls()}><a ${cls('link')} data-truth="link ${text}" href="${href}?v=${hash()}">${text}</a></li>`;
  const product = (name: string): string =>
    `<article ${cls('card')} data-testid="product-${name}"><h2 ${cls()}>${name}</h2><button ${cls('buy')} data-truth="buy ${name}">Add to cart</button></article>`;
  const sections = [
    `<nav ${cls()} aria-label="Main"><ul ${cls()}>${shuffled(LINKS).map(link).join('')}</ul></nav>`,
    `<main ${cls()} id="app-${hash()}">${shuffled(PRODUCTS).map(product).join('')}</main>`,
    `<form ${cls()} name="newsletter" data-truth="form"><div ${cls()}><input ${cls()} type="email" name="email" id="${hash()}" data-truth="email" placeholder="E-mail"></div><button ${cls()} data-truth="subscribe">Subscribe</button></form>`,
    `<section ${cls()}>${shuffled(BUTTONS)
      .map(
        (text) =>
          `<div ${cls()}><button id="radix-${hash()}" ${cls()} data-truth="button ${text}">${text}</button></div>`,
      )
      .join('')}</section>`,
    `<div ${cls()} role="button" tabindex="0" aria-label="Close banner" data-truth="close">×</div>`,
    `<div ${cls()}><select ${cls()} name="size" data-truth="size"><option>S</option></select><button ${cls()} data-svc="checkout" data-truth="checkout">Pay</button></div>`,
  ];
  return shuffled(sections)
    .map((section) => `<div ${cls()}>${section}</div>`)
    .join('\n');
}

const LINKS = [
  ['Home', '/'],
  ['Shoes', '/c/shoes'],
  ['Bags', '/c/bags'],
  ['Help', 'https://help.example/faq'],
  ['Cart', '/cart'],
] as const;
const PRODUCTS = ['cup', 'plate', 'bowl', 'fork'];
const BUTTONS = ['Compare', 'Write a review', 'Share', 'Save for later'];

/** What a definition may be made of on it, as the attribute `data-truth` has it. */
export const SHOP_TARGETS: readonly string[] = [
  ...LINKS.map(([text]) => `link ${text}`),
  ...PRODUCTS.map((name) => `buy ${name}`),
  ...BUTTONS.map((text) => `button ${text}`),
  ...['form', 'email', 'subscribe', 'close', 'size', 'checkout'],
];

/** Numbers from 0 to 1, the same for the same seed (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
