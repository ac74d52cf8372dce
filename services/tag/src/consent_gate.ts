import { attempt, guarded } from './guarded.ts';

/** What a visitor may allow. */
export type Purpose = 'analytics' | 'ads';
export type Choice = Partial<Record<Purpose, boolean>>;

/** What Google's consent mode says under its names, and the TCF under the purpose's. */
const OF: Record<Purpose, string[]> = {
  ads: ['ad_storage', 'ad_user_data', 'ads'],
  analytics: ['analytics_storage', 'analytics'],
};

/** What the page said to us; it goes before what other tools were told. */
export const said: Choice = {};
const signals: Record<string, boolean | undefined> = {};
/** Google's commands that were read: its script takes old entries off the list, so that no place in it stays. */
const seen = new WeakSet<object>();

interface ConsentWindow {
  dataLayer?: unknown[];
  __tcfapi?: (command: string, version: number, answer: (data: TcData, success: boolean) => void) => void;
}
interface TcData {
  gdprApplies?: boolean;
  purpose?: { consents?: Record<number, boolean> };
}
const page = window as unknown as ConsentWindow;

/** The visitor's choice as far as it is known; of several banners' tools one refusal is enough. Undefined: nothing is said. */
export function choiceOf(purpose: Purpose): boolean | undefined {
  // A page may have anything under Google's name.
  attempt(readGoogle);
  const told = OF[purpose].map((signal) => signals[signal]);
  return said[purpose] ?? (told.includes(false) ? false : told.includes(true) || undefined);
}

/** Follows Google's consent mode and the IAB's TCF where the page has them when the tag starts; Google's also later. */
export function watchConsent(onChange: () => void): void {
  attempt(() => {
    const layer = page.dataLayer;
    const push = layer?.push;
    if (layer && push) {
      layer.push = (...entries) => {
        const length = push.apply(layer, entries);
        if (entries.some(isConsent)) guarded(onChange)();
        return length;
      };
    }
  });
  attempt(() =>
    page.__tcfapi?.('addEventListener', 2, (data, success) => {
      if (success) readTcf(data);
      guarded(onChange)();
    }),
  );
}

/** Not what our own part for the platforms has put there: it only repeats the choice (vendor_stubs.ts). */
const isConsent = (entry: unknown): entry is ArrayLike<unknown> =>
  (entry as unknown[] | null | undefined)?.[0] === 'consent' && !(entry as { svc?: unknown }).svc;

/** Google's commands: `['consent', 'default' or 'update', {ad_storage: 'granted', …}]`. */
function readGoogle(): void {
  for (const entry of page.dataLayer ?? []) {
    if (!isConsent(entry) || seen.has(entry)) continue;
    seen.add(entry);
    const values = (entry[2] ?? {}) as Record<string, unknown>;
    for (const [signal, value] of Object.entries(values)) {
      const isGranted = value === 'granted';
      // Nobody here knows the visitor's region: what is refused for some is refused until the visitor chooses.
      if (value && !(values['region'] && isGranted)) signals[signal] = isGranted;
    }
  }
}

/** Purposes: 1 storage, 4 personalised ads, 7 and 8 measuring of ads and of content. */
function readTcf({ gdprApplies, purpose }: TcData): void {
  const given = (...purposes: number[]): boolean | undefined =>
    gdprApplies === false ? undefined : purposes.every((one) => purpose?.consents?.[one]);
  signals['ads'] = given(1, 4, 7);
  signals['analytics'] = given(1, 8);
}
