// What the tag keeps in the browser: localStorage, the day's counters, the events' IndexedDB, cookies.

import { STORE_ANSWER_MS_MAX } from './limits.ts';
import { attempt } from './page.ts';
import type { Waiting } from './requests.ts';

/** What localStorage has under the key; null or undefined where there is nothing that can be read. */
export const readKept = <Value>(key: string): Value | null | undefined =>
  // Without a value null is parsed, which is null: an error, and be it a caught one, costs the engine some compiling.
  attempt(() => JSON.parse(localStorage.getItem(key) as string) as Value | null);

/** Keeps a value for later pages; undefined removes it. */
export const keep = (key: string, value?: object | null): void => {
  attempt(() => (value ? localStorage.setItem(key, JSON.stringify(value)) : localStorage.removeItem(key)));
};

/**
 * Requests that came to nothing for now, events that were too many to keep, events that the edge refused, and requests
 * that the page's content security policy forbade.
 */
type Counter = 'retried' | 'dropped' | 'rejected' | 'blocked';
type Counters = Partial<Record<Counter, number>>;
type Kept = Counters & { day?: number };

/** Of the day's counters. */
export const DAY_KEY = 'svc_h';
const today = (): number => (Date.now() / 86_400_000) | 0;
const add = (to: Kept, what: Counter, by: number): Kept => {
  to[what] = (to[what] ?? 0) + by;
  return to;
};

/** Of this page. */
export const counters: Counters = {};
let mayKeep: (() => boolean) | undefined;

/** Adds to the page's counters, and where something may be stored to the day's, which outlive the page. */
export const count = (what: Counter, by = 1): void => {
  add(counters, what, by);
  if (mayKeep?.()) keep(DAY_KEY, add({ day: today(), ...readKept<Kept>(DAY_KEY) }, what, by));
};

/** From now on the day's counters are kept where that is allowed. Those of an earlier day are handed out, once. */
export const keepDays = (allowed: () => boolean): Counters | undefined => {
  mayKeep = allowed;
  const { day = today(), ...kept } = readKept<Kept>(DAY_KEY) ?? {};
  if (day === today()) return undefined;
  keep(DAY_KEY);
  return kept;
};

/** Events that outlive the page, and the browser when it is killed. What comes to nothing resolves to undefined. */
export interface EventStore {
  /** Resolves to something when the event is written. */
  put_(waiting: Waiting): Promise<unknown>;
  /** In order of time. */
  all_(): Promise<Waiting[] | undefined>;
  remove_(batch: readonly Waiting[]): Promise<unknown>;
  /** Removes the store with all that is in it. */
  end_(): void;
}

/**
 * The store of that name in IndexedDB, made when it is first used. localStorage is none: of what was set 50 ms before a kill
 * most was gone.
 */
export const openStore = (name: string): EventStore => {
  let opened: Promise<IDBDatabase> | undefined;
  const open = (): Promise<IDBDatabase> =>
    new Promise((resolve, reject) => {
      const opening = indexedDB.open(name, 1);
      // Of one letter, as it stands in the core three times.
      opening.onupgradeneeded = () => opening.result.createObjectStore('e');
      opening.onerror = reject;
      opening.onsuccess = () => {
        const database = opening.result;
        // Else a page that stays open would keep another from removing the store. What is used after that opens it anew.
        database.onversionchange = () => {
          opened = undefined;
          database.close();
        };
        resolve(database);
      };
    });

  const run = <Result>(use: (held: IDBObjectStore) => IDBRequest<Result> | undefined) =>
    new Promise<Result | undefined>((resolve, reject) => {
      // Who waits for it holds the lock under which all tabs send.
      const timer = setTimeout(reject, STORE_ANSWER_MS_MAX);
      opened ??= open();
      opened
        .then((database) => {
          // Browsers do not wait for the disk, unless they are told to; that lost nothing.
          // Who reads all is about to remove it, and holds the lock: a mode for reading would gain nothing.
          const transaction = database.transaction('e', 'readwrite');
          const request = use(transaction.objectStore('e'));
          transaction.oncomplete = () => {
            resolve(request?.result);
            clearTimeout(timer);
          };
          transaction.onabort = reject;
        })
        .catch(reject);
    }).catch(() => {
      // It could not be opened, or does not answer: the next use tries again.
      opened = undefined;
      return undefined;
    });

  return {
    put_: (waiting) => run((held) => held.put(waiting, waiting[0])),
    all_: () => run((held) => held.getAll()),
    remove_: (batch) => run((held) => batch.map(([key]) => held.delete(key))[0]),
    end_: () => void indexedDB.deleteDatabase(name),
  };
};

/** How many labels the widest domain has that the browser takes cookies for: of a public suffix such as co.uk it takes none. */
let labels = 2;

/** What a cookie holds; nothing where there is none. */
export const readCookie = (name: string): string =>
  attempt(() => document.cookie.match(`(^|; )${name}=([^;]*)`)?.[2]) ?? '';

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
      if (!domain || readCookie(name) === value) return;
    }
  });
};
