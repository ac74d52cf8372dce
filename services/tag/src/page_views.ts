import { attempt, guarded, listen } from './guarded.ts';

type Change = History['pushState'];

/**
 * Calls `onPage` for each further page of a site that changes its address without loading: once a path. The Navigation
 * API says so by itself; where there is none, what moves history is wrapped, the browser's own part first.
 */
export function watchPages(onPage: () => void): void {
  let path = location.pathname;
  const look = guarded(() => {
    if (location.pathname === path) return;
    path = location.pathname;
    onPage();
  });
  const navigation = (window as { navigation?: EventTarget }).navigation;
  if (navigation) {
    listen(navigation, 'currententrychange', look);
    return;
  }
  for (const name of ['pushState', 'replaceState'] as const) {
    attempt(() => {
      const original = history[name];
      history[name] = function (this: History, ...args: Parameters<Change>) {
        const result = original.apply(this, args);
        look();
        return result;
      };
    });
  }
  listen(window, 'popstate', look);
}
