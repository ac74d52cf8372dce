import { attempt, guarded } from './guarded.ts';

/** What a visitor may allow. */
export type Purpose = 'analytics' | 'ads';
export type Choice = Partial<Record<Purpose, boolean>>;

/** The signals of Google's consent mode (storage, and for ads user data), and what the IAB's TCF is read as. */
const OF: Record<Purpose, RegExp> = { ads: /^ad_(s|u|tcf)/, analytics: /^analytics_/ };

/**
 * What was said: by the page to us, under the purpose, which goes before the signals; and `told` once any of it is the
 * visitor's own word, which what Google is told by default is not.
 */
const words: Record<string, boolean | undefined> = {};
/** To the other tabs of the site: a refusal in one of them holds for all, or another would keep again what was removed. */
let tabs: BroadcastChannel | undefined;
/** Google's commands that were read: its script takes old entries off the list, so that no place in it stays. */
const seen = new WeakSet<object>();

interface ConsentWindow {
  dataLayer?: unknown[];
  __tcfapi?: (command: string, version: number, answer: (data: TcData, success: boolean) => void) => void;
}
interface TcData {
  eventStatus?: string;
  gdprApplies?: boolean;
  purpose?: { consents?: Record<number, boolean> };
}
declare const window: ConsentWindow;

/** What was said; nothing: the visitor is another. */
export const tellTabs = (said?: object): void => tabs?.postMessage(said);

export function say(choice: Choice): void {
  tellTabs(Object.assign(words, choice, { told: true }));
}

/**
 * The visitor's choice as far as it is known; of several banners' tools one refusal is enough. Undefined: nothing is said. 0:
 * nothing is allowed, and the visitor was not asked yet.
 */
export function choiceOf(purpose: Purpose): boolean | 0 | undefined {
  // A page may have anything under Google's name.
  attempt(readGoogle);
  const signals = Object.keys(words)
    .filter((signal) => OF[purpose].test(signal))
    .map((signal) => words[signal]);
  return words[purpose] ?? (signals.includes(false) ? !words['told'] && 0 : signals.includes(true) || undefined);
}

/**
 * Follows Google's consent mode and the IAB's TCF where the page has them when the tag starts, Google's also later, and what
 * is chosen in other tabs.
 */
export function watchConsent(settle: () => void): void {
  const onChange = guarded(() => {
    settle();
    if (words['told']) tellTabs(words);
  });
  attempt(() => {
    tabs = new BroadcastChannel('svc');
    tabs.onmessage = guarded(({ data }: MessageEvent<typeof words>) => {
      Object.assign(words, data);
      settle();
    });
  });
  attempt(() => {
    const layer = window.dataLayer;
    const push = layer?.push;
    if (!push) return;
    layer.push = (...entries) => {
      const length = push.apply(layer, entries);
      if (entries.some(isConsent)) onChange();
      return length;
    };
  });
  attempt(() =>
    window.__tcfapi?.('addEventListener', 2, (data, success) => {
      if (success) readTcf(data);
      onChange();
    }),
  );
}

/** Not what our own part for the platforms has put there: it only repeats the choice (vendor_stubs.ts). */
const isConsent = (entry: unknown): entry is ArrayLike<unknown> =>
  (entry as unknown[] | null | undefined)?.[0] === 'consent' && !(entry as { svc?: unknown }).svc;

/** Google's commands: `['consent', 'default' or 'update', {ad_storage: 'granted', …}]`. */
function readGoogle(): void {
  for (const entry of window.dataLayer ?? []) {
    if (!isConsent(entry) || seen.has(entry)) continue;
    seen.add(entry);
    words['told'] ||= entry[1] === 'update';
    const values = (entry[2] ?? {}) as Record<string, unknown>;
    for (const [signal, value] of Object.entries(values)) {
      const isGranted = value === 'granted';
      // Nobody here knows the visitor's region: what is refused for some is refused until the visitor chooses.
      if (value && !(values['region'] && isGranted)) words[signal] = isGranted;
    }
  }
}

/** Purposes: 1 storage, 4 personalised ads, 7 and 8 measuring of ads and of content. */
function readTcf({ eventStatus, gdprApplies, purpose }: TcData): void {
  const given = (...purposes: number[]): boolean | undefined =>
    gdprApplies === false ? undefined : purposes.every((one) => purpose?.consents?.[one]);
  words['ad_tcf'] = given(1, 4, 7);
  words['analytics_tcf'] = given(1, 8);
  words['told'] = eventStatus !== 'cmpuishown';
}
