import { type Static, Type } from 'typebox';
import { TIME_CLASSES_MS } from './funnel_plan.ts';
import type { FunnelQuery } from './shapes.ts';

/**
 * Figures of a step: `[reached, sum of the times as text, [median, p90], least, most]`, then of the times from the step before
 * `sum as text, [median, p90]`.
 */
type StepFigures = [number, string, [number, number], number, number, string, [number, number]];

/** One row of the answer: of everything, of a value of the breakdown, of all others together, or of an interval of the trend. */
export interface FunnelRow {
  kind: 'all' | 'value' | 'other' | 'interval';
  /** Of the row's attempts. */
  texts: number;
  text: string;
  bucket: number;
  steps: StepFigures[];
  times: number[];
}

const count = (description: string) => Type.Integer({ description, minimum: 0 });
const share = (description: string) => Type.Number({ description, minimum: 0, maximum: 1 });
const orNull = Type.Null();

const timeShape = Type.Object(
  {
    median: Type.Integer(),
    p90: Type.Integer(),
    average: Type.Integer(),
    least: Type.Integer(),
    most: Type.Integer(),
  },
  { description: 'From the first step to this one, in milliseconds' },
);

const betweenShape = Type.Object(
  { median: Type.Integer(), p90: Type.Integer(), average: Type.Integer() },
  { description: 'From the step before on the same way, in milliseconds' },
);

const stepShape = Type.Object({
  reached: count('Persons, or sessions, that got to this step; those who left out an optional one did not'),
  of_first: share('Part of those of the first step'),
  of_previous: share('Part of those of the step before; an optional step is passed over'),
  time_ms: Type.Union([timeShape, orNull], { description: 'Null where nobody got here' }),
  between_ms: Type.Union([betweenShape, orNull], { description: 'Null where nobody got here, and at the first step' }),
});
const stepsShape = Type.Array(stepShape);

/** The answer to a funnel. */
export const funnelAnswerShape = Type.Object({
  steps: stepsShape,
  time_to_convert: Type.Array(
    Type.Object({
      up_to_ms: Type.Union([Type.Integer(), orNull], { description: 'Null for the class of all longer ones' }),
      reached: count('Conversions that took longer than the class before and up to this'),
    }),
  ),
  breakdown: Type.Array(Type.Object({ value: Type.String(), steps: stepsShape }), {
    description: 'By the number of the first step, the greatest first; the empty text is for no value',
  }),
  more_values: Type.Boolean({ description: 'Whether there are more values than are given' }),
  other: Type.Union([Type.Object({ values: count('How many values'), steps: stepsShape }), orNull], {
    description: 'All values together that are not given; null where there are none',
  }),
  trend: Type.Array(
    Type.Object({ from: Type.Integer({ description: 'When the interval began' }), steps: stepsShape }),
    {
      description: 'By when the attempt began that reached the most steps; intervals in which none began are left out',
    },
  ),
});
export type FunnelAnswer = Static<typeof funnelAnswerShape>;
export type FunnelStep = Static<typeof stepShape>;

/** The answer from the rows of the funnel's statement. */
export function funnelAnswer(query: FunnelQuery, rows: readonly FunnelRow[]): FunnelAnswer {
  const all = rows.find(({ kind }) => kind === 'all');
  const values = rows.filter(({ kind }) => kind === 'value');
  const intervals = rows.filter(({ kind }) => kind === 'interval').toSorted((a, b) => a.bucket - b.bucket);
  const other = rows.find(({ kind }) => kind === 'other');
  return {
    steps: stepsOf(query, all?.steps ?? query.steps.map((): StepFigures => [0, '0', [0, 0], 0, 0, '0', [0, 0]])),
    time_to_convert: classesOf(all?.times ?? []),
    breakdown: values.map(({ text, steps }) => ({ value: text, steps: stepsOf(query, steps) })),
    more_values: other !== undefined,
    other: other === undefined ? null : { values: other.texts, steps: stepsOf(query, other.steps) },
    trend: intervals.map(({ bucket, steps }) => ({ from: bucket, steps: stepsOf(query, steps) })),
  };
}

function stepsOf({ steps }: FunnelQuery, figures: readonly StepFigures[]): FunnelStep[] {
  const [first = 0] = figures[0] ?? [];
  let previous = first;
  return figures.map(([reached, sum, [median, p90], least, most, betweenSum, [betweenMedian, betweenP90]], index) => {
    const step: FunnelStep = {
      reached,
      of_first: part(reached, first),
      of_previous: part(reached, previous),
      time_ms: reached === 0 ? null : { median, p90, average: average(sum, reached), least, most },
      between_ms:
        reached === 0 || index === 0
          ? null
          : { median: betweenMedian, p90: betweenP90, average: average(betweenSum, reached) },
    };
    if (steps[index]?.optional !== true) previous = reached;
    return step;
  });
}

const average = (sum: string, count: number): number => Number(BigInt(sum) / BigInt(count));

function part(some: number, all: number): number {
  return all === 0 ? 0 : some / all;
}

function classesOf(upTo: readonly number[]): FunnelAnswer['time_to_convert'] {
  return [...TIME_CLASSES_MS, null].map((ms, index) => ({
    up_to_ms: ms,
    reached: (upTo[index] ?? 0) - (upTo[index - 1] ?? 0),
  }));
}
