import type { VNode } from 'preact';
import type { Field } from '#pipelines/analytics/filters.ts';
import type { Interval } from '#pipelines/analytics/question.ts';
import type { ApiError } from '../../api/request.ts';
import type { PageProps } from '../../page_spec.ts';
import { readPeriod, timeZone } from '../../period.ts';
import { oneOf } from '../../questions/conditions.ts';
import { AddFilter, EventPicker, FieldPicker, FilterList } from '../../questions/filter_fields.tsx';
import { queryFromAddress, setQueryInAddress } from '../../questions/query_address.ts';
import { problemsAt, QuestionResult, useQuestion } from '../../questions/question_result.tsx';
import { SiteNamesContext, useSiteNames } from '../../questions/site_names.ts';
import { currentLocation } from '../../router.ts';
import { Button } from '../../ui/button.tsx';
import { CheckField, Problem, SelectField, TextField } from '../../ui/form_fields.tsx';
import { IconButton } from '../../ui/icon.tsx';
import { Panel } from '../../ui/panel.tsx';
import {
  brokenDownBy,
  INTERVALS,
  letterOf,
  MEASURES,
  measureLabel,
  needsField,
  readTrends,
  SERIES_MAX,
  type SeriesDraft,
  type TrendsDraft,
  trendsQuestion,
  trendTable,
} from './trends_draft.ts';
import { TrendsView } from './trends_view.tsx';

/** Asks how often things happen over time, and shows it. */
export default function TrendsPage({ params }: PageProps): VNode {
  const siteId = params['site'] ?? '';
  const period = readPeriod(currentLocation.value.query, Date.now());
  const draft = readTrends(queryFromAddress());
  const asked = useQuestion(siteId, 'trends', trendsQuestion(draft, period.interval, timeZone()), period);
  const names = useSiteNames(siteId);
  const change = (changed: TrendsDraft): void => setQueryInAddress(changed);
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

interface SeriesListProps {
  series: readonly SeriesDraft[];
  failure: ApiError | null;
  onSeries(series: SeriesDraft[]): void;
}

/** What is counted or measured, each a series with a letter for formulas. */
function SeriesList({ series, failure, onSeries }: SeriesListProps): VNode {
  return (
    <div>
      <ol class="steps" aria-label="Series">
        {series.map((one, at) => (
          <li class="step" key={at} aria-label={`Series ${letterOf(at)}`}>
            <SeriesRow
              series={one}
              letter={letterOf(at)}
              problem={problemsAt(failure, `series[${at}]`)}
              onSeries={(changed) => onSeries(series.map((other, index) => (index === at ? changed : other)))}
            />
            <IconButton
              icon="close"
              label={`Remove series ${letterOf(at)}`}
              disabled={series.length === 1}
              onClick={() => onSeries(series.filter((_, index) => index !== at))}
            />
          </li>
        ))}
      </ol>
      {series.length < SERIES_MAX && (
        <Button kind="small" icon="plus" label="Add a series" onClick={() => onSeries([...series, {}])} />
      )}
    </div>
  );
}

interface SeriesRowProps {
  series: SeriesDraft;
  letter: string;
  problem: string;
  onSeries(series: SeriesDraft): void;
}

function SeriesRow({ series, letter, problem, onSeries }: SeriesRowProps): VNode {
  const what = `Series ${letter}`;
  const { measure = { of: 'events' } } = series;
  return (
    <div class="step-body step-body-first">
      <div class="step-main">
        <span class="step-number" aria-hidden="true">
          {letter}
        </span>
        <select
          class="select"
          aria-label={`${what}: measure`}
          value={measure.of}
          onChange={(event) =>
            onSeries({ ...series, measure: { ...measure, of: oneOf(event.currentTarget.value, MEASURES) } })
          }
        >
          {MEASURES.map((of) => (
            <option key={of} value={of}>
              {capital(measureLabel(of))}
            </option>
          ))}
        </select>
        {needsField(measure.of) && (
          <FieldPicker
            label={`${what}: property to measure`}
            hidesLabel
            none={null}
            field={measure.field ?? null}
            onField={(field) => onSeries({ ...series, measure: { of: measure.of, ...(field !== null && { field }) } })}
          />
        )}
        <span class="muted small">of</span>
        <EventPicker what={what} events={series.events} onEvents={(events) => onSeries({ ...series, events })} />
        <AddFilter what={what} filters={series.filters} onFilters={(filters) => onSeries({ ...series, filters })} />
      </div>
      <FilterList
        what={what}
        filters={series.filters}
        events={series.events}
        onFilters={(filters) => onSeries({ ...series, filters })}
      />
      <Problem text={problem} />
    </div>
  );
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

interface TrendsOptionsProps {
  draft: TrendsDraft;
  /** What the period asks for. */
  interval: Interval;
  failure: ApiError | null;
  onDraft(draft: TrendsDraft): void;
}

const ROLLING = [2, 3, 7, 14, 28];
const BREAKDOWN_FIELDS_MAX = 3;

/** By which interval, formula and property, beside which time, and of which events. */
function TrendsOptions({ draft, interval, failure, onDraft }: TrendsOptionsProps): VNode {
  const { formulas = [], rolling, compare, filters } = draft;
  return (
    <>
      <div class="row trend-filters">
        <AddFilter
          what="All series"
          filters={filters}
          onFilters={(changed) => onDraft({ ...draft, filters: changed })}
        />
      </div>
      <FilterList
        what="All series"
        filters={filters}
        onFilters={(changed) => onDraft({ ...draft, filters: changed })}
      />
      <div class="options">
        <SelectField
          label="By"
          value={draft.interval ?? interval}
          options={INTERVALS.map((value) => ({ value, label: value }))}
          problem={problemsAt(failure, 'interval')}
          onValue={(value) => onDraft({ ...draft, interval: oneOf(value, INTERVALS) })}
        />
        <Breakdown draft={draft} onDraft={onDraft} />
        <TextField
          label="Formula"
          value={formulas[0] ?? ''}
          placeholder="B / A * 100"
          problem={problemsAt(failure, 'formulas')}
          onValue={(text) => onDraft({ ...draft, formulas: text === '' ? [] : [text, ...formulas.slice(1)] })}
        />
        <SelectField
          label="Smoothing"
          value={String(rolling ?? '')}
          options={[
            { value: '', label: 'None' },
            ...ROLLING.map((count) => ({ value: String(count), label: `Average of ${count} intervals` })),
          ]}
          onValue={(value) => {
            const { rolling: _before, ...rest } = draft;
            onDraft(value === '' ? rest : { ...rest, rolling: Number(value) });
          }}
        />
        <CheckField
          label="Compare with previous period"
          checked={compare === 'previous'}
          onChecked={(checked) => {
            const { compare: _before, ...rest } = draft;
            onDraft(checked ? { ...rest, compare: 'previous' } : rest);
          }}
        />
      </div>
    </>
  );
}

function Breakdown({ draft, onDraft }: Pick<TrendsOptionsProps, 'draft' | 'onDraft'>): VNode {
  const fields = draft.breakdown?.fields ?? [];
  const change = (at: number, field: Field | null): void => {
    const { breakdown: _before, ...rest } = draft;
    const changed = [...fields.slice(0, at), ...(field === null ? [] : [field]), ...fields.slice(at + 1)];
    onDraft({ ...rest, ...brokenDownBy(changed) });
  };
  const shown = [...fields, ...(fields.length < BREAKDOWN_FIELDS_MAX ? [null] : [])];
  return (
    <>
      {shown.map((field, at) => (
        <FieldPicker
          key={at}
          label={at === 0 ? 'Break down by' : 'and by'}
          none="None"
          field={field}
          onField={(chosen) => change(at, chosen)}
        />
      ))}
    </>
  );
}
