import type { FunnelQuery } from '#pipelines/analytics/funnels/query.ts';
import type { Deed } from './reference_ledger.ts';
import { isSelected } from './selecting.ts';

/** A way to a step: positions in the actor's events, and times. */
export interface Way {
  start: number;
  end: number;
  /** The position of the event of the step that a breakdown is at; -1 for none. */
  at: number;
  startedAt: number;
  /** When the step before was taken. */
  previousAt: number;
  endedAt: number;
}

/** For each step: of all ways to it the one that ended first, of these the one that began last; undefined where none is. */
export function waysTo(query: FunnelQuery, deeds: readonly Deed[]): (Way | undefined)[] {
  const isAny = query.order === 'any';
  const all = isAny ? waysInAnyOrder(query, deeds) : waysInOrder(query, deeds);
  const drops = isAny ? dropsInAnyOrder(query, deeds, all) : dropsInOrder(query, deeds, all);
  return query.steps.map((_, index) => {
    const ways = drops ? [] : all.filter(({ step }) => step === index + 1);
    ways.sort((a, b) => a.end - b.end || b.start - a.start);
    const [best] = ways;
    if (best === undefined) return undefined;
    const alike = ways.filter(({ start, end }) => start === best.start && end === best.end);
    const time = (place: number): number => deeds[place]?.at ?? 0;
    return {
      start: best.start,
      end: best.end,
      at: Math.max(...alike.map(({ at }) => at)),
      startedAt: time(best.start),
      previousAt: time(Math.max(...alike.map(({ previous }) => previous))),
      endedAt: time(best.end),
    };
  });
}

interface StepWay {
  step: number;
  start: number;
  /** Of the event of the step before. */
  previous: number;
  end: number;
  at: number;
}

/** Every way by which an actor got as far as its last event, each of them followed by itself. */
function waysInOrder(query: FunnelQuery, deeds: readonly Deed[]): StepWay[] {
  return deeds.flatMap((first, start) => {
    const [firstStep] = query.steps;
    if (firstStep === undefined || first.at < query.from || !isSelected(firstStep, first)) return [];
    const found: StepWay[] = [taken(query, { step: 1, start, previous: start, end: start, at: -1 })];
    let standing = found;
    for (const [offset, deed] of deeds.slice(start + 1).entries()) {
      if (deed.at - first.at > query.window_ms) break;
      const reached = standing.flatMap((way) =>
        stepsAfter(query, way.step)
          .filter((step) => fills(query, step, deed))
          .map((step) => taken(query, { ...way, step, previous: way.end, end: start + 1 + offset })),
      );
      found.push(...reached);
      standing = latestOf([...standing.filter(({ step }) => mayGoOn(query, step, deed)), ...reached]);
    }
    return found;
  });
}

function taken({ breakdown }: FunnelQuery, way: StepWay): StepWay {
  return breakdown?.at === 'step' && breakdown.step === way.step ? { ...way, at: way.end } : way;
}

/** The next step, and those after it as long as what lies between may be left out. */
function stepsAfter({ steps }: FunnelQuery, step: number): number[] {
  const next: number[] = [];
  for (let after = step + 1; after <= steps.length; after++) {
    next.push(after);
    if (steps[after - 1]?.optional !== true) break;
  }
  return next;
}

/** Of the ways that stand on one step, the one that came there last, and the one whose event of the breakdown came last. */
function latestOf(ways: readonly StepWay[]): StepWay[] {
  return [...Map.groupBy(ways, ({ step }) => step).values()].flatMap((some) => [
    some.reduce((one, other) => (other.end > one.end ? other : one)),
    some.reduce((one, other) => (other.at > one.at ? other : one)),
  ]);
}

function fills({ steps }: FunnelQuery, step: number, deed: Deed): boolean {
  const wanted = steps[step - 1];
  return wanted !== undefined && isSelected(wanted, deed);
}

function mayGoOn({ order, exclusions = [], steps }: FunnelQuery, step: number, deed: Deed): boolean {
  if (order === 'strict') return false;
  return !exclusions.some(
    ({ after_step = 1, before_step = steps.length, ends, ...excluded }) =>
      ends !== 'actor' && step >= after_step && step < before_step && isSelected(excluded, deed),
  );
}

/** Whether an event drops the actor: after a way got to the one step, before one from there got to the other. */
function dropsInOrder(query: FunnelQuery, deeds: readonly Deed[], ways: readonly StepWay[]): boolean {
  const { exclusions = [], steps, window_ms, order } = query;
  return exclusions.some(({ after_step = 1, before_step = steps.length, ends, ...excluded }) =>
    deeds.some((deed, place) => {
      if (ends !== 'actor' || !isSelected(excluded, deed)) return false;
      return ways.some(
        ({ step, start, end }) =>
          step >= after_step &&
          step < before_step &&
          end < place &&
          (order !== 'strict' || end === place - 1) &&
          deed.at - (deeds[start]?.at ?? 0) <= window_ms &&
          deeds.slice(end + 1, place).every((between) => order === 'strict' || mayGoOn(query, step, between)) &&
          !ways.some((other) => other.step === before_step && other.start >= start && other.end <= place),
      );
    }),
  );
}

/** At every event: which steps have happened in the window that ends there, each at its latest. */
function waysInAnyOrder(query: FunnelQuery, deeds: readonly Deed[]): StepWay[] {
  const { exclusions = [], steps, breakdown } = query;
  return deeds.flatMap((last, end) => {
    const lastExcluded = deeds.findLastIndex(
      (deed, at) => at <= end && exclusions.some(({ ends, ...of }) => ends !== 'actor' && isSelected(of, deed)),
    );
    const latest = steps
      .map((step, index) => {
        const places = deeds.flatMap((deed, at) =>
          at <= end && deed.at >= query.from && isSelected(step, deed) ? [at] : [],
        );
        return places.at(-1 - timesBefore(query, index)) ?? -1;
      })
      .filter((at) => at >= Math.max(0, lastExcluded) && last.at - (deeds[at]?.at ?? 0) <= query.window_ms)
      .sort((a, b) => b - a);
    return latest.map((start, index) => {
      const inTime = latest.slice(0, index + 1).reverse();
      const at = breakdown?.at === 'step' ? (inTime[(breakdown.step ?? 0) - 1] ?? -1) : -1;
      return { step: index + 1, start, previous: latest[Math.min(index, 1)] ?? -1, end, at };
    });
  });
}

/** How many steps before one are the same, which other events have to fill. */
function timesBefore({ steps }: FunnelQuery, index: number): number {
  const kind = (at: number): string => {
    const { events = [], filters = [] } = steps[at] ?? {};
    return JSON.stringify([[...new Set(events)].toSorted(), filters]);
  };
  return steps.slice(0, index).filter((_, at) => kind(at) === kind(index)).length;
}

/** The same without an order: after an event that fills a step, and before all are filled. */
function dropsInAnyOrder(query: FunnelQuery, deeds: readonly Deed[], ways: readonly StepWay[]): boolean {
  const { exclusions = [], steps, window_ms, from } = query;
  return exclusions.some(({ ends, ...excluded }) =>
    deeds.some((deed, place) => {
      if (ends !== 'actor' || !isSelected(excluded, deed)) return false;
      const begun = ways.findLast(({ step, start, end }) => step === 1 && start === end && end < place);
      const since = deeds[begun?.end ?? -1];
      if (begun === undefined || since === undefined || since.at < from) return false;
      const isOpen = deeds
        .slice(begun.end + 1, place)
        .every((between) => !exclusions.some((other) => other.ends !== 'actor' && isSelected(other, between)));
      if (!isOpen || deed.at - since.at > window_ms) return false;
      return !ways.some(({ step, end }) => step === steps.length && end >= begun.end && end <= place);
    }),
  );
}
