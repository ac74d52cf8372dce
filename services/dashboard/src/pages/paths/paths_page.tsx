import type { PageProps } from '../../page_list.ts';
import { readPeriod } from '../../period.ts';
import type { FilterDraft } from '../../questions/conditions.ts';
import {
  AddFilter,
  ChoiceField,
  FieldPicker,
  FilterList,
  NumberChoice,
  SpanField,
} from '../../questions/filter_fields.tsx';
import { queryFromAddress, setQueryInAddress } from '../../questions/query_address.ts';
import { problemsAt, QuestionPage } from '../../questions/question_result.tsx';
import { eventWarning, useFieldValues, useNames } from '../../questions/site_names.ts';
import { currentLocation } from '../../router.ts';
import { Combobox } from '../../ui/combobox.tsx';
import type { DraftProps } from '../../ui/form_fields.tsx';
import { ANCHORS, type PathsDraft, pathsQuestion, readPaths } from './paths_draft.ts';
import { PathsView, pathsTable } from './paths_view.tsx';

export default function PathsPage({ params }: PageProps) {
  const draft = readPaths(queryFromAddress());
  const change = (changed: PathsDraft): void => setQueryInAddress(pathsQuestion(changed));
  return (
    <QuestionPage
      siteId={params['site'] ?? ''}
      name="paths"
      period={readPeriod(currentLocation.value.query, Date.now())}
      question={pathsQuestion(draft)}
      title="Paths"
      fields={(failure) => <PathFields draft={draft} failure={failure} onDraft={change} />}
      table={pathsTable}
    >
      {({ query, answer }, onPart) => (
        <PathsView
          query={query}
          answer={answer}
          onFrom={(text) => change({ ...draft, anchor: { kind: 'starting_at', text } })}
          onPart={onPart}
        />
      )}
    </QuestionPage>
  );
}

const HOUR_MS = 3_600_000;
const PATH_TYPES = { session: 'Session', person: 'Person, within …' };

function PathFields({ draft, failure, onDraft }: DraftProps<PathsDraft>) {
  const { anchor, by, windowMs } = draft;
  const names = useNames();
  const values = useFieldValues(by, undefined);
  const filtered = {
    ...{ what: 'All events', filters: draft.filters },
    onFilters: (filters: FilterDraft[]) => onDraft({ ...draft, filters }),
  };
  return (
    <>
      <div class="options options-first">
        <ChoiceField
          label="Anchor"
          value={anchor?.kind ?? 'starting_at'}
          labels={ANCHORS}
          onChoice={(kind) => onDraft({ ...draft, anchor: { kind, text: anchor?.text ?? '' } })}
        />
        <Combobox
          label={by === null ? 'Event' : 'Value'}
          takesOthers
          takesFirst
          warning={by === null ? eventWarning(names, anchor?.text ?? '') : undefined}
          value={anchor?.text ?? ''}
          options={[{ value: '', label: 'Start of the path' }, ...(by === null ? names.events : values)]}
          onValue={(text) =>
            onDraft({ ...draft, anchor: text === '' ? null : { kind: anchor?.kind ?? 'starting_at', text } })
          }
        />
        <FieldPicker
          label="Node type"
          none="Event names"
          field={by}
          onField={(field) => onDraft({ ...draft, by: field, anchor: null })}
        />
        <ChoiceField
          label="Path type"
          value={windowMs === null ? 'session' : 'person'}
          labels={PATH_TYPES}
          onChoice={(kind) => onDraft({ ...draft, windowMs: kind === 'session' ? null : HOUR_MS })}
        />
        {windowMs !== null && (
          <SpanField
            label="Within"
            ms={windowMs}
            problem={problemsAt(failure, 'window_ms')}
            onMs={(ms) => onDraft({ ...draft, windowMs: ms })}
          />
        )}
        <NumberChoice
          label="Steps"
          value={draft.steps}
          to={Math.max(10, draft.steps)}
          onNumber={(steps) => onDraft({ ...draft, steps })}
        />
        <NumberChoice
          label="Values per step"
          value={draft.top}
          to={Math.max(20, draft.top)}
          onNumber={(top) => onDraft({ ...draft, top })}
        />
      </div>
      <div class="stack-small">
        <AddFilter {...filtered} />
        <FilterList {...filtered} />
      </div>
    </>
  );
}
