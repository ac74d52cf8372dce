import type { Field } from '#pipelines/analytics/filters.ts';
import * as conditions from '../../questions/conditions.ts';

export type StepDraft = conditions.SelectionDraft & { optional?: boolean | undefined };
export type ExclusionDraft = conditions.SelectionDraft & {
  after_step?: number | undefined;
  before_step?: number | undefined;
  ends?: keyof typeof ENDS | undefined;
};

interface BreakdownDraft {
  field: Field;
  at: keyof typeof ATTRIBUTIONS;
  step?: number | undefined;
}

/** A funnel as it is being written: what the API takes, without the time. */
export interface FunnelDraft {
  steps: StepDraft[];
  window_ms: number;
  order?: keyof typeof ORDERS | undefined;
  count_by?: keyof typeof COUNTED | undefined;
  filters?: conditions.FilterDraft[] | undefined;
  exclusions?: ExclusionDraft[] | undefined;
  breakdown?: BreakdownDraft | undefined;
}

export const STEPS_MIN = 2;
export const STEPS_MAX = 10;
export const EXCLUSIONS_MAX = 5;
const DAY_MS = 86_400_000;

export const ORDERS = { ordered: 'In this order', strict: 'Strict order', any: 'In any order' };
export const COUNTED = { person: 'People', session: 'Sessions' };
/** The first one is that of a new breakdown: a campaign stands at a first touch, and seldom at the page view before a purchase. */
export const ATTRIBUTIONS = {
  first_touch: 'First touch',
  last_touch: 'Last touch',
  first_step: 'At the first step',
  step: 'At step …',
};
export const ENDS = { way: 'this attempt', actor: 'the whole person' };

const USUAL: FunnelDraft = {
  steps: [{ events: ['page_view'] }, { events: ['add_to_cart'] }, { events: ['purchase'] }],
  window_ms: 30 * DAY_MS,
};

export function readFunnel(given: unknown): FunnelDraft {
  if (given === undefined) return USUAL;
  const { steps, window_ms, order, count_by, filters, exclusions, breakdown } = conditions.objectIn(given);
  const read = conditions.objectsIn(steps).slice(0, STEPS_MAX).map(stepIn);
  const { field, at, step } = conditions.objectIn(breakdown);
  return withoutMisplaced({
    steps: [...read, {}, {}].slice(0, Math.max(STEPS_MIN, read.length)),
    window_ms: conditions.numberIn(window_ms) ?? USUAL.window_ms,
    order: conditions.choiceIn(order, ORDERS),
    count_by: conditions.choiceIn(count_by, COUNTED),
    filters: conditions.someOf(conditions.filtersIn(filters)),
    exclusions: conditions.objectsIn(exclusions).slice(0, EXCLUSIONS_MAX).map(exclusionIn),
    breakdown: conditions.isField(field)
      ? { field: field as Field, at: conditions.oneOf(at, ATTRIBUTIONS), step: conditions.numberIn(step) }
      : undefined,
  });
}

const stepIn = (given: Readonly<Record<string, unknown>>): StepDraft => ({
  ...conditions.selectionIn(given),
  optional: given['optional'] === true || undefined,
});

const exclusionIn = (given: Readonly<Record<string, unknown>>): ExclusionDraft => ({
  ...conditions.selectionIn(given),
  after_step: conditions.numberIn(given['after_step']),
  before_step: conditions.numberIn(given['before_step']),
  ends: given['ends'] === 'actor' ? 'actor' : undefined,
});

/** The same without what its steps and its order no longer have a place for. */
export function withoutMisplaced(draft: FunnelDraft): FunnelDraft {
  const { exclusions = [], breakdown, order, steps } = draft;
  const last = steps.length - 1;
  const mayBeOptional = (at: number): boolean => at > 0 && at < last && order !== 'any';
  return {
    ...draft,
    steps: steps.map((step, at) => ({ ...step, optional: (step.optional && mayBeOptional(at)) || undefined })),
    exclusions: conditions.someOf(exclusions.map((one) => placed(one, steps.length, order))),
    breakdown: breakdown && withStep(breakdown, steps.length),
  };
}

function placed(exclusion: ExclusionDraft, steps: number, order: FunnelDraft['order']): ExclusionDraft {
  const { after_step = 1, before_step = steps, ...rest } = exclusion;
  if (order === 'any') return rest;
  const before = Math.min(steps, Math.max(2, before_step));
  return { ...rest, after_step: Math.min(Math.max(1, after_step), before - 1), before_step: before };
}

const withStep = ({ step = 1, ...breakdown }: BreakdownDraft, steps: number): BreakdownDraft =>
  breakdown.at === 'step' ? { ...breakdown, step: Math.min(step, steps) } : breakdown;

export const stepName = ({ events = [] }: conditions.SelectionDraft): string =>
  events.filter((name) => name !== '').join(' or ') || 'Any event';
