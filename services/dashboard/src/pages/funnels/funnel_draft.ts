import type { Field } from '#pipelines/analytics/filters.ts';
import {
  type FilterDraft,
  filtersIn,
  isField,
  objectIn,
  objectsIn,
  oneOf,
  type SelectionDraft,
  selectionIn,
} from '../../questions/conditions.ts';

export type StepDraft = SelectionDraft & { optional?: boolean };
export type ExclusionDraft = SelectionDraft & { after_step?: number; before_step?: number; ends?: 'way' | 'actor' };

/** Where the value of a breakdown is taken from. */
interface BreakdownDraft {
  field: Field;
  at: 'first_step' | 'step' | 'first_touch' | 'last_touch';
  step?: number;
}

/** A funnel as it is being written: what the API takes, without the time. */
export interface FunnelDraft {
  steps: StepDraft[];
  window_ms: number;
  order?: 'ordered' | 'strict' | 'any';
  count_by?: 'person' | 'session';
  filters?: FilterDraft[];
  exclusions?: ExclusionDraft[];
  breakdown?: BreakdownDraft;
}

export const STEPS_MIN = 2;
export const STEPS_MAX = 10;
export const EXCLUSIONS_MAX = 5;
const DAY_MS = 86_400_000;

export const ORDERS = ['ordered', 'strict', 'any'] as const;
export const COUNTED = ['person', 'session'] as const;
/** The first one is that of a new breakdown: a campaign stands at a first touch, and seldom at the page view before a purchase. */
export const ATTRIBUTIONS = ['first_touch', 'last_touch', 'first_step', 'step'] as const;

const USUAL: FunnelDraft = {
  steps: [{ events: ['page_view'] }, { events: ['add_to_cart'] }, { events: ['purchase'] }],
  window_ms: 30 * DAY_MS,
};

/** The funnel that an address asks for, or the usual one. */
export function readFunnel(given: unknown): FunnelDraft {
  if (given === undefined) return USUAL;
  const { steps, window_ms, order, count_by, filters, exclusions, breakdown } = objectIn(given);
  const read = objectsIn(steps).slice(0, STEPS_MAX).map(stepIn);
  const asked: FunnelDraft = {
    steps: [...read, {}, {}].slice(0, Math.max(STEPS_MIN, read.length)),
    window_ms: typeof window_ms === 'number' ? window_ms : USUAL.window_ms,
  };
  const conditions = filtersIn(filters);
  const excluded = objectsIn(exclusions).slice(0, EXCLUSIONS_MAX).map(exclusionIn);
  const { field, at, step } = objectIn(breakdown);
  return withoutMisplaced({
    ...asked,
    ...(order !== undefined && { order: oneOf(order, ORDERS) }),
    ...(count_by !== undefined && { count_by: oneOf(count_by, COUNTED) }),
    ...(conditions.length > 0 && { filters: conditions }),
    ...(excluded.length > 0 && { exclusions: excluded }),
    ...(isField(field) && {
      breakdown: {
        field: field as Field,
        at: oneOf(at, ATTRIBUTIONS),
        ...(typeof step === 'number' && { step }),
      },
    }),
  });
}

const stepIn = (given: Readonly<Record<string, unknown>>): StepDraft => ({
  ...selectionIn(given),
  ...(given['optional'] === true && { optional: true }),
});

function exclusionIn(given: Readonly<Record<string, unknown>>): ExclusionDraft {
  const { after_step, before_step, ends } = given;
  return {
    ...selectionIn(given),
    ...(typeof after_step === 'number' && { after_step }),
    ...(typeof before_step === 'number' && { before_step }),
    ...(ends === 'actor' && { ends }),
  };
}

/** The same without what its steps and its order no longer have a place for. */
export function withoutMisplaced(draft: FunnelDraft): FunnelDraft {
  const last = draft.steps.length - 1;
  const steps = draft.steps.map((step, at) => {
    const { optional, ...rest } = step;
    return optional === true && at > 0 && at < last && draft.order !== 'any' ? step : rest;
  });
  const { exclusions, breakdown, ...rest } = draft;
  return {
    ...rest,
    steps,
    ...(exclusions !== undefined &&
      exclusions.length > 0 && { exclusions: exclusions.map((one) => placed(one, steps.length, draft.order)) }),
    ...(breakdown !== undefined && { breakdown: withStep(breakdown, steps.length) }),
  };
}

function placed(exclusion: ExclusionDraft, steps: number, order: FunnelDraft['order']): ExclusionDraft {
  const { after_step = 1, before_step = steps, ...rest } = exclusion;
  if (order === 'any') return rest;
  const before = Math.min(steps, Math.max(2, before_step));
  return { ...rest, after_step: Math.min(Math.max(1, after_step), before - 1), before_step: before };
}

function withStep({ step = 1, ...breakdown }: BreakdownDraft, steps: number): BreakdownDraft {
  return breakdown.at === 'step' ? { ...breakdown, step: Math.min(step, steps) } : breakdown;
}

/** The steps with one moved to another place. */
export function movedStep(steps: readonly StepDraft[], from: number, to: number): StepDraft[] {
  const moved = steps[from];
  if (moved === undefined || to < 0 || to >= steps.length) return [...steps];
  const rest = steps.filter((_, at) => at !== from);
  return [...rest.slice(0, to), moved, ...rest.slice(to)];
}

/** What a step is called in a chart. */
export const stepName = ({ events = [] }: SelectionDraft): string =>
  events.filter((name) => name !== '').join(' or ') || 'Any event';
