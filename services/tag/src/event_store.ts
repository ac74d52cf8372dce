import { STORE_ANSWER_MS_MAX } from './limits.ts';
import type { Waiting } from './send_rules.ts';

/** Events that outlive the page, and the browser when it is killed. What comes to nothing resolves to undefined. */
export interface EventStore {
  /** Resolves to something when the event is written. */
  put(waiting: Waiting): Promise<unknown>;
  /** In order of time. */
  all(): Promise<Waiting[] | undefined>;
  remove(batch: readonly Waiting[]): Promise<unknown>;
  /** Removes the store with all that is in it. */
  end(): void;
}

const HELD = 'e';

/**
 * The store of that name in IndexedDB, made when it is first used. localStorage is none: of what was set 50 ms before a kill
 * most was gone.
 */
export const openStore = (name: string): EventStore => {
  let opened: Promise<IDBDatabase> | undefined;
  const open = (): Promise<IDBDatabase> =>
    new Promise((resolve, reject) => {
      const opening = indexedDB.open(name, 1);
      opening.onupgradeneeded = () => opening.result.createObjectStore(HELD);
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
          const transaction = database.transaction(HELD, 'readwrite');
          const request = use(transaction.objectStore(HELD));
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
    put: (waiting) => run((held) => held.put(waiting, waiting[0])),
    all: () => run((held) => held.getAll()),
    remove: (batch) => run((held) => batch.map(([key]) => held.delete(key))[0]),
    end: () => void indexedDB.deleteDatabase(name),
  };
};
