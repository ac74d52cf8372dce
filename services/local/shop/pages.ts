import type { PageParts, TagPlace } from './layout.ts';
import { CATEGORIES, type CategorySlug, PRODUCTS, type Product, priceText, productsOf } from './products.ts';

/** The page at an address; undefined where the shop has none. */
export function pageAt({ pathname: path, search }: URL, tag: TagPlace): PageParts | undefined {
  const [, kind = '', name = ''] = path.split('/');
  const found = pageOf(kind, name) ?? (path === '/quote' ? quotePage(tag, path + search) : PAGES[path]);
  return found === undefined ? undefined : { ...found, path };
}

type Content = Omit<PageParts, 'path'>;

function pageOf(kind: string, name: string): Content | undefined {
  if (kind === 'product') return productPage(name);
  return kind === 'category' ? categoryPage(name) : undefined;
}

const FEATURED = 6;
/** The parts of the lookbook, which change the address without loading a page. */
const LOOKS = ['morning', 'evening', 'weekend'] as const;

const PAGES: Record<string, Content> = {
  '/': {
    title: 'Home',
    body: `<h1>Things for quiet rooms</h1>
<p class="lead">Cups, lamps and paper.</p>
${grid(PRODUCTS.slice(0, FEATURED))}`,
  },
  '/cart': {
    title: 'Cart',
    body: `<h1>Your cart</h1>
<div data-cart aria-live="polite"></div>
<p class="actions"><a class="button checkout-link" href="/checkout">Go to checkout</a></p>`,
  },
  '/checkout': {
    title: 'Checkout',
    body: `<h1>Checkout</h1>
<p>To pay: <strong data-cart-total></strong></p>
<form data-checkout action="/thank-you">
${field('name', 'Name', 'text', 'name')}
${field('email', 'E-mail', 'email', 'email')}
${field('city', 'City', 'text', 'address-level2')}
<p class="actions"><button>Place the order</button></p>
</form>`,
  },
  '/thank-you': {
    title: 'Thank you',
    body: `<h1>Thank you</h1>
<p data-thanks aria-live="polite">There is no order here.</p>
<p class="actions"><a class="button" href="/">Back to the shop</a></p>`,
  },
  '/contact': {
    title: 'Contact',
    body: `<h1>Write to us</h1>
<form class="contact" data-contact>
${field('email', 'E-mail', 'email', 'email')}
<label>Subject <select name="subject"><option>An order</option><option>A lamp</option><option>Something else</option></select></label>
<label>Message <textarea name="message" rows="4" required></textarea></label>
<p class="actions"><button>Send</button></p>
<p data-sent aria-live="polite"></p>
</form>`,
  },
  ...Object.fromEntries(['', ...LOOKS.map((look) => `/${look}`)].map((rest) => [`/lookbook${rest}`, lookbook()])),
};

function lookbook(): Content {
  const links = LOOKS.map((look) => `<a href="/lookbook/${look}" data-look="${look}">${capital(look)}</a>`).join('');
  return {
    title: 'Lookbook',
    body: `<h1>Lookbook</h1>
<nav class="looks" aria-label="Looks">${links}</nav>
<section data-looks aria-live="polite"><p>Choose a part of the day: the address changes, the page stays.</p></section>`,
  };
}

/**
 * The tag shows the form in the place that is reserved for it. Without scripts an ordinary form goes to the same address,
 * and states the page itself, of which the browser tells the edge no more than the origin.
 *
 * @param page path and query, of which the URL parser has left no quote.
 */
function quotePage({ edge, key }: TagPlace, page: string): Content {
  return {
    title: 'Quote',
    body: `<h1>Ask for a quote</h1>
<p>For an office, a café or a whole house.</p>
<div id="quote-form"></div>
<noscript>
<form method="post" action="${edge}/v1/form?key=${key}">
<input type="hidden" name="_form_id" value="quote">
<input type="hidden" name="_page" value="${page.replaceAll('&', '&amp;')}">
${field('email', 'E-mail', 'email', 'email')}
<label>Message <textarea name="message" rows="4"></textarea></label>
<label class="trap" aria-hidden="true">Leave this empty <input name="website_2" tabindex="-1" autocomplete="off"></label>
<label class="tick"><input type="checkbox" name="_consent" required> You may write to me about this.</label>
<p class="actions"><button>Ask for a quote</button></p>
</form>
</noscript>`,
  };
}

function productPage(slug: string): Content | undefined {
  const product = PRODUCTS.find((one) => one.slug === slug);
  if (product === undefined) return undefined;
  const { name, category, price, text } = product;
  return {
    title: name,
    body: `<article class="product" data-slug="${slug}">
${drawing(product)}
<div>
<p><a href="/category/${category}">${CATEGORIES[category]}</a></p>
<h1>${name}</h1>
<p>${text}</p>
<p class="price">${priceText(price)}</p>
<p class="actions"><button class="button" data-add-to-cart data-price="${price}">Add to cart</button></p>
<p data-added aria-live="polite"></p>
</div>
</article>`,
  };
}

function categoryPage(slug: string): Content | undefined {
  if (!Object.hasOwn(CATEGORIES, slug)) return undefined;
  const title = CATEGORIES[slug as CategorySlug];
  return { title, body: `<h1>${title}</h1>\n${grid(productsOf(slug as CategorySlug))}` };
}

function grid(products: readonly Product[]): string {
  const cards = products.map(
    (product) => `<li><a class="card" href="/product/${product.slug}">${drawing(product)}
<span class="name">${product.name}</span> <span class="price">${priceText(product.price)}</span></a></li>`,
  );
  return `<ul class="grid">${cards.join('\n')}</ul>`;
}

function drawing({ hue, category }: Product): string {
  const shapes: Record<CategorySlug, string> = {
    cups: '<path d="M32 44h40v28a16 16 0 0 1-16 16h-8a16 16 0 0 1-16-16z"/><path d="M72 52h8a8 8 0 0 1 0 20h-8" fill="none" stroke-width="5"/>',
    lamps: '<path d="M40 28h40l14 34H26z"/><path d="M60 62v32M42 96h36" fill="none" stroke-width="5"/>',
    paper: '<path d="M34 24h52v72H34z"/><path d="M44 42h32M44 54h32M44 66h20" stroke="#fff" stroke-width="4"/>',
  };
  const color = `hsl(${hue} 45% 45%)`;
  return `<svg viewBox="0 0 120 120" aria-hidden="true" fill="${color}" stroke="${color}">${shapes[category]}</svg>`;
}

function field(name: string, label: string, type: string, autocomplete: string): string {
  return `<label>${label} <input name="${name}" type="${type}" autocomplete="${autocomplete}" required></label>`;
}

function capital(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}
