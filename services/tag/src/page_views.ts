import { attempt, guarded, listen } from './guarded.ts';

type Change = History['pushState'];

/** When, and on which page: its address and title. */
export type Moment = readonly [atMs: number, href: string, title: string];

let moment: Moment | undefined;
/** Undefined as long as pages are not watched. */
let path: string | undefined;
let onChange: () => void;

export const momentNow = (): Moment => moment ?? [Date.now(), location.href, document.title];

const pathNow = (): string => new URL(momentNow()[1]).pathname;

/** Calls the listener where the page's path is another by now. */
const look = guarded((): void => {
  const before = path;
  path &&= pathNow();
  if (path !== before) onChange();
});

/** From now on it is then, as for a call that waited for the tag; undefined: it is now. */
export const setMoment = (then?: Moment): void => {
  moment = then;
  look();
};

/**
 * Calls `onPage` for each further page of a site that changes its address without loading: once a path. The Navigation
 * API says so by itself; where there is none, what moves history is wrapped, the browser's own part first.
 */
export const watchPages = (onPage: () => void): void => {
  path = pathNow();
  onChange = onPage;
  const navigation = (window as { navigation?: EventTarget }).navigation;
  if (navigation) {
    listen(navigation, 'currententrychange', look);
    return;
  }
  for (const name of ['pushState', 'replaceState'] as const) {
    attempt(() => {
      const original = history[name];
      history[name] = (...args: Parameters<Change>) => {
        original.apply(history, args);
        look();
      };
    });
  }
  listen(window, 'popstate', look);
};
