import type { VNode } from 'preact';
import type { ApiError } from '../../api/request.ts';
import type { PageProps } from '../../page_spec.ts';
import { readPeriod } from '../../period.ts';
import { oneOf } from '../../questions/conditions.ts';
import { AddFilter, FieldPicker, FilterList, SpanField } from '../../questions/filter_fields.tsx';
import { queryFromAddress, setQueryInAddress } from '../../questions/query_address.ts';
import { problemsAt, QuestionResult, useQuestion } from '../../questions/question_result.tsx';
import { SiteNamesContext, useFieldValues, useNames, useSiteNames } from '../../questions/site_names.ts';
import { currentLocation } from '../../router.ts';
import { Combobox } from '../../ui/combobox.tsx';
import { SelectField } from '../../ui/form_fields.tsx';
import { Panel } from '../../ui/panel.tsx';
import { ANCHORS, type PathsDraft, pathsQuestion, readPaths } from './paths_draft.ts';
import { PathsView } from './paths_view.tsx';

/** Asks which way people go, and shows it. */
export default function PathsPage({ params }: PageProps): VNode {
  const siteId = params['site'] ?? '';
  const period = readPeriod(currentLocation.value.query, Date.now());
  const draft = readPaths(queryFromAddress());
  const asked = useQuestion(siteId, 'paths', pathsQuestion(draft), period);
  const names = useSiteNames(siteId);
  const change = (changed: PathsDraft): void => setQueryInAddress(pathsQuestion(changed));
  return (
    <SiteNamesContext value={names}>
      <div class="stack">
        <Panel title="Paths">
          <PathFields draft={draft} failure={asked.failure} onDraft={change} />
        </Panel>
        <QuestionResult siteId={siteId} name="paths" asked={asked}>
          {({ query, answer }, onPart) => (
            <PathsView
              query={query}
              answer={answer}
              onFrom={(text) => change({ ...draft, anchor: { kind: 'starting_at', text } })}
              onPart={onPart}
            />
          )}
        </QuestionResult>
      </div>
    </SiteNamesContext>
  );
}

interface PathFieldsProps {
  draft: PathsDraft;
  failure: ApiError | null;
  onDraft(draft: PathsDraft): void;
}

const ANCHOR_LABELS = { starting_at: 'Starting at', ending_at: 'Ending at', through: 'Through' };
const HOUR_MS = 3_600_000;

function PathFields({ draft, failure, onDraft }: PathFieldsProps): VNode {
  const { anchor, by, windowMs, filters } = draft;
  const { events } = useNames();
  const values = useFieldValues(by, undefined);
  return (
    <>
      <div class="options options-first">
        <SelectField
          label="Anchor"
          value={anchor?.kind ?? 'starting_at'}
          options={ANCHORS.map((value) => ({ value, label: ANCHOR_LABELS[value] }))}
          onValue={(kind) => onDraft({ ...draft, anchor: { kind: oneOf(kind, ANCHORS), text: anchor?.text ?? '' } })}
        />
        <Combobox
          label={by === null ? 'Event' : 'Value'}
          takesOthers
          value={anchor?.text ?? ''}
          options={[{ value: '', label: 'Start of the path' }, ...(by === null ? events : values)]}
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
        <SelectField
          label="Path type"
          value={windowMs === null ? 'session' : 'person'}
          options={[
            { value: 'session', label: 'Session' },
            { value: 'person', label: 'Person, within …' },
          ]}
          onValue={(kind) => onDraft({ ...draft, windowMs: kind === 'session' ? null : HOUR_MS })}
        />
        {windowMs !== null && (
          <SpanField
            label="Within"
            ms={windowMs}
            problem={problemsAt(failure, 'window_ms')}
            onMs={(ms) => onDraft({ ...draft, windowMs: ms })}
          />
        )}
        <NumberChoice label="Steps" value={draft.steps} max={10} onNumber={(steps) => onDraft({ ...draft, steps })} />
        <NumberChoice
          label="Values per step"
          value={draft.top}
          max={20}
          onNumber={(top) => onDraft({ ...draft, top })}
        />
      </div>
      <div class="stack-small">
        <AddFilter
          what="All events"
          filters={filters}
          onFilters={(changed) => onDraft({ ...draft, filters: changed })}
        />
        <FilterList
          what="All events"
          filters={filters}
          onFilters={(changed) => onDraft({ ...draft, filters: changed })}
        />
      </div>
    </>
  );
}

interface NumberChoiceProps {
  label: string;
  value: number;
  max: number;
  onNumber(value: number): void;
}

function NumberChoice({ label, value, max, onNumber }: NumberChoiceProps): VNode {
  const numbers = Array.from({ length: Math.max(max, value) }, (_, at) => String(at + 1));
  return (
    <SelectField
      label={label}
      value={String(value)}
      options={numbers.map((one) => ({ value: one, label: one }))}
      onValue={(chosen) => onNumber(Number(chosen))}
    />
  );
}
