import type { VNode } from 'preact';
import type { FunnelAnswer, FunnelQuery, FunnelStep } from '#pipelines/analytics/funnels/query.ts';
import { number, percent, span } from '../../format.ts';
import type { ListedPart } from '../../questions/actor_dialog.tsx';
import { type Column, DataTable, numberColumn } from '../../ui/data_table.tsx';
import { Empty } from '../../ui/panel.tsx';
import { stepName } from './funnel_draft.ts';

interface FunnelViewProps {
  query: FunnelQuery;
  answer: FunnelAnswer;
  /** Lists who is in a part; left out where nobody may be listed. */
  onPart?: ((part: ListedPart) => void) | undefined;
}

/** The answer to a funnel: bars, the same as a table, its values side by side, and how long it took. */
export function FunnelView({ query, answer, onPart }: FunnelViewProps): VNode {
  const names = query.steps.map((step) => stepName(step));
  const list = (at: number, got: 'reached' | 'dropped'): void => {
    onPart?.({
      title: got === 'reached' ? `Reached step ${at + 1}: ${names[at]}` : `Dropped before step ${at + 1}: ${names[at]}`,
      of: { funnel: query, step: at + 1, got },
    });
  };
  if ((answer.steps[0]?.reached ?? 0) === 0) {
    return (
      <Empty title="No one entered this funnel">Choose another first step, fewer filters or a longer period.</Empty>
    );
  }
  const optional = query.steps.map((step) => step.optional === true);
  return (
    <div class="stack">
      <FunnelChart
        title="Steps"
        steps={answer.steps.map((step, at) => ({
          name: names[at] ?? '',
          reached: step.reached,
          medianMs: step.between_ms?.median ?? null,
          isOptional: optional[at] ?? false,
        }))}
        {...(onPart !== undefined && { onActors: list })}
      />
      <details>
        <summary>Show as a table</summary>
        <DataTable
          caption="Steps as a table"
          columns={STEP_COLUMNS}
          rows={answer.steps.map((step, at) => ({ ...step, name: names[at] ?? '', at }))}
          keyOf={({ at }) => String(at)}
          csvName="funnel-steps"
        />
      </details>
      {query.breakdown !== undefined && <Values query={query} answer={answer} names={names} onPart={onPart} />}
      <Times classes={answer.time_to_convert} />
    </div>
  );
}

type StepRow = FunnelStep & { name: string; at: number };

const spanOrDash = (ms: number | undefined): string => (ms === undefined ? '–' : span(ms));

const timeColumn = (id: string, title: string, of: (step: FunnelStep) => number | undefined): Column<StepRow> => ({
  ...{ id, title, align: 'end' },
  value: (step) => of(step) ?? null,
  cell: (step) => spanOrDash(of(step)),
});

const STEP_COLUMNS: Column<StepRow>[] = [
  { id: 'step', title: 'Step', value: ({ at, name }) => `${at + 1} ${name}` },
  numberColumn('reached', 'Reached', ({ reached }) => reached),
  {
    id: 'first',
    title: 'Of first step',
    align: 'end',
    value: (row) => row.of_first,
    cell: (row) => percent(row.of_first),
  },
  {
    ...{ id: 'previous', title: 'Of previous step', align: 'end' },
    value: (row) => row.of_previous,
    cell: (row) => percent(row.of_previous),
  },
  timeColumn('between', 'Median from previous step', (step) => step.between_ms?.median),
  timeColumn('median', 'Median from first step', ({ time_ms }) => time_ms?.median),
  timeColumn('p90', '90 % within', ({ time_ms }) => time_ms?.p90),
];

interface ValueRow {
  name: string;
  part: { value: string } | { other: true };
  steps: readonly FunnelStep[];
}

function Values({ query, answer, names, onPart }: FunnelViewProps & { names: readonly string[] }): VNode {
  const { breakdown, other } = answer;
  const rows: ValueRow[] = [
    ...breakdown.map(({ value, steps }) => ({ name: value === '' ? '(none)' : value, part: { value }, steps })),
    ...(other === null
      ? []
      : [{ name: `${number(other.values)} other values`, part: { other: true } as const, steps: other.steps }]),
  ];
  const columns: Column<ValueRow>[] = [
    { id: 'value', title: 'Value', value: ({ name }) => name },
    ...names.map(
      (name, at): Column<ValueRow> => ({
        ...{ id: `step${at}`, title: `${at + 1} ${name}`, align: 'end' },
        value: ({ steps }) => steps[at]?.reached ?? 0,
        cell: (row) => (
          <Reached
            count={row.steps[at]?.reached ?? 0}
            share={at === 0 ? null : (row.steps[at]?.of_first ?? 0)}
            what={`${row.name}, step ${at + 1}`}
            act={
              onPart &&
              (() =>
                onPart({
                  title: `${row.name}: reached step ${at + 1}, ${name}`,
                  of: { funnel: query, step: at + 1, got: 'reached', ...row.part },
                }))
            }
          />
        ),
      }),
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

interface ReachedProps {
  count: number;
  share: number | null;
  what: string;
  act: (() => void) | undefined;
}

function Reached({ count, share, what, act }: ReachedProps): VNode {
  return (
    <>
      {share !== null && <span class="muted small">{percent(share)} </span>}
      {act === undefined || count === 0 ? (
        number(count)
      ) : (
        <button type="button" class="figure-link" aria-label={`${number(count)}: show people, ${what}`} onClick={act}>
          {number(count)}
        </button>
      )}
    </>
  );
}

/** How long those who got to the end took, as bars. */
function Times({ classes }: { classes: FunnelAnswer['time_to_convert'] }): VNode | null {
  const most = Math.max(...classes.map(({ reached }) => reached));
  if (most <= 0) return null;
  const first = classes.findIndex(({ reached }) => reached > 0);
  const last = classes.findLastIndex(({ reached }) => reached > 0);
  return (
    <div>
      <h3>Time to convert</h3>
      <ol class="bars time-classes">
        {classes.slice(first, last + 1).map(({ up_to_ms, reached }) => (
          <li key={up_to_ms ?? 'longer'} style={{ '--share': `${((reached / most) * 100).toFixed(1)}%` }}>
            <span>
              {up_to_ms === null ? `More than ${span(classes.at(-2)?.up_to_ms ?? 0)}` : `Up to ${span(up_to_ms)}`}
            </span>
            <span>{number(reached)}</span>
          </li>
        ))}
      </ol>
    </div>
  );
}

/** A step of a funnel as it is drawn. */
interface FunnelBar {
  name: string;
  reached: number;
  /** From the step before; null at the first one or where nobody got here. */
  medianMs: number | null;
  /** Whether it may be left out; steps after it are compared with the one before it. */
  isOptional?: boolean;
}

interface FunnelChartProps {
  title: string;
  steps: readonly FunnelBar[];
  /** Shows who reached a step, or who got no further than the one before it. */
  onActors?: (step: number, which: 'reached' | 'dropped') => void;
}

/** The steps of a funnel as bars, with what each has of the first and of the one before it. It reads as a list. */
function FunnelChart({ title, steps, onActors }: FunnelChartProps): VNode {
  const first = steps[0]?.reached ?? 0;
  return (
    <ol class="funnel" aria-label={title}>
      {steps.map((step, at) => {
        const previous = comparedWith(steps, at);
        const before = steps[previous]?.reached ?? null;
        const share = first === 0 ? 0 : step.reached / first;
        return (
          <li key={`${at} ${step.name}`} class="funnel-step">
            <span class="funnel-name cut">
              <span class="muted">{at + 1}</span> {step.name}
              {step.isOptional === true && <span class="muted small"> (optional)</span>}
            </span>
            <svg class="funnel-bar" viewBox="0 0 100 24" preserveAspectRatio="none" aria-hidden="true">
              <rect class="funnel-all" width="100" height="24" />
              <rect class="funnel-reached" width={(share * 100).toFixed(2)} height="24" />
            </svg>
            <span class="funnel-figures">
              <Figure
                text={number(step.reached)}
                act={onActors && (() => onActors(at, 'reached'))}
                what={`who reached step ${at + 1}`}
              />
              <span class="muted">{percent(share)}</span>
              {before !== null && (
                <span class="muted small">
                  {percent(before === 0 ? null : step.reached / before)} of step {previous + 1}
                  {step.medianMs !== null && `, median ${span(step.medianMs)}`}
                  {', '}
                  <Figure
                    text={`${number(before - step.reached)} ${step.isOptional === true ? 'skipped it' : 'dropped'}`}
                    act={onActors && (() => onActors(at, 'dropped'))}
                    what={`who did not get to step ${at + 1}`}
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
function comparedWith(steps: readonly FunnelBar[], at: number): number {
  return steps.findLastIndex((step, index) => index < at && step.isOptional !== true);
}

function Figure({ text, act, what }: { text: string; act: (() => void) | undefined; what: string }): VNode {
  if (act === undefined) return <span>{text}</span>;
  return (
    <button type="button" class="figure-link" aria-label={`${text}: show ${what}`} onClick={act}>
      {text}
    </button>
  );
}
