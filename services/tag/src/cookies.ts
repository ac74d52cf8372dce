import { attempt } from './guarded.ts';

/** How many labels the widest domain has that the browser takes cookies for: of a public suffix such as co.uk it takes none. */
let labels = 2;

export const readCookie = (name: string): string | undefined =>
  attempt(() => document.cookie.match(`(^|; )${name}=([^;]*)`)?.[2]);

/**
 * Sets a first-party cookie that a shop's subdomains share; 0 seconds remove it. The first that is written on a page has to
 * have a value that it did not have before, as that tells whether the browser took it.
 */
export const writeCookie = (name: string, value: string, seconds: number): void => {
  attempt(() => {
    const all = location.hostname.split('.');
    const secure = location.protocol === 'https:' ? ';secure' : '';
    for (; ; labels++) {
      const domain = labels > all.length ? '' : `;domain=${all.slice(-labels).join('.')}`;
      // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API answers later, and not in every browser.
      document.cookie = `${name}=${value};path=/;max-age=${seconds};samesite=lax${secure}${domain}`;
      if (!domain || (readCookie(name) ?? '') === value) return;
    }
  });
};
