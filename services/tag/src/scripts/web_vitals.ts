import { attempt, listen } from '../page.ts';

/*
 * The five Core Web Vitals by the rules of the package web-vitals, for the load of the page, up to when it is first
 * hidden. Milliseconds, and for `cls` a score.
 */

type Vitals = Partial<Record<'lcp' | 'cls' | 'inp' | 'fcp' | 'ttfb', number>>;

/** Fields of performance entries that the compiler's library does not know yet. */
interface Timing extends PerformanceEntry {
  value: number;
  hadRecentInput: boolean;
  interactionId: number;
}

const INTERACTION_MS_MIN = 40;
const INTERACTIONS_HELD = 10;
/** Observes entries of a type, those before included. @returns reads what the browser has not handed over yet, and ends. */
function observe(type: string, see: (entry: Timing) => void, more: object = {}): () => void {
  const observer = attempt(() => {
    const made = new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) see(entry as Timing);
    });
    made.observe({ type, buffered: true, ...more });
    return made;
  });
  return () => {
    for (const entry of observer?.takeRecords() ?? []) see(entry as Timing);
    observer?.disconnect();
  };
}

/** When the page was first hidden: what is painted later is not what the visitor waited for. */
function firstHiddenMs(): number {
  const states = performance.getEntriesByType('visibility-state');
  const hidden = states.find(({ name }) => name === 'hidden');
  return hidden?.startTime ?? (document.visibilityState === 'hidden' ? 0 : Number.POSITIVE_INFINITY);
}

/** Calls `report` once, when the page is first hidden. */
export function watchVitals(report: (vitals: Vitals) => void): void {
  const navigation = performance.getEntriesByType('navigation')[0] as
    | (PerformanceNavigationTiming & { activationStart?: number })
    | undefined;
  const activatedMs = navigation?.activationStart ?? 0;
  const sinceActivation = (ms: number): number => Math.max(0, ms - activatedMs);
  const hiddenMs = firstHiddenMs();
  const vitals: Vitals = {};
  const shifts = shiftRuns();
  const interactions = new Map<number, number>();
  if (navigation) vitals.ttfb = sinceActivation(navigation.responseStart);

  const seeInteraction = ({ interactionId, duration }: Timing): void => {
    if (!interactionId) return;
    interactions.set(interactionId, Math.max(duration, interactions.get(interactionId) ?? 0));
    if (interactions.size <= INTERACTIONS_HELD) return;
    const [quickest] = [...interactions].sort(([, one], [, other]) => one - other);
    if (quickest) interactions.delete(quickest[0]);
  };
  const readers = [
    observe('paint', ({ name, startTime }) => {
      if (name === 'first-contentful-paint' && startTime < hiddenMs) vitals.fcp = sinceActivation(startTime);
    }),
    observe('largest-contentful-paint', ({ startTime }) => {
      if (startTime < hiddenMs) vitals.lcp = sinceActivation(startTime);
    }),
    observe('layout-shift', shifts.see),
    observe('event', seeInteraction, { durationThreshold: INTERACTION_MS_MIN }),
    observe('first-input', seeInteraction),
  ];

  let isReported = false;
  const onHidden = (): void => {
    if (isReported) return;
    isReported = true;
    for (const read of readers) read();
    vitals.cls = shifts.worst();
    const count = (performance as { interactionCount?: number }).interactionCount ?? interactions.size;
    const inp = slowInteraction([...interactions.values()], count);
    if (inp !== undefined) vitals.inp = inp;
    report(vitals);
  };
  listen(document, 'visibilitychange', () => document.visibilityState === 'hidden' && onHidden());
  listen(window, 'pagehide', onHidden);
}

const SHIFTS_GAP_MS = 1000;
const SHIFTS_WINDOW_MS = 5000;
/** Of every 50 interactions the slowest is passed over: about the 98th percentile. */
const INTERACTIONS_A_STEP = 50;

interface Shift {
  startTime: number;
  value: number;
  hadRecentInput: boolean;
}

/** The worst run of layout shifts that follow each other closely; of those seen nothing but the sums is kept. */
export function shiftRuns(): { see(shift: Shift): void; worst(): number } {
  let worst = 0;
  let sum = 0;
  let beganMs = 0;
  let lastMs = Number.NEGATIVE_INFINITY;
  return {
    see({ startTime, value, hadRecentInput }) {
      if (hadRecentInput) return;
      const goesOn = startTime - lastMs < SHIFTS_GAP_MS && startTime - beganMs < SHIFTS_WINDOW_MS;
      sum = goesOn ? sum + value : value;
      if (!goesOn) beganMs = startTime;
      lastMs = startTime;
      worst = Math.max(worst, sum);
    },
    worst: () => worst,
  };
}

/** The interaction that is slower than about 98 of 100, by the durations of the slowest ones. */
export function slowInteraction(slowest: readonly number[], count: number): number | undefined {
  const sorted = [...slowest].sort((one, other) => other - one);
  return sorted[Math.min(sorted.length - 1, Math.floor(count / INTERACTIONS_A_STEP))];
}
