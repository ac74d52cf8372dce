import type { VNode } from 'preact';
import type { RetentionQuery } from '#pipelines/analytics/query_schemas.ts';
import type { RetentionAnswer } from '#pipelines/analytics/retention.ts';
import { RetentionGrid } from '../../charts/retention_grid.tsx';
import { ZoneNote } from '../../charts/zone_note.tsx';
import { intervalStart } from '../../format.ts';
import { API_ZONE } from '../../period.ts';
import type { ListedPart } from '../../questions/actor_dialog.tsx';
import { Empty } from '../../ui/states.tsx';
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
    return <Empty title="Nobody began in this period">Choose another first event, or a longer period.</Empty>;
  }
  const nameOf = (from: number): string => intervalStart(from, query.interval, zone);
  const list = (at: number, period: number | null): void => {
    const from = cohorts[at]?.from;
    if (from === undefined) return;
    const since = period === null ? '' : `, back after ${period} ${query.interval}${period === 1 ? '' : 's'}`;
    onPart?.({
      title: `Began ${nameOf(from)}${since}`,
      of: { retention: query, cohort: from, ...(period !== null && { period }) },
    });
  };
  return (
    <div class="stack-small">
      <RetentionGrid
        title={`Who came back, by ${query.interval}`}
        interval={query.interval}
        cohorts={cohorts.map(({ from, persons, back }) => ({ name: nameOf(from), size: persons, back }))}
        all={overall(cohorts)}
        {...(onPart !== undefined && { onActors: list })}
      />
      <ZoneNote zone={zone} />
    </div>
  );
}
