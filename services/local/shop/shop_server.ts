import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { createHttpServer } from '#infra/http/http_server.ts';

export interface ShopServer {
  url: string;
  stop(): Promise<void>;
}

const HOST = '127.0.0.1';
const BODY_BYTES_MAX = 1_024;
const REQUEST_MS_MAX = 10_000;

const FILES = [
  { path: '/shop.css', type: 'text/css; charset=utf-8' },
  { path: '/shop.js', type: 'text/javascript; charset=utf-8' },
].map((file) => ({ ...file, body: readFileSync(new URL(`./files${file.path}`, import.meta.url)) }));

/** The tag's own stub, so that the shop shows what a site owner pastes. */
const STUB = readFileSync(new URL('../../tag/stub.js', import.meta.url), 'utf8');

const STUB_HASH = `sha256-${hash('sha256', STUB, 'base64')}`;

export async function startShop(port: number, tag: TagPlace): Promise<ShopServer> {
  const app = createHttpServer({
    trustedProxies: [],
    bodyBytesMax: BODY_BYTES_MAX,
    requestTimeoutMs: REQUEST_MS_MAX,
    closingMs: 0,
  });
  for (const { path, type, body } of FILES) {
    app.get(path, (_request, reply) => reply.type(type).header('cache-control', 'no-cache').send(body));
  }
  app.get('/*', (request, reply) => {
    const page = pageAt(new URL(request.url, 'http://shop'), tag);
    reply.type('text/html; charset=utf-8').header('content-security-policy', policy(tag));
    if (page !== undefined) return reply.send(layout(page, tag));
    const missing = { title: 'Not found', path: '', body: '<h1>There is no such page</h1>' };
    return reply.code(404).send(layout(missing, tag));
  });
  await app.listen({ port, host: HOST });
  return { url: `http://${HOST}:${(app.server.address() as AddressInfo).port}`, stop: () => app.close() };
}

/**
 * As strict as a careful shop's, but for scripts: those of the shop and of the edge only. With a nonce, which the tag hands
 * on, or 'strict-dynamic' it would load the platforms' own scripts, and a demo must call nobody outside this machine with
 * pixel ids that are invented.
 */
function policy({ edge }: TagPlace): string {
  return [
    "default-src 'none'",
    `script-src 'self' '${STUB_HASH}' ${edge}`,
    "style-src 'self'",
    "img-src 'self' data:",
    `connect-src ${edge}`,
    // Without scripts a form goes to the edge itself.
    `form-action 'self' ${edge}`,
    "base-uri 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    'trusted-types svc',
  ].join('; ');
}

/** The tag's place: the edge it comes from and the site's browser key. */
interface TagPlace {
  edge: string;
  key: string;
}

interface PageParts {
  title: string;
  /** Path of the page, to mark it in the navigation. */
  path: string;
  body: string;
}

const CATEGORIES = { cups: 'Cups', lamps: 'Lamps', paper: 'Paper' } as const;

const NAVIGATION: readonly (readonly [path: string, label: string])[] = [
  ...Object.entries(CATEGORIES).map(([slug, label]) => [`/category/${slug}`, label] as const),
  ['/lookbook', 'Lookbook'],
  ['/quote', 'Quote'],
  ['/contact', 'Contact'],
];

/** A whole page of the shop, with the tag as a site owner pastes it. */
function layout({ title, path, body }: PageParts, { edge, key }: TagPlace): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} – Harbour &amp; Pine</title>
<link rel="stylesheet" href="/shop.css">
<link rel="icon" href="data:,">
<script>${STUB}</script>
<script async src="${edge}/svc.min.js" data-key="${key}"></script>
<script defer src="/shop.js"></script>
</head>
<body>
<a class="skip" href="#content">Skip to content</a>
<header>
<a class="brand" href="/">Harbour &amp; Pine</a>
<nav aria-label="Shop">${NAVIGATION.map((entry) => link(entry, path)).join('')}</nav>
<a class="cart-link" href="/cart">Cart <span data-cart-count>0</span></a>
</header>
<main id="content">
${body}
</main>
<footer><p>A shop that sells nothing: it shows what the tag sends. Open the developer tools, or ask for the events.</p></footer>
</body>
</html>
`;
}

function link([path, label]: readonly [path: string, label: string], current: string): string {
  const mark = current.startsWith(path) ? ' aria-current="page"' : '';
  return `<a href="${path}"${mark}>${label}</a>`;
}

/** The page at an address; undefined where the shop has none. */
function pageAt({ pathname: path, search }: URL, tag: TagPlace): PageParts | undefined {
  const [, kind = '', name = ''] = path.split('/');
  const found =
    kind === 'product'
      ? productPage(name)
      : kind === 'category'
        ? categoryPage(name)
        : path === '/quote'
          ? quotePage(tag, path + search)
          : PAGES[path];
  return found === undefined ? undefined : { ...found, path };
}

type Content = Omit<PageParts, 'path'>;

const FEATURED = 6;
/** The parts of the lookbook, which change the address without loading a page. */
const LOOKS = ['morning', 'evening', 'weekend'] as const;

interface Product {
  slug: string;
  name: string;
  category: CategorySlug;
  /** Euros. */
  price: number;
  text: string;
  /** Of its drawing, in degrees on the colour wheel. */
  hue: number;
}
type CategorySlug = keyof typeof CATEGORIES;

const PRODUCTS: readonly Product[] = [
  product('Morning cup', 'cups', 18.5, 20, 'Stoneware, 300 ml, glazed by hand.'),
  product('Travel cup', 'cups', 24.9, 200, 'Steel, keeps tea hot for four hours.'),
  product('Espresso pair', 'cups', 22, 340, 'Two small cups that stack.'),
  product('Desk lamp', 'lamps', 79, 50, 'Warm light, one joint, no app.'),
  product('Floor lamp', 'lamps', 1249, 90, 'Brass and linen, made to order.'),
  product('Night light', 'lamps', 14.25, 260, 'Dims by itself after an hour.'),
  product('Notebook', 'paper', 9.9, 140, '160 dotted pages that lie flat.'),
  product('Letter set', 'paper', 12.4, 300, 'Twelve sheets, twelve envelopes.'),
  product('Wall calendar', 'paper', 21, 0, 'One month a page, room to write.'),
];

function product(name: string, category: CategorySlug, price: number, hue: number, text: string): Product {
  return { slug: name.toLowerCase().replace(' ', '-'), name, category, price, hue, text };
}

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
  return { title, body: `<h1>${title}</h1>\n${grid(PRODUCTS.filter(({ category }) => category === slug))}` };
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

/** As the shop writes prices: `€ 1,249.00`. */
function priceText(price: number): string {
  return `€ ${price.toLocaleString('en-GB', { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`;
}
