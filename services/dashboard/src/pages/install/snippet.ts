/** What a browser key looks like. */
const BROWSER_KEY = /^svc_pk_[A-Za-z0-9]{1,100}$/;

export const isBrowserKey = (text: string): boolean => BROWSER_KEY.test(text);

/** The address of an edge as the tag is loaded from it: an origin; null where the text is none. */
export function edgeOrigin(text: string): string | null {
  try {
    const url = new URL(text.trim());
    return url.protocol === 'https:' || url.protocol === 'http:' ? url.origin : null;
  } catch {
    return null;
  }
}

/** What is put into the head of every page; both have been checked, so that nothing in them ends the attribute. */
export function snippet(edge: string, key: string): string {
  return `<script async src="${edge}/svc.min.js" data-key="${key}"></script>`;
}

/** Where the tag of a site is loaded from: a domain of its own that is served, or else the installation's; empty: not known. */
export function usualEdge(domains: readonly { domain: string; state: string }[], installation: string | null): string {
  const own = domains.find(({ state }) => state === 'verified');
  return own === undefined ? (installation ?? '') : `https://${own.domain}`;
}
