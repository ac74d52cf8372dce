import { ZoneNote } from '../../charts/chart_table.tsx';
import { capital, intervalStart, number, percent } from '../../format.ts';
import { API_ZONE } from '../../period.ts';
import type { AnswerViewProps } from '../../questions/actor_dialog.tsx';
import { FigureLink } from '../../ui/button.tsx';
import { Empty } from '../../ui/panel.tsx';
import { overall, shownCohorts } from './retention_draft.ts';

/** Cohorts below each other, and all of them together; the more came back, the stronger the colour. */
export function RetentionView({ query, answer, onPart }: AnswerViewProps<'retention'>) {
  const { interval, time_zone: zone = API_ZONE } = query;
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
      <ZoneNote zone={zone} />
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
      style={{ '--heat': `${Math.round(share * 45)}%` }}
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
