import type { VNode } from 'preact';
import { sentenceOf } from '../../api/api_answer.ts';
import { ask } from '../../api/questions.ts';
import { useAnswer } from '../../api/use_answer.ts';
import { number } from '../../format.ts';
import type { PageProps } from '../../page_spec.ts';
import { readPeriod } from '../../period.ts';
import { place } from '../../router.ts';
import { sites } from '../../site_list.ts';
import { ConcernsPanel } from './concerns_panel.tsx';
import { Counts } from './counts.tsx';
import { nowQuestion } from './overview_questions.ts';
import { Rankings } from './rankings.tsx';

/** A period ends now: what is shown is asked again so often. */
const EVERY_MS = 60_000;
const NOW_EVERY_MS = 10_000;

/** The first page of a site: what goes on there, and what of it needs somebody. */
export default function OverviewPage({ params }: PageProps): VNode {
  const siteId = params['site'] ?? '';
  const period = readPeriod(place.value.query, Date.now());
  const site = sites.value?.find(({ site_id }) => site_id === siteId);
  return (
    <div class="stack">
      <VisitorsNow siteId={siteId} />
      <ConcernsPanel siteId={siteId} site={site} everyMs={EVERY_MS} />
      <Counts siteId={siteId} site={site} period={period} everyMs={EVERY_MS} />
      <Rankings siteId={siteId} site={site} period={period} everyMs={EVERY_MS} />
    </div>
  );
}

function VisitorsNow({ siteId }: { siteId: string }): VNode {
  const asked = useAnswer(siteId, (signal) => ask(siteId, 'trends', nowQuestion(Date.now()), signal), NOW_EVERY_MS);
  // What was counted minutes ago is not who is there now.
  const count = asked.failure === null ? (asked.value?.series[0]?.persons ?? null) : null;
  return (
    <p class="visitors-now">
      <span class={`pulse ${count !== null && count > 0 ? 'pulse-on' : ''}`} aria-hidden="true" />
      <span class="strong">{number(count)}</span> {count === 1 ? 'visitor' : 'visitors'} in the last 5 minutes
      {asked.failure !== null && <span class="muted small"> Not known now: {sentenceOf(asked.failure)}</span>}
    </p>
  );
}
