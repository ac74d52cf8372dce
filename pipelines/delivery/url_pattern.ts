const escaped = (text: string): string => text.replace(/[.+?^${}()|[\]\\]/g, '\\$&');

function expressionOf(pattern: string): RegExp {
  const body = pattern.split('*').map(escaped).join('.*');
  return new RegExp(`^${body}$`, 'i');
}

const expressions = new Map<string, RegExp>();
const EXPRESSIONS_MAX = 10_000;

function compiled(pattern: string): RegExp {
  const known = expressions.get(pattern) ?? expressionOf(pattern);
  if (expressions.size >= EXPRESSIONS_MAX) expressions.clear();
  expressions.set(pattern, known);
  return known;
}

/** The parts of a page's address that patterns are compared with; `location` in a browser has them. */
export type PageAddress = Pick<URL, 'href' | 'host' | 'pathname' | 'search'>;

/**
 * Whether a page's address matches a pattern, in which `*` stands for any text and case does not matter. A pattern that
 * begins with a slash is compared with the path, or with path and query if it has a `?`; one with a scheme with the whole
 * address; any other with host and path, as in `shop.example/fr/*`.
 */
export function matchesAddress(
  pattern: string,
  { href, host, pathname, search }: PageAddress,
  expression = expressionOf(pattern.trim()),
): boolean {
  const query = pattern.includes('?') ? search : '';
  if (pattern.trim().startsWith('/')) return expression.test(pathname + query);
  if (pattern.includes('://')) return expression.test(href) || expression.test(href.replace(search, ''));
  return expression.test(host + pathname + query);
}

/** As `matchesAddress`, for an address in one text; what is none matches nothing. */
export function matchesUrl(pattern: string, address: string): boolean {
  if (!URL.canParse(address)) return false;
  const { host, pathname, search } = new URL(address);
  return matchesAddress(pattern, { href: address, host, pathname, search }, compiled(pattern.trim()));
}
