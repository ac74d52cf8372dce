import type { AnswerTable } from '#pipelines/analytics/answer_table.ts';
import type { RetentionAnswer } from '#pipelines/analytics/retention.ts';
import type { GridCell } from '../../charts/chart_image.ts';
import { ChartActions, ZoneNote } from '../../charts/chart_table.tsx';
import {
  capital,
  intervalStart,
  number,
  percent,
  rangeText,
  sortableStart,
  timeZone,
  zonedTitle,
} from '../../format.ts';
import { laterStart } from '../../period.ts';
import * as conditions from '../../questions/conditions.ts';
import type { AnswerViewProps } from '../../questions/question_result.tsx';
import { FigureLink } from '../../ui/button.tsx';
import { Empty } from '../../ui/panel.tsx';

export const RETENTION_INTERVALS = { day: 'day', week: 'week', month: 'month' };
export const MODES = { first: 'First in this period', first_ever: 'First ever', recurring: 'Every one' };
type RetentionInterval = keyof typeof RETENTION_INTERVALS;

/** Retention as it is being written: what the API takes, without the time. */
export interface RetentionDraft {
  start: conditions.SelectionDraft;
  back: conditions.SelectionDraft;
  interval: RetentionInterval;
  mode?: keyof typeof MODES | undefined;
  filters?: conditions.FilterDraft[] | undefined;
}

const USUAL: RetentionDraft = { start: { events: ['page_view'] }, back: { events: ['page_view'] }, interval: 'day' };

export function readRetention(given: unknown): RetentionDraft {
  if (given === undefined) return USUAL;
  const { start, back, interval, mode, filters } = conditions.objectIn(given);
  return {
    start: conditions.selectionIn(start),
    back: conditions.selectionIn(back),
    interval: conditions.oneOf(interval, RETENTION_INTERVALS),
    mode: conditions.choiceIn(mode, MODES),
    filters: conditions.someOf(conditions.filtersIn(filters)),
  };
}

interface ShownCohort {
  from: number;
  persons: number;
  back: number[];
}

/** Who came back, cohort by cohort, for each interval that has begun before the question's end. */
export const shownCohorts = (
  { cohorts }: RetentionAnswer,
  { interval, to, time_zone: timeZone }: { interval: RetentionInterval; to: number; time_zone: string },
): ShownCohort[] =>
  cohorts
    .toSorted((a, b) => a.from - b.from)
    .map(({ from, persons, returned }) => {
      const back: number[] = [];
      while (laterStart(from, interval, back.length, timeZone) < to) back.push(returned[back.length] ?? 0);
      return { from, persons, back };
    });

/** What part of all cohorts that have an interval came back in it, by intervals since. */
export function overall(cohorts: readonly ShownCohort[]): { persons: number; back: number }[] {
  const width = Math.max(0, ...cohorts.map(({ back }) => back.length));
  return Array.from({ length: width }, (_, at) => {
    const having = cohorts.filter(({ back }) => back.length > at);
    return {
      persons: having.reduce((sum, { persons }) => sum + persons, 0),
      back: having.reduce((sum, { back }) => sum + (back[at] ?? 0), 0),
    };
  });
}

/** A cohort a row, with how many of it came back in each interval since; what has not begun is empty. */
export function retentionTable({ query, answer }: AnswerViewProps<'retention'>): AnswerTable {
  const { interval, time_zone: zone = timeZone() } = query;
  const cohorts = shownCohorts(answer, { ...query, time_zone: zone });
  const since = overall(cohorts).map((_, at) => at);
  return {
    columns: [zonedTitle('Cohort', zone), 'People', ...since.map((at) => `${capital(interval)} ${at}`)],
    rows: cohorts.map(({ from, persons, back }) => [
      ...[sortableStart(from, interval, zone), persons],
      ...since.map((at) => back[at] ?? null),
    ]),
  };
}

/** How strong the colour of a cell is where everybody came back. */
const HEAT_MAX = 0.45;

/** The table as a picture has it. */
function pictureRows(cohorts: readonly ShownCohort[], interval: RetentionInterval, zone: string): GridCell[][] {
  const all = overall(cohorts);
  const cell = (back: number | undefined, size: number): GridCell =>
    back === undefined || size === 0 ? { text: '' } : { text: percent(back / size), heat: (back / size) * HEAT_MAX };
  return [
    [{ text: 'Cohort' }, { text: 'People' }, ...all.map((_, at) => ({ text: `${capital(interval)} ${at}` }))],
    [
      ...[{ text: 'All' }, { text: number(all[0]?.persons ?? 0) }],
      ...all.map(({ persons, back }) => cell(back, persons)),
    ],
    ...cohorts.map(({ from, persons, back }) => [
      ...[{ text: intervalStart(from, interval, zone) }, { text: number(persons) }],
      ...all.map((_, at) => cell(back[at], persons)),
    ]),
  ];
}

/** Cohorts below each other, and all of them together; the more came back, the stronger the colour. */
export function RetentionView({ query, answer, onPart }: AnswerViewProps<'retention'>) {
  const { interval, time_zone: zone = timeZone() } = query;
  const cohorts = shownCohorts(answer, { ...query, time_zone: zone });
  if (cohorts.length === 0) {
    return <Empty title="No cohorts in this period">Choose another start event, or a longer period.</Empty>;
  }
  const title = `Retention by ${interval}`;
  const all = overall(cohorts);
  return (
    <div class="stack-small">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard. */}
      <section class="table-scroll" aria-label={title} tabIndex={0}>
        <table class="retention">
          <caption class="hidden">{title}</caption>
          <thead>
            <tr>
              <th scope="col">Cohort</th>
              <th scope="col" class="align-end">
                People
              </th>
              {all.map((_, at) => (
                <th key={at} scope="col" class="align-end">
                  {capital(interval)} {at}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            <tr>
              <th scope="row">All</th>
              <td class="align-end">{number(all[0]?.persons ?? 0)}</td>
              {all.map(({ persons, back }, at) => (
                <Cell key={at} size={persons} back={back} what="" act={undefined} />
              ))}
            </tr>
            {cohorts.map(({ from, persons, back }) => {
              const name = intervalStart(from, interval, zone);
              const of = { retention: query, cohort: from };
              return (
                <tr key={name}>
                  <th scope="row">{name}</th>
                  <td class="align-end">
                    <FigureLink
                      text={number(persons)}
                      label={`${number(persons)}: show people of cohort ${name}`}
                      act={onPart && (() => onPart({ title: `Cohort ${name}`, of }))}
                    />
                  </td>
                  {all.map((_, period) => {
                    const since = `, returned after ${period} ${interval}${period === 1 ? '' : 's'}`;
                    return (
                      <Cell
                        key={period}
                        size={persons}
                        back={back[period]}
                        what={`people of cohort ${name} who returned after ${period}`}
                        act={onPart && (() => onPart({ title: `Cohort ${name}${since}`, of: { ...of, period } }))}
                      />
                    );
                  })}
                </tr>
              );
            })}
          </tbody>
        </table>
      </section>
      <div class="row">
        <ZoneNote zone={zone} />
        <ChartActions
          title={title}
          when={rangeText(query, zone)}
          draw={({ gridPicture, savePicture }, head, name) =>
            savePicture(gridPicture(pictureRows(cohorts, interval, zone)), head, name)
          }
        />
      </div>
    </div>
  );
}

interface CellProps {
  size: number;
  back: number | undefined;
  what: string;
  act: (() => void) | undefined;
}

function Cell({ size, back, what, act }: CellProps) {
  if (back === undefined || size === 0) return <td />;
  const share = back / size;
  return (
    <td
      class={`align-end heat ${back === 0 ? 'muted' : ''}`}
      style={{ '--heat': `${Math.round(share * HEAT_MAX * 100)}%` }}
      title={`${number(back)} of ${number(size)}`}
    >
      <FigureLink
        text={percent(share)}
        label={`${percent(share)}, ${number(back)} of ${number(size)}: show ${what}`}
        act={back === 0 ? undefined : act}
      />
    </td>
  );
}
