import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { createHttpServer } from '#infra/http/http_server.ts';

export type ShopServer = Awaited<ReturnType<typeof startShop>>;

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

export async function startShop(port: number, tag: TagPlace) {
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

const template = (name: string): string =>
  readFileSync(new URL(`./files/pages/${name}.html.txt`, import.meta.url), 'utf8').trimEnd();

/** A template with its `{{names}}` replaced. */
function filled(text: string, values: Record<string, string>): string {
  return text.replace(/\{\{(\w+)\}\}/g, (_, name: string) => values[name] ?? '');
}

const LAYOUT = template('layout');

/** A whole page of the shop, with the tag as a site owner pastes it. */
function layout({ title, path, body }: PageParts, tag: TagPlace): string {
  const links = NAVIGATION.map(([to, label]) => {
    return `<a href="${to}"${path.startsWith(to) ? ' aria-current="page"' : ''}>${label}</a>`;
  });
  return `${filled(LAYOUT, { ...tag, title, body, stub: STUB, navigation: links.join('') })}\n`;
}

/** The page at an address; undefined where the shop has none. */
function pageAt({ pathname: path, search }: URL, tag: TagPlace): PageParts | undefined {
  const [, kind = '', name = ''] = path.split('/');
  if (kind === 'product' || kind === 'category') {
    const found = kind === 'product' ? productPage(name) : categoryPage(name);
    return found && { ...found, path };
  }
  const page = PAGES.get(path);
  // What states the page itself: without scripts the browser tells the edge no more of it than the origin. The URL parser
  // has left no quote.
  const values = { ...tag, page: (path + search).replaceAll('&', '&amp;') };
  return page && { title: page.title, path, body: filled(page.body, values) };
}

type Content = Omit<PageParts, 'path'>;

const FEATURED = 6;
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

/** Pages by their paths; the parts of the lookbook change the address without loading a page. */
const PAGES = new Map<string, Content>([
  [
    '/',
    {
      title: 'Home',
      body: `<h1>Things for quiet rooms</h1>\n<p class="lead">Cups, lamps and paper.</p>\n${grid(PRODUCTS.slice(0, FEATURED))}`,
    },
  ],
  ...Object.entries({
    cart: 'Cart',
    checkout: 'Checkout',
    'thank-you': 'Thank you',
    contact: 'Contact',
    quote: 'Quote',
  }).map(([name, title]) => [`/${name}`, { title, body: template(name) }] as const),
  ...['', '/morning', '/evening', '/weekend'].map(
    (look) => [`/lookbook${look}`, { title: 'Lookbook', body: template('lookbook') }] as const,
  ),
]);

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

/** As the shop writes prices: `€ 1,249.00`. */
function priceText(price: number): string {
  return `€ ${price.toLocaleString('en-GB', { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`;
}
