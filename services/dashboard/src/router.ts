import { signal } from '@preact/signals';

/** Where the dashboard is on its host. Paths elsewhere in its code begin after it. */
const BASE = '/dashboard';

interface Place {
  path: string;
  query: URLSearchParams;
}

const placeAt = ({ pathname, search }: Pick<URL, 'pathname' | 'search'>): Place => ({
  path: pathname.slice(BASE.length) || '/',
  query: new URLSearchParams(search),
});
const here = (): Place => placeAt(location);

/** Where the person is; whoever reads it is drawn again when that changes. */
export const currentLocation = signal<Place>(here());

let patterns: readonly string[] = [];

/** Says which paths there are pages for. */
export function setRoutes(known: readonly string[]): void {
  patterns = known;
}

export const hasRoute = (path: string): boolean => patterns.some((pattern) => matchPath(pattern, path) !== null);

export function addressOf(path: string, query: URLSearchParams | null = null): string {
  const text = query?.toString() ?? '';
  return BASE + path + (text === '' ? '' : `?${text}`);
}

let completed: (path: string, query: URLSearchParams) => URLSearchParams = (_path, query) => query;

/** Says what is added to the query of an address that somebody goes to. */
export function setQueryDefaults(complete: typeof completed): void {
  completed = complete;
}

/** Goes to an address of the dashboard; `replace` leaves no entry in the browser's history. */
export function navigate(address: string, how: 'push' | 'replace' = 'push'): void {
  const { path, query } = placeAt(new URL(address, location.origin));
  const whole = addressOf(path, completed(path, query));
  if (how === 'push') history.pushState(null, '', whole);
  else history.replaceState(null, '', whole);
  currentLocation.value = here();
}

/** Changes parameters of the query where the person is; null or an empty text takes one away. */
export function setQuery(changes: Record<string, string | null>, how: 'push' | 'replace' = 'replace'): void {
  const query = new URLSearchParams(currentLocation.value.query);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === '') query.delete(name);
    else query.set(name, value);
  }
  navigate(addressOf(currentLocation.value.path, query), how);
}

/** The parameters that a path has for a pattern such as /sites/:site/live, or null where it is another one. */
export function matchPath(pattern: string, path: string): Record<string, string> | null {
  const wanted = pattern.split('/');
  const given = path.replace(/(?<=.)\/$/, '').split('/');
  if (wanted.length !== given.length) return null;
  const params: Record<string, string> = {};
  for (const [at, part] of wanted.entries()) {
    const text = given[at] ?? '';
    if (!part.startsWith(':')) {
      if (part !== text) return null;
    } else if (text === '') return null;
    else params[part.slice(1)] = decoded(text);
  }
  return params;
}

/** A part of a path, as people read it; what is no such encoding stays as it is. */
export function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

let holdsBack: (leave: () => void) => boolean = () => false;

/** Says what may hold back the browser's way back and forth: it answers whether it does, and leaves later or never. */
export function setNavigationGuard(hold: typeof holdsBack): void {
  holdsBack = hold;
}

function followHistory(): void {
  let isLeaving = false;
  const leave = (): void => {
    isLeaving = true;
    history.back();
  };
  addEventListener('popstate', () => {
    if (!isLeaving && holdsBack(leave)) {
      // The browser is there already, and the page is not: its address comes after that one.
      history.pushState(null, '', addressOf(currentLocation.peek().path, currentLocation.peek().query));
      return;
    }
    isLeaving = false;
    currentLocation.value = here();
  });
}

/** Follows the browser's way back and forth, and links of the dashboard without loading the page anew. */
export function startRouter(): void {
  followHistory();
  document.addEventListener('click', (event) => {
    const isPlain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
    const link = event.target instanceof Element ? event.target.closest('a') : null;
    if (!isPlain || event.defaultPrevented || link === null || link.hasAttribute('download') || link.target !== '')
      return;
    if (link.origin !== location.origin || !`${link.pathname}/`.startsWith(`${BASE}/`)) return;
    // A place on this page, such as its content: the browser goes there, with the focus.
    if (link.hash !== '' && link.pathname + link.search === location.pathname + location.search) return;
    event.preventDefault();
    navigate(link.pathname + link.search);
  });
}
