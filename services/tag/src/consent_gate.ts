import { attempt, guarded } from './guarded.ts';

/** What a visitor may allow. */
export type Purpose = 'analytics' | 'ads';
export type Choice = Partial<Record<Purpose, boolean>>;

type Signal = 'ad_storage' | 'ad_user_data' | 'analytics_storage' | 'tcf_ads' | 'tcf_analytics';
const OF: Record<Purpose, Signal[]> = {
  ads: ['ad_storage', 'ad_user_data', 'tcf_ads'],
  analytics: ['analytics_storage', 'tcf_analytics'],
};

/** What the page said to us; it goes before what other tools were told. */
const said: Choice = {};
const signals: Partial<Record<Signal, boolean>> = {};
let read = 0;

interface ConsentWindow {
  dataLayer?: unknown[];
  __tcfapi?: (command: string, version: number, answer: (data: TcData, success: boolean) => void) => void;
}
interface TcData {
  gdprApplies?: boolean;
  purpose?: { consents?: Record<number, boolean> };
}
const page = window as unknown as ConsentWindow;

export function say(choice: Choice): void {
  Object.assign(said, choice);
}

/** The visitor's choice as far as it is known; of several banners' tools one refusal is enough. Undefined: nothing is said. */
export function choiceOf(purpose: Purpose): boolean | undefined {
  readGoogle();
  const told = OF[purpose].map((signal) => signals[signal]).filter((one) => one !== undefined);
  return said[purpose] ?? (told[0] === undefined ? undefined : !told.includes(false));
}

export const isRefused = (purpose: Purpose): boolean => said[purpose] === false;

/** Follows Google's consent mode and the IAB's TCF where the page has them when the tag starts; Google's also later. */
export function watchConsent(onChange: () => void): void {
  attempt(() => {
    const layer = page.dataLayer;
    const push = layer?.push;
    if (layer && push) {
      layer.push = (...entries) => {
        const length = push.apply(layer, entries);
        if (isConsent(entries[0])) guarded(onChange)();
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
  (entry as unknown[] | undefined)?.[0] === 'consent' && !(entry as { svc?: unknown }).svc;

/** Google's commands: `['consent', 'default' or 'update', {ad_storage: 'granted', …}]`. */
function readGoogle(): void {
  const layer = page.dataLayer ?? [];
  // Google's own script takes old entries off.
  for (const entry of layer.slice(Math.min(read, layer.length)).filter(isConsent)) {
    const values = entry[2] as Record<string, unknown>;
    for (const signal of Object.values(OF).flat()) {
      const isGranted = values[signal] === 'granted';
      // Nobody here knows the visitor's region: what is refused for some is refused until the visitor chooses.
      if (values[signal] && !(values['region'] && isGranted)) signals[signal] = isGranted;
    }
  }
  read = layer.length;
}

/** Purposes: 1 storage, 4 personalised ads, 7 and 8 measuring of ads and of content. */
function readTcf({ gdprApplies, purpose }: TcData): void {
  const given = (...purposes: number[]): boolean => purposes.every((one) => purpose?.consents?.[one]);
  if (gdprApplies === false) {
    delete signals.tcf_ads;
    delete signals.tcf_analytics;
  } else {
    signals.tcf_ads = given(1, 4, 7);
    signals.tcf_analytics = given(1, 8);
  }
}
