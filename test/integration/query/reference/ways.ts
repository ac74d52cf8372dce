import type { FunnelQuery } from '#pipelines/query/shapes.ts';
import type { Deed } from './reference_ledger.ts';
import { isSelected } from './selecting.ts';

/** A way through the first steps: positions in the actor's events, and times. */
export interface Way {
  start: number;
  end: number;
  startedAt: number;
  endedAt: number;
}

/** For each step that the actor got to: of all ways to it the one that ended first, of these the one that began last. */
export function waysTo(query: FunnelQuery, deeds: readonly Deed[]): Way[] {
  const all = query.order === 'any' ? waysInAnyOrder(query, deeds) : waysInOrder(query, deeds);
  return query.steps.flatMap((_, index) => {
    const ways = all.filter(({ step }) => step === index + 1);
    ways.sort((a, b) => a.end - b.end || b.start - a.start);
    const [best] = ways;
    if (best === undefined) return [];
    const [startedAt = 0, endedAt = 0] = [deeds[best.start]?.at, deeds[best.end]?.at];
    return [{ start: best.start, end: best.end, startedAt, endedAt }];
  });
}

interface StepWay {
  step: number;
  start: number;
  end: number;
}

/** Follows every beginning by itself, with all the steps that it could stand on. */
function waysInOrder(query: FunnelQuery, deeds: readonly Deed[]): StepWay[] {
  return deeds.flatMap((first, start) => {
    const [firstStep] = query.steps;
    if (firstStep === undefined || first.at < query.from || !isSelected(firstStep, first)) return [];
    const found: StepWay[] = [{ step: 1, start, end: start }];
    let standing = new Set([1]);
    for (const [offset, deed] of deeds.slice(start + 1).entries()) {
      if (deed.at - first.at > query.window_ms) break;
      const reached = [...standing].map((step) => step + 1).filter((step) => fills(query, step, deed));
      for (const step of reached) found.push({ step, start, end: start + 1 + offset });
      standing = new Set([...[...standing].filter((step) => mayGoOn(query, step, deed)), ...reached]);
    }
    return found;
  });
}

function fills({ steps }: FunnelQuery, step: number, deed: Deed): boolean {
  const wanted = steps[step - 1];
  return wanted !== undefined && isSelected(wanted, deed);
}

function mayGoOn({ order, exclusions = [], steps }: FunnelQuery, step: number, deed: Deed): boolean {
  if (order === 'strict') return false;
  return !exclusions.some(
    ({ after_step = 1, before_step = steps.length, ...excluded }) =>
      step >= after_step && step < before_step && isSelected(excluded, deed),
  );
}

/** At every event: which steps have happened in the window that ends there, each at its latest. */
function waysInAnyOrder(query: FunnelQuery, deeds: readonly Deed[]): StepWay[] {
  return deeds.flatMap((last, end) => {
    const lastExcluded = deeds.findLastIndex(
      (deed, at) => at <= end && (query.exclusions ?? []).some((excluded) => isSelected(excluded, deed)),
    );
    const latest = query.steps
      .map((step) => deeds.findLastIndex((deed, at) => at <= end && deed.at >= query.from && isSelected(step, deed)))
      .filter((at) => at >= Math.max(0, lastExcluded) && last.at - (deeds[at]?.at ?? 0) <= query.window_ms)
      .sort((a, b) => b - a);
    return latest.map((start, index) => ({ step: index + 1, start, end }));
  });
}
