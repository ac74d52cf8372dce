import { readFileSync } from 'node:fs';
import { CATEGORIES } from './products.ts';

/** The tag's place: the edge it comes from and the site's browser key. */
export interface TagPlace {
  edge: string;
  key: string;
}

export interface PageParts {
  title: string;
  /** Path of the page, to mark it in the navigation. */
  path: string;
  body: string;
}

/** The tag's own stub, so that the shop shows what a site owner pastes. */
export const STUB = readFileSync(new URL('../../tag/stub.js', import.meta.url), 'utf8');

const NAVIGATION: readonly (readonly [path: string, label: string])[] = [
  ...Object.entries(CATEGORIES).map(([slug, label]) => [`/category/${slug}`, label] as const),
  ['/lookbook', 'Lookbook'],
  ['/quote', 'Quote'],
  ['/contact', 'Contact'],
];

/** A whole page of the shop, with the tag as a site owner pastes it. */
export function layout({ title, path, body }: PageParts, { edge, key }: TagPlace): string {
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
