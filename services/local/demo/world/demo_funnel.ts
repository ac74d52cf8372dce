export const FUNNEL_STEPS: readonly string[] = ['page_view', 'view_item', 'add_to_cart', 'begin_checkout', 'purchase'];

/** All steps within this time of the first: long enough for the events that arrive days late. */
export const FUNNEL_WINDOW_MS = 30 * 86_400_000;

/** What one person did, as far as a funnel cares. */
export interface FunnelEvent {
  name: string;
  /** Milliseconds since 1970 UTC. */
  at: number;
}

/** The number of steps reached in order, from 0, with all of them within FUNNEL_WINDOW_MS of the first. */
export function stepsReached(events: readonly FunnelEvent[]): number {
  const deeds = events
    .map(({ name, at }) => ({ step: FUNNEL_STEPS.indexOf(name), at }))
    .filter(({ step }) => step >= 0)
    .toSorted((a, b) => a.at - b.at || a.step - b.step);
  // startOf[n] is the latest first step from which step n has been reached so far.
  const startOf: (number | undefined)[] = [];
  for (const { step, at } of deeds) {
    const start = step === 0 ? at : startOf[step - 1];
    if (start !== undefined && at - start <= FUNNEL_WINDOW_MS) startOf[step] = start;
  }
  return startOf.length;
}

/** People who reached at least each step, from how far each person got. */
export function countSteps(reached: Iterable<number>): number[] {
  const counts = FUNNEL_STEPS.map(() => 0);
  for (const steps of reached) {
    for (let step = 0; step < steps; step++) counts[step] = (counts[step] ?? 0) + 1;
  }
  return counts;
}
