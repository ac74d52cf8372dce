import type { VNode } from 'preact';
import type { PageProps } from '../../page_spec.ts';
import { readPeriod, timeZone } from '../../period.ts';
import { askedInPlace, putInPlace } from '../../questions/question_place.ts';
import { QuestionResult } from '../../questions/question_result.tsx';
import { SiteNamesContext, useSiteNames } from '../../questions/site_names.ts';
import { useQuestion } from '../../questions/use_question.ts';
import { place } from '../../router.ts';
import { Panel } from '../../ui/panel.tsx';
import { SeriesList } from './series_list.tsx';
import { trendTable } from './trend_lines.ts';
import { readTrends, type TrendsDraft, trendsQuestion } from './trends_draft.ts';
import { TrendsOptions } from './trends_options.tsx';
import { TrendsView } from './trends_view.tsx';

/** Asks how often things happen over time, and shows it. */
export default function TrendsPage({ params }: PageProps): VNode {
  const siteId = params['site'] ?? '';
  const period = readPeriod(place.value.query, Date.now());
  const draft = readTrends(askedInPlace());
  const asked = useQuestion(siteId, 'trends', trendsQuestion(draft, period.interval, timeZone()), period);
  const names = useSiteNames(siteId);
  const change = (changed: TrendsDraft): void => putInPlace(changed);
  return (
    <SiteNamesContext value={names}>
      <div class="stack">
        <Panel title="Series">
          <SeriesList
            series={draft.series}
            failure={asked.failure}
            onSeries={(series) => change({ ...draft, series })}
          />
          <TrendsOptions draft={draft} interval={period.interval} failure={asked.failure} onDraft={change} />
        </Panel>
        <QuestionResult
          siteId={siteId}
          name="trends"
          asked={asked}
          table={({ query, answer }) => trendTable(query, answer)}
        >
          {({ query, answer }, onPart) => <TrendsView query={query} answer={answer} onPart={onPart} />}
        </QuestionResult>
      </div>
    </SiteNamesContext>
  );
}
