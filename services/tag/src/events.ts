import { OBJECTS_MAX } from './limits.ts';
import { attempt, guarded, listen } from './page.ts';
import type { EventDefinition, Properties } from './types.ts';
import { uuid7 } from './visitor.ts';

type Change = History['pushState'];

/** When, and on which page: its address and title. */
export type Moment = readonly [atMs: number, href: string, title: string];

let moment: Moment | undefined;
/** Undefined as long as pages are not watched. */
let onChange: (() => void) | undefined;
/** The address of the page that was counted last. */
let pageHref = '';

const momentNow = (): Moment => moment ?? [Date.now(), location.href, document.title];

/** What of an address says which page it is. */
let pageOf = (href: string): string => href.replace(/[?#].*/, '');

/** Calls the listener where the page is another by now than the one that was counted last. */
const look = guarded((): void => {
  if (pageOf(pageHref) !== pageOf(momentNow()[1])) onChange?.();
});

export const pagesBy = (of: typeof pageOf): void => {
  pageOf = of;
  look();
};

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
  onChange = onPage;
  const { navigation } = window as { navigation?: EventTarget };
  if (!navigation)
    for (const name of ['pushState', 'replaceState'] as const)
      attempt(() => {
        const original = history[name];
        history[name] = (...args: Parameters<Change>) => {
          original.apply(history, args);
          look();
        };
      });
  listen(navigation ?? window, navigation ? 'currententrychange' : 'popstate', look);
};

/** An event as it happened, before it is known whether and as what it may be sent. */
export interface Draft {
  key_: string;
  /** Undefined: what comes after it is another visitor's. It keeps its place among what waits, and is not sent. */
  event: string | undefined;
  uuid: string;
  atMs_: number;
  properties: Properties;
  as_: string | number | undefined;
  definition_: EventDefinition | undefined;
  /** As it went out, once it did. */
  sent_?: { properties: Properties };
}

let keyMs = 0;
let referrer = '';

/**
 * The page shows what it did not show before, for which what it showed up to now is the page before. One that the browser had
 * kept has been left for another, of which it knows nothing.
 */
export const turnPage = (): void => {
  const [, next] = momentNow();
  if (next !== pageHref) referrer = pageHref || document.referrer;
  pageHref = next;
};

/**
 * A copy as JSON has it. Of what it cannot take BigInts are their texts, an object that stands in itself is left out where it
 * stands again, and a value that cannot be read is left out: the event goes without.
 */
const plain = (given: Properties | undefined): Properties => {
  const copy: Properties = {};
  for (const name of Object.keys(given ?? {}))
    attempt(() => {
      const value = (given as Properties)[name];
      const seen = new Set();
      const once = (_: string, part: unknown): unknown => {
        // It refers to a whole application.
        if (seen.size > OBJECTS_MAX) throw part;
        if (part !== Object(part) || seen.size < seen.add(part).size)
          return typeof part === 'bigint' ? `${part}` : part;
        return undefined;
      };
      copy[name] = JSON.parse(attempt(() => JSON.stringify(value)) ?? JSON.stringify(value, once));
    });
  return copy;
};

/**
 * @param statedUuid the page's own id for the event.
 * @param as another id of the visitor that the event is told under.
 */
export const draftOf = (
  event?: string,
  given?: Properties,
  statedUuid?: string,
  as_?: string | number,
  definition_?: EventDefinition,
): Draft => {
  const [atMs_, $current_url, $title] = momentNow();
  // Also of one millisecond, later events have later keys.
  keyMs = Math.max(atMs_, keyMs + 1);
  const key_ = uuid7(keyMs);
  const properties = { ...plain(given), $current_url, $referrer: referrer || undefined, $title };
  return { key_, event, uuid: `${statedUuid || key_}`, atMs_, properties, as_, definition_ };
};
