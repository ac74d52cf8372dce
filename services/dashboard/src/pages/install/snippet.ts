import { registrableDomain } from '#pipelines/settings/public_suffixes.ts';

/** What a browser key looks like. */
const BROWSER_KEY = /^svc_pk_[A-Za-z0-9]{1,100}$/;

export const isBrowserKey = (text: string): boolean => BROWSER_KEY.test(text);

/** Stands in the line where the key goes until there is one. */
export const KEY_PLACEHOLDER = 'svc_pk_YOUR_BROWSER_KEY';

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

/** Origins of pages that are likely the site's: of the name that its domains are below, and of all names there. */
export function likelyOrigins(domains: readonly { domain: string }[]): string[] {
  const names = new Set(domains.map(({ domain }) => registrableDomain(domain) ?? domain));
  return [...names].flatMap((name) => [`https://${name}`, `https://*.${name}`]);
}

/** Where the tag of a site is loaded from: a domain of its own that is served, or else the installation's; empty: not known. */
export function usualEdge(domains: readonly { domain: string; state: string }[], installation: string | null): string {
  const own = domains.find(({ state }) => state === 'verified');
  return own === undefined ? (installation ?? '') : `https://${own.domain}`;
}
