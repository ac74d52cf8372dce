import type { AnswerTable, Cell } from '#pipelines/analytics/answer_table.ts';
import type { Field } from '#pipelines/analytics/filters.ts';
import type { FunnelAnswer, FunnelStep } from '#pipelines/analytics/funnels/query.ts';
import { BarActions, ChartActions } from '../../charts/chart_table.tsx';
import { number, percent, rangeText, span, timeZone } from '../../format.ts';
import * as conditions from '../../questions/conditions.ts';
import type { AnswerViewProps } from '../../questions/question_result.tsx';
import { FigureLink } from '../../ui/button.tsx';
import { type Column, DataTable, numberColumn } from '../../ui/data_table.tsx';
import { Bars, Empty } from '../../ui/panel.tsx';

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

const stepName = ({ events = [] }: conditions.SelectionDraft): string =>
  events.filter((name) => name !== '').join(' or ') || 'Any event';

type FunnelViewProps = AnswerViewProps<'funnel'>;

const TABLE_COLUMNS = [
  'Step',
  'Event',
  'Reached',
  'Of first step',
  'Of previous step',
  'Median seconds from first step',
];

/** A row for each step, and with a breakdown for each step of each value below all together. */
export function funnelTable({ query, answer }: FunnelViewProps): AnswerTable {
  const rowsOf = (steps: readonly FunnelStep[]): Cell[][] =>
    steps.map(({ reached, of_first, of_previous, time_ms }, at) => [
      ...[at + 1, stepName(query.steps[at] ?? {}), reached, of_first, of_previous],
      time_ms === null ? null : time_ms.median / 1_000,
    ]);
  if (query.breakdown === undefined) return { columns: TABLE_COLUMNS, rows: rowsOf(answer.steps) };
  const values = [{ name: 'All', steps: answer.steps }, ...valuesOf(answer)];
  return {
    columns: [conditions.fieldLabel(query.breakdown.field), ...TABLE_COLUMNS],
    rows: values.flatMap(({ name, steps }) => rowsOf(steps).map((cells) => [name, ...cells])),
  };
}

export function FunnelView({ query, answer, onPart }: FunnelViewProps) {
  const names = query.steps.map((step) => stepName(step));
  const steps = answer.steps.map((step, at) => ({
    ...{ ...step, at, name: names[at] ?? '' },
    isOptional: query.steps[at]?.optional === true,
  }));
  const list = (at: number, got: 'reached' | 'dropped'): void => {
    const title = got === 'reached' ? `Reached step ${at + 1}` : `Dropped before step ${at + 1}`;
    onPart?.({ title: `${title}: ${names[at]}`, of: { funnel: query, step: at + 1, got } });
  };
  const when = rangeText(query, timeZone());
  if ((steps[0]?.reached ?? 0) === 0) {
    return (
      <Empty title="No one entered this funnel">Choose another first step, fewer filters or a longer period.</Empty>
    );
  }
  return (
    <div class="stack">
      <FunnelChart steps={steps} onActors={onPart && list} />
      <p class="row">
        <ChartActions
          title="Funnel"
          when={when}
          draw={({ barsPicture, savePicture }, title, name) =>
            savePicture(barsPicture(steps.map((step) => barOf(steps, step))), title, name)
          }
        />
      </p>
      <details>
        <summary>Show as a table</summary>
        <DataTable
          caption="Steps as a table"
          columns={STEP_COLUMNS}
          rows={steps}
          keyOf={({ at }) => String(at)}
          csvName="funnel-steps"
        />
      </details>
      {query.breakdown !== undefined && <Values query={query} answer={answer} names={names} onPart={onPart} />}
      <Times classes={answer.time_to_convert} when={when} counted={COUNTED[query.count_by ?? 'person']} />
    </div>
  );
}

/** A step as it is drawn; one that is optional may be left out, and steps after it are compared with the one before it. */
type StepRow = FunnelStep & { name: string; at: number; isOptional: boolean };

const shareColumn = (id: string, title: string, of: (step: StepRow) => number | null): Column<StepRow> =>
  numberColumn(id, title, of, percent);
const timeColumn = (id: string, title: string, of: (step: FunnelStep) => number | undefined): Column<StepRow> => ({
  ...numberColumn(
    id,
    title,
    (step: StepRow) => of(step) ?? null,
    (ms) => (ms === null ? '–' : span(ms)),
  ),
  csv: {
    title: () => `${title} (seconds)`,
    value(step) {
      const ms = of(step);
      return ms === undefined ? null : ms / 1_000;
    },
  },
});

const STEP_COLUMNS: Column<StepRow>[] = [
  { id: 'step', title: 'Step', value: ({ at, name }) => `${at + 1} ${name}` },
  numberColumn('reached', 'Reached', ({ reached }) => reached),
  shareColumn('first', 'Of first step', ({ of_first }) => of_first),
  shareColumn('previous', 'Of previous step', ({ of_previous }) => of_previous),
  timeColumn('between', 'Median from previous step', (step) => step.between_ms?.median),
  timeColumn('median', 'Median from first step', ({ time_ms }) => time_ms?.median),
  timeColumn('p90', '90 % within', ({ time_ms }) => time_ms?.p90),
];

interface ValueRow {
  name: string;
  part: { value: string } | { other: true };
  steps: readonly FunnelStep[];
}

function valuesOf({ breakdown, other }: FunnelAnswer): ValueRow[] {
  const rows = breakdown.map(({ value, steps }) => ({ name: value === '' ? '(none)' : value, part: { value }, steps }));
  if (other === null) return rows;
  return [...rows, { name: `${number(other.values)} other values`, part: { other: true }, steps: other.steps }];
}

function Values({ query, answer, names, onPart }: FunnelViewProps & { names: readonly string[] }) {
  const rows = valuesOf(answer);
  const columns: Column<ValueRow>[] = [
    { id: 'value', title: 'Value', value: ({ name }) => name },
    ...names.map((name, at) =>
      numberColumn<ValueRow>(
        `step${at}`,
        `${at + 1} ${name}`,
        ({ steps }) => steps[at]?.reached ?? 0,
        (count, row) => {
          const title = `${row.name}: reached step ${at + 1}, ${name}`;
          const of = { funnel: query, step: at + 1, got: 'reached' as const, ...row.part };
          return (
            <>
              {at > 0 && <span class="muted small">{percent(row.steps[at]?.of_first ?? 0)} </span>}
              <FigureLink
                text={number(count)}
                label={`${number(count)}: show people, ${row.name}, step ${at + 1}`}
                act={onPart && count ? () => onPart({ title, of }) : undefined}
              />
            </>
          );
        },
      ),
    ),
  ];
  return (
    <div>
      <h3>By value</h3>
      <DataTable
        caption="Steps by value"
        columns={columns}
        rows={rows}
        keyOf={({ part }) => JSON.stringify(part)}
        csvName="funnel-values"
      />
    </div>
  );
}

interface TimesProps {
  classes: FunnelAnswer['time_to_convert'];
  when: string;
  counted: string;
}

function Times({ classes, when, counted }: TimesProps) {
  const most = Math.max(...classes.map(({ reached }) => reached));
  if (most <= 0) return null;
  const first = classes.findIndex(({ reached }) => reached > 0);
  const last = classes.findLastIndex(({ reached }) => reached > 0);
  const bars = classes.slice(first, last + 1).map(({ up_to_ms, reached }) => ({
    name: up_to_ms === null ? `More than ${span(classes.at(-2)?.up_to_ms ?? 0)}` : `Up to ${span(up_to_ms)}`,
    count: reached,
  }));
  return (
    <div>
      <h3>Time to convert</h3>
      <Bars
        class="time-classes"
        bars={bars.map(({ name, count }) => ({ key: name, name: <span>{name}</span>, share: count / most, count }))}
      />
      <BarActions title="Time to convert" when={when} what="Time" counted={counted} bars={bars} />
    </div>
  );
}

interface FunnelChartProps {
  steps: readonly StepRow[];
  /** Shows who reached a step, or who got no further than the one before it. */
  onActors: ((step: number, which: 'reached' | 'dropped') => void) | undefined;
}

const shareOf = (steps: readonly StepRow[], { reached }: StepRow): number => {
  const first = steps[0]?.reached ?? 0;
  return first === 0 ? 0 : reached / first;
};

/** A step as a picture has it. */
function barOf(steps: readonly StepRow[], step: StepRow) {
  const { at, name, reached, of_previous } = step;
  const share = shareOf(steps, step);
  const before = at === 0 ? '' : `, ${percent(of_previous)} of step ${comparedWith(steps, at) + 1}`;
  return { name: `${at + 1} ${name}`, share, text: `${number(reached)} (${percent(share)})${before}` };
}

function FunnelChart({ steps, onActors }: FunnelChartProps) {
  return (
    <ol class="funnel" aria-label="Steps">
      {steps.map((step, at) => {
        const previous = comparedWith(steps, at);
        const before = steps[previous]?.reached ?? null;
        const share = shareOf(steps, step);
        const left = `${number((before ?? 0) - step.reached)} ${step.isOptional ? 'skipped it' : 'dropped'}`;
        return (
          <li key={`${at} ${step.name}`} class="funnel-step">
            <span class="funnel-name cut">
              <span class="muted">{at + 1}</span> {step.name}
              {step.isOptional && <span class="muted small"> (optional)</span>}
            </span>
            <svg class="funnel-bar" viewBox="0 0 100 24" preserveAspectRatio="none" aria-hidden="true">
              <rect class="funnel-all" width="100" height="24" />
              <rect class="funnel-reached" width={(share * 100).toFixed(2)} height="24" />
            </svg>
            <span class="row funnel-figures">
              <FigureLink
                text={number(step.reached)}
                label={`${number(step.reached)}: show who reached step ${at + 1}`}
                act={onActors && (() => onActors(at, 'reached'))}
              />
              <span class="muted">{percent(share)}</span>
              {before !== null && (
                <span class="muted small">
                  {percent(before === 0 ? null : step.reached / before)} of step {previous + 1}
                  {step.between_ms && `, median ${span(step.between_ms.median)}`}
                  {', '}
                  <FigureLink
                    text={left}
                    label={`${left}: show who did not get to step ${at + 1}`}
                    act={onActors && (() => onActors(at, 'dropped'))}
                  />
                </span>
              )}
            </span>
          </li>
        );
      })}
    </ol>
  );
}

/** The last step before one that may not be left out; -1 for the first step. */
const comparedWith = (steps: readonly StepRow[], at: number): number =>
  steps.findLastIndex((step, index) => index < at && !step.isOptional);
