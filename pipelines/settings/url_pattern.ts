/** The parts of a page's address that patterns are compared with; `location` in a browser has them. */
export type PageAddress = Pick<URL, 'href' | 'host' | 'pathname' | 'search'>;

/** Reads a page's address; null where it is none. */
export function readPageAddress(address: string): PageAddress | null {
  const url = URL.parse(address);
  return url === null ? null : { href: address, host: url.host, pathname: url.pathname, search: url.search };
}

/**
 * Whether a page's address matches a pattern, in which `*` stands for any text and case does not matter. A pattern that
 * begins with a slash is compared with the path, or with path and query if it has a `?`; one with a scheme with the whole
 * address; any other with host and path, as in `shop.example/fr/*`.
 */
export function matchesAddress(pattern: string, { href, host, pathname, search }: PageAddress): boolean {
  const wanted = pattern.trim();
  const query = wanted.includes('?') ? search : '';
  if (wanted.startsWith('/')) return matchesText(wanted, pathname + query);
  if (wanted.includes('://')) return matchesText(wanted, href) || matchesText(wanted, href.replace(search, ''));
  return matchesText(wanted, host + pathname + query);
}

/** As `matchesAddress`, for an address in one text; what is none matches nothing. */
export function matchesUrl(pattern: string, address: string): boolean {
  const page = readPageAddress(address);
  return page !== null && matchesAddress(pattern, page);
}

/** Whether a text is a pattern's, with any text where `*` stands; case does not matter. */
const matchesText = (pattern: string, text: string): boolean =>
  matchesParts(pattern.toLowerCase().split('*'), text.toLowerCase());

/**
 * Whether a text is the parts of a pattern, in their order, with any text between. Each is taken where it comes first,
 * so that no pattern takes longer than the text is long; a regular expression of many stars would try every place of each.
 */
export function matchesParts([first = '', ...rest]: readonly string[], whole: string): boolean {
  const last = rest.pop();
  if (last === undefined) return whole === first;
  if (!whole.startsWith(first)) return false;
  let at = first.length;
  for (const part of rest) {
    const found = whole.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return whole.length - last.length >= at && whole.endsWith(last);
}

/** An allowed origin with `*.` before the host: the scheme, and the host below which all names are. */
export const WILDCARD = /^(https?:\/\/)\*\.([^*]+)$/i;
/** One label or more; the host that follows is not among them. */
const LABELS_PATTERN = /^[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?$/;

/** Whether an origin, as a browser sends it, is one that an allow-list's entry means. */
export function isOriginAllowed(allowed: string, origin: string): boolean {
  if (allowed === origin) return true;
  const wildcard = WILDCARD.exec(allowed);
  if (wildcard === null) return false;
  const [, scheme = '', host = ''] = wildcard;
  const suffix = `.${host}`;
  if (!origin.startsWith(scheme) || !origin.endsWith(suffix)) return false;
  return LABELS_PATTERN.test(origin.slice(scheme.length, -suffix.length));
}
