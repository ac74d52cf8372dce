import type { Waiting } from './send_rules.ts';

/** Events that outlive the page, and the browser when it is killed. What comes to nothing resolves to undefined. */
export interface EventStore {
  /** Resolves to something when the event is written. */
  put(waiting: Waiting): Promise<unknown>;
  /** In order of time. */
  all(): Promise<Waiting[] | undefined>;
  remove(batch: readonly Waiting[]): Promise<unknown>;
}

const HELD = 'e';
const ANSWER_MS_MAX = 2000;

/** The store of that name in IndexedDB. localStorage is none: of what was set 50 ms before a kill most was gone. */
export function openStore(name: string): EventStore {
  let opened: Promise<IDBDatabase> | undefined;
  const open = (): Promise<IDBDatabase> => {
    opened ??= new Promise((resolve, reject) => {
      const opening = indexedDB.open(name, 1);
      opening.onupgradeneeded = () => opening.result.createObjectStore(HELD);
      opening.onerror = reject;
      opening.onsuccess = () => {
        const database = opening.result;
        // Else a page that stays open would keep the next one from removing the store.
        database.onversionchange = () => database.close();
        resolve(database);
      };
      setTimeout(reject, ANSWER_MS_MAX);
    });
    return opened;
  };

  const run = <Result>(mode: IDBTransactionMode, use: (held: IDBObjectStore) => IDBRequest<Result> | undefined) =>
    open()
      .then(
        (database) =>
          new Promise<Result | undefined>((resolve, reject) => {
            // Relaxed lost nothing either, and does not wait for the disk.
            const transaction = database.transaction(HELD, mode, { durability: 'relaxed' });
            const request = use(transaction.objectStore(HELD));
            transaction.oncomplete = () => resolve(request?.result);
            transaction.onabort = reject;
          }),
      )
      .catch(() => undefined);

  return {
    put: (waiting) => run('readwrite', (held) => held.put(waiting, waiting[0])),
    all: () => run('readonly', (held) => held.getAll()),
    remove: (batch) =>
      run('readwrite', (held) => {
        for (const [key] of batch) held.delete(key);
        return undefined;
      }),
  };
}

export const removeStore = (name: string): void => void indexedDB.deleteDatabase(name);
