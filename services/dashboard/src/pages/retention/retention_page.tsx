import type { ApiError } from '../../api/request.ts';
import { queryCalendar } from '../../format.ts';
import type { PageProps } from '../../page_list.ts';
import { readPeriod } from '../../period.ts';
import type { FilterDraft } from '../../questions/conditions.ts';
import { AddFilter, ChoiceField, FilterList, SelectionFields } from '../../questions/filter_fields.tsx';
import { queryFromAddress, setQueryInAddress } from '../../questions/query_address.ts';
import { problemsAt, QuestionPage } from '../../questions/question_result.tsx';
import { currentLocation } from '../../router.ts';
import * as retention from './retention_view.tsx';
import { type RetentionDraft, RetentionView } from './retention_view.tsx';

export default function RetentionPage({ params }: PageProps) {
  const draft = retention.readRetention(queryFromAddress());
  return (
    <QuestionPage
      siteId={params['site'] ?? ''}
      name="retention"
      period={readPeriod(currentLocation.value.query, Date.now())}
      question={{ ...draft, ...queryCalendar() }}
      title="Cohorts"
      fields={(failure) => <RetentionFields draft={draft} failure={failure} />}
      table={retention.retentionTable}
    >
      {({ query, answer }, onPart) => <RetentionView query={query} answer={answer} onPart={onPart} />}
    </QuestionPage>
  );
}

const SELECTIONS = [
  { name: 'start', what: 'Start' },
  { name: 'back', what: 'Return' },
] as const;

function RetentionFields({ draft, failure }: { draft: RetentionDraft; failure: ApiError | null }) {
  const filtered = {
    ...{ what: 'All events', filters: draft.filters },
    onFilters: (filters: FilterDraft[]) => setQueryInAddress({ ...draft, filters }),
  };
  return (
    <>
      <div class="steps">
        {SELECTIONS.map(({ name, what }) => (
          <div class="step" key={name}>
            <SelectionFields
              what={what}
              isFirst
              selection={draft[name]}
              problem={problemsAt(failure, name)}
              onSelection={(selection) => setQueryInAddress({ ...draft, [name]: selection })}
              before={<span class="selection-name">{what} event</span>}
            />
          </div>
        ))}
      </div>
      <AddFilter {...filtered} />
      <FilterList {...filtered} />
      <div class="options">
        <ChoiceField
          label="By"
          value={draft.interval}
          labels={retention.RETENTION_INTERVALS}
          problem={problemsAt(failure, 'interval')}
          onChoice={(interval) => setQueryInAddress({ ...draft, interval })}
        />
        <ChoiceField
          label="First-event mode"
          value={draft.mode ?? 'first'}
          labels={retention.MODES}
          onChoice={(mode) => setQueryInAddress({ ...draft, mode })}
        />
      </div>
    </>
  );
}
