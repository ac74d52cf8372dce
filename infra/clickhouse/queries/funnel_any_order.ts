import type { FunnelPlan } from '#pipelines/query/funnel_plan.ts';
import { excludedAfter, PLACE_BITS } from './funnel_actors.ts';
import { dropping, type Levels, moved } from './funnel_arrays.ts';

/** `last<n>` is the latest event so far that fills step n; one event may fill several steps, but not two that are the same. */
export function anyOrder(plan: FunnelPlan, span: string): Levels {
  const steps = plan.steps.map((_, index) => index + 1);
  const lasts = steps.map((step) => `last${step}`).join(', ');
  const inWindow = (now: string, then: string): string => `(${then} > 0 AND ${now} - ${then} < ${span})`;
  const filled = steps.map((step) => inWindow('s', `last${step}`)).join(' + ');
  return {
    overEvents: [
      [
        ...steps.map((step) => `${lastOf(plan, step)} AS last${step}`),
        `arrayMap((s, ${lasts}) -> ${filled}, stamp, ${lasts}) AS filled`,
      ],
    ],
    ofPlaces: steps.flatMap((step) => [
      `arrayFirstIndex(x -> x >= ${step}, filled) AS place${step}`,
      `stamp[place${step}] AS end${step}`,
      `[${steps.map((other) => `last${other}[place${step}]`).join(', ')}] AS fills${step}`,
    ]),
    ofWays: steps.flatMap((step) => wayColumns(plan, step, inWindow(`end${step}`, 'x'))),
    dropped: dropping(plan, span, () => ({
      begun: moved(`arrayMap((${lasts}) -> greatest(${lasts}), ${lasts})`),
      reached: `arrayFill(x -> x > 0, arrayMap((f, s) -> (f = ${steps.length}) * s, filled, stamp))`,
    })),
  };
}

/** `way<n>`: the stamps of the latest events that fill as many steps, the latest first. */
function wayColumns({ breakdown }: FunnelPlan, step: number, isInWindow: string): string[] {
  const of = breakdown?.at === 'step' ? breakdown.step : null;
  const at = of !== null && of <= step ? `bitAnd(way${step}[${step - of + 1}], ${2 ** PLACE_BITS - 1})` : '0';
  return [
    `arrayReverseSort(arrayFilter(x -> ${isInWindow}, fills${step})) AS way${step}`,
    `way${step}[${step}] AS start${step}`,
    `way${step}[${Math.min(step, 2)}] AS previous${step}`,
    ...(of === null ? [] : [`toUInt32(${at}) AS at${step}`]),
  ];
}

function lastOf(plan: FunnelPlan, step: number): string {
  const same = plan.steps[step - 1]?.sameAs ?? null;
  const excluded = excludedAfter(plan, step);
  const isStep = `bitTest(m, ${step - 1})`;
  if (same === null) {
    const found = `arrayMap((m, s) -> if(${isStep}, s, 0), mask, stamp)`;
    if (excluded === 0) return `arrayFill(x -> x > 0, ${found})`;
    return `arrayFill((x, m) -> x > 0 OR bitAnd(m, ${excluded}) != 0, ${found}, mask)`;
  }
  // The event before the one that fills the same step: none where that was excluded itself.
  const next = `arrayMap((m, b) -> if(${isStep} AND bitAnd(m, ${excluded}) = 0, b, 0), mask, ${moved(`last${same}`)})`;
  return `arrayFill((x, m) -> ${isStep} OR bitAnd(m, ${excluded}) != 0, ${next}, mask)`;
}
