import { REFUSED_COOKIE, VISITOR_S } from './limits.ts';
import { attempt, guarded } from './page.ts';
import { readCookie, writeCookie } from './storage.ts';

/** What a visitor may allow. */
export type Purpose = 'analytics' | 'ads';
export type Choice = Partial<Record<Purpose, boolean>>;

/** The signals of Google's consent mode (storage, and for ads user data), and what the IAB's TCF is read as. */
const OF: Record<Purpose, RegExp> = { ads: /^ad_[^p]/, analytics: /^analytics_/ };

/**
 * What was said: by the page to us, under the purpose, which goes before the signals; and `told` once any of it is the
 * visitor's own word, which what Google is told by default is not.
 */
const words: Record<string, boolean | undefined> = Object.fromEntries(
  readCookie(REFUSED_COOKIE)
    .split('.')
    .map((purpose) => [purpose, false]),
);
/** To the other tabs of the site: a refusal in one of them holds for all, or another would keep again what was removed. */
let tabs: BroadcastChannel | undefined;
/** Google's commands that were read: its script takes old entries off the list, so that no place in it stays. */
const seen = new Set<object>();

interface ConsentWindow {
  dataLayer?: unknown[];
}
declare const window: ConsentWindow;

/** What was said; nothing: the visitor is another. */
export const tellTabs = (said?: object): void => tabs?.postMessage(said);

/**
 * What the page says of the visitor's choice. A refusal is kept for the pages to come, as a grant is by the visitor's id:
 * the purposes refused, which tell nobody from anybody. @param isKept Where nothing is measured unasked, none has to be.
 */
export const say = (choice: Choice, isKept: boolean): void => {
  tellTabs(Object.assign(words, choice, { told: true }));
  const refused = Object.keys(OF).filter((purpose) => isKept && words[purpose] === false);
  writeCookie(REFUSED_COOKIE, refused.join('.'), refused.length && VISITOR_S);
};

/** Not what our own part for the platforms has put there: it only repeats the choice (vendors_script.ts). */
const isConsent = (entry: unknown): entry is ArrayLike<unknown> =>
  (entry as unknown[] | null | undefined)?.[0] === 'consent' && !(entry as { svc?: unknown }).svc;

/** Google's commands: `['consent', 'default' or 'update', {ad_storage: 'granted', …}]`. */
const readGoogle = (): void => {
  for (const entry of window.dataLayer ?? []) {
    if (!isConsent(entry) || seen.size === seen.add(entry).size) continue;
    words['told'] ||= entry[1] === 'update';
    const values = (entry[2] ?? {}) as Record<string, unknown>;
    for (const [signal, value] of Object.entries(values)) {
      const isGranted = value === 'granted';
      // Nobody here knows the visitor's region: what is refused for some is refused until the visitor chooses.
      if (value && !(values['region'] && isGranted)) words[signal] = isGranted;
    }
  }
};

/**
 * The visitor's choice as far as it is known; of several banners' tools one refusal is enough. Undefined: nothing is said. 0:
 * nothing is allowed, and the visitor was not asked yet.
 */
export const choiceOf = (purpose: Purpose): boolean | 0 | undefined => {
  // A page may have anything under Google's name.
  attempt(readGoogle);
  const signals = Object.keys(words)
    .filter((signal) => OF[purpose].test(signal))
    .map((signal) => words[signal]);
  return words[purpose] ?? (signals.includes(false) ? !words['told'] && 0 : signals.includes(true) || undefined);
};

let settleNow: () => void;

/** Takes what a banner's tool says, under signals of its own. */
export const hear = guarded((signals?: object): void => {
  Object.assign(words, signals);
  settleNow();
  if (words['told']) tellTabs(words);
});

/** Follows Google's consent mode where the page has it when the tag starts, and what is chosen in other tabs. */
export const watchConsent = (settle: () => void): void => {
  settleNow = settle;
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
      if (entries.some(isConsent)) hear();
      return length;
    };
  });
};
