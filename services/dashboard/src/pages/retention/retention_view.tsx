import type { VNode } from 'preact';
import type { RetentionAnswer, RetentionQuery } from '#pipelines/analytics/retention.ts';
import { ZoneNote } from '../../charts/chart_table.tsx';
import { intervalStart, number, percent } from '../../format.ts';
import { API_ZONE } from '../../period.ts';
import type { ListedPart } from '../../questions/actor_dialog.tsx';
import { Empty } from '../../ui/panel.tsx';
import { overall, shownCohorts } from './retention_draft.ts';

interface RetentionViewProps {
  query: RetentionQuery;
  answer: RetentionAnswer;
  onPart?: ((part: ListedPart) => void) | undefined;
}

/** The answer to retention: cohorts below each other, and all of them together. */
export function RetentionView({ query, answer, onPart }: RetentionViewProps): VNode {
  const zone = query.time_zone ?? API_ZONE;
  const cohorts = shownCohorts(answer, { ...query, time_zone: zone });
  if (cohorts.length === 0) {
    return <Empty title="No cohorts in this period">Choose another start event, or a longer period.</Empty>;
  }
  const nameOf = (from: number): string => intervalStart(from, query.interval, zone);
  const list = (at: number, period: number | null): void => {
    const from = cohorts[at]?.from;
    if (from === undefined) return;
    const since = period === null ? '' : `, returned after ${period} ${query.interval}${period === 1 ? '' : 's'}`;
    onPart?.({
      title: `Cohort ${nameOf(from)}${since}`,
      of: { retention: query, cohort: from, ...(period !== null && { period }) },
    });
  };
  return (
    <div class="stack-small">
      <RetentionGrid
        title={`Retention by ${query.interval}`}
        interval={query.interval}
        cohorts={cohorts.map(({ from, persons, back }) => ({ name: nameOf(from), size: persons, back }))}
        all={overall(cohorts)}
        {...(onPart !== undefined && { onActors: list })}
      />
      <ZoneNote zone={zone} />
    </div>
  );
}

/** Those who began in one interval, and how many of them came back in each one after it. */
interface Cohort {
  name: string;
  size: number;
  /** By intervals since, as far as these have begun. */
  back: readonly number[];
}

interface RetentionGridProps {
  title: string;
  /** What is counted since the beginning: days, weeks, months. */
  interval: string;
  cohorts: readonly Cohort[];
  /** All cohorts together, by intervals since: how many they are, and how many of them came back. */
  all: readonly { persons: number; back: number }[];
  /** Shows who is in a cell; null: who is in the cohort. */
  onActors?: (cohort: number, interval: number | null) => void;
}

/** Cohorts below each other; the more came back, the stronger the colour. */
function RetentionGrid({ title, interval, cohorts, all, onActors }: RetentionGridProps): VNode {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard.
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
          {cohorts.map(({ name, size, back }, row) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td class="align-end">
                <Figure
                  text={number(size)}
                  label={`${number(size)}: show people of cohort ${name}`}
                  act={onActors && (() => onActors(row, null))}
                />
              </td>
              {all.map((_, at) => (
                <Cell
                  key={at}
                  size={size}
                  back={back[at]}
                  what={`people of cohort ${name} who returned after ${at}`}
                  act={onActors && (() => onActors(row, at))}
                />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

interface CellProps {
  size: number;
  back: number | undefined;
  what: string;
  act: (() => void) | undefined;
}

function Cell({ size, back, what, act }: CellProps): VNode {
  if (back === undefined || size === 0) return <td />;
  const share = back / size;
  return (
    <td
      class={`align-end heat ${back === 0 ? 'muted' : ''}`}
      style={{ '--heat': `${Math.round(share * 45)}%` }}
      title={`${number(back)} of ${number(size)}`}
    >
      <Figure
        text={percent(share)}
        label={`${percent(share)}, ${number(back)} of ${number(size)}: show ${what}`}
        act={back === 0 ? undefined : act}
      />
    </td>
  );
}

function Figure({ text, label, act }: { text: string; label: string; act: (() => void) | undefined }): VNode {
  if (act === undefined) return <>{text}</>;
  return (
    <button type="button" class="figure-link" aria-label={label} onClick={act}>
      {text}
    </button>
  );
}
