import { attempt } from './guarded.ts';

let domain: string | undefined;

export const readCookie = (name: string): string | undefined =>
  attempt(() => `; ${document.cookie}`.split(`; ${name}=`)[1]?.split(';')[0]);

function put(name: string, value: string, seconds: number, where: string): void {
  attempt(() => {
    const secure = location.protocol === 'https:' ? ';secure' : '';
    // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API answers later, and not in every browser.
    document.cookie = `${name}=${value};path=/;max-age=${seconds};samesite=lax${secure}${where}`;
  });
}

/** The widest domain that the browser takes cookies for; of a public suffix such as co.uk it takes none. */
function widest(): string {
  const labels = location.hostname.split('.');
  for (let from = labels.length - 2; from >= 0; from--) {
    const where = `;domain=${labels.slice(from).join('.')}`;
    put('svc_t', '1', 9, where);
    const isTaken = readCookie('svc_t');
    put('svc_t', '', 0, where);
    if (isTaken) return where;
  }
  return '';
}

/** Sets a first-party cookie that a shop's subdomains share; 0 seconds remove it. */
export function writeCookie(name: string, value: string, seconds: number): void {
  domain ??= widest();
  put(name, value, seconds, domain);
}
