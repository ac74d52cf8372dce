import type { VNode } from 'preact';
import type { ApiError } from '../../api/request.ts';
import type { PageProps } from '../../page_spec.ts';
import { readPeriod, timeZone } from '../../period.ts';
import { oneOf, type SelectionDraft } from '../../questions/conditions.ts';
import { AddFilter, EventPicker, FilterList } from '../../questions/filter_fields.tsx';
import { queryFromAddress, setQueryInAddress } from '../../questions/query_address.ts';
import { problemsAt, QuestionResult, useQuestion } from '../../questions/question_result.tsx';
import { SiteNamesContext, useSiteNames } from '../../questions/site_names.ts';
import { currentLocation } from '../../router.ts';
import { Problem, SelectField } from '../../ui/form_fields.tsx';
import { Panel } from '../../ui/panel.tsx';
import { MODES, RETENTION_INTERVALS, type RetentionDraft, readRetention } from './retention_draft.ts';
import { RetentionView } from './retention_view.tsx';

/** Asks who comes back after they began, and shows it. */
export default function RetentionPage({ params }: PageProps): VNode {
  const siteId = params['site'] ?? '';
  const period = readPeriod(currentLocation.value.query, Date.now());
  const draft = readRetention(queryFromAddress());
  const asked = useQuestion(siteId, 'retention', { ...draft, time_zone: timeZone() }, period);
  const names = useSiteNames(siteId);
  return (
    <SiteNamesContext value={names}>
      <div class="stack">
        <Panel title="Cohorts">
          <RetentionFields draft={draft} failure={asked.failure} />
        </Panel>
        <QuestionResult siteId={siteId} name="retention" asked={asked}>
          {({ query, answer }, onPart) => <RetentionView query={query} answer={answer} onPart={onPart} />}
        </QuestionResult>
      </div>
    </SiteNamesContext>
  );
}

const MODE_LABELS = {
  first: 'First in this period',
  first_ever: 'First ever',
  recurring: 'Every one',
};

function RetentionFields({ draft, failure }: { draft: RetentionDraft; failure: ApiError | null }): VNode {
  return (
    <>
      <div class="steps">
        <SelectionRow
          what="Start"
          selection={draft.start}
          problem={problemsAt(failure, 'start')}
          onSelection={(start) => setQueryInAddress({ ...draft, start })}
        />
        <SelectionRow
          what="Return"
          selection={draft.back}
          problem={problemsAt(failure, 'back')}
          onSelection={(back) => setQueryInAddress({ ...draft, back })}
        />
      </div>
      <AddFilter
        what="All events"
        filters={draft.filters}
        onFilters={(filters) => setQueryInAddress({ ...draft, filters })}
      />
      <FilterList
        what="All events"
        filters={draft.filters}
        onFilters={(filters) => setQueryInAddress({ ...draft, filters })}
      />
      <div class="options">
        <SelectField
          label="By"
          value={draft.interval}
          options={RETENTION_INTERVALS.map((value) => ({ value, label: value }))}
          problem={problemsAt(failure, 'interval')}
          onValue={(value) => setQueryInAddress({ ...draft, interval: oneOf(value, RETENTION_INTERVALS) })}
        />
        <SelectField
          label="First-event mode"
          value={draft.mode ?? 'first'}
          options={MODES.map((value) => ({ value, label: MODE_LABELS[value] }))}
          onValue={(value) => setQueryInAddress({ ...draft, mode: oneOf(value, MODES) })}
        />
      </div>
    </>
  );
}

interface SelectionRowProps {
  what: string;
  selection: SelectionDraft;
  problem: string;
  onSelection(selection: SelectionDraft): void;
}

function SelectionRow({ what, selection, problem, onSelection }: SelectionRowProps): VNode {
  const { events, filters } = selection;
  return (
    <div class="step">
      <div class="step-body step-body-first">
        <div class="step-main">
          <span class="selection-name">{what} event</span>
          <EventPicker what={what} events={events} onEvents={(names) => onSelection({ ...selection, events: names })} />
          <AddFilter
            what={what}
            filters={filters}
            onFilters={(changed) => onSelection({ ...selection, filters: changed })}
          />
        </div>
        <FilterList
          what={what}
          filters={filters}
          events={events}
          onFilters={(changed) => onSelection({ ...selection, filters: changed })}
        />
        <Problem text={problem} />
      </div>
    </div>
  );
}
