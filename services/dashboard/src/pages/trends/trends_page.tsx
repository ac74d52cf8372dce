import type { Field } from '#pipelines/analytics/filters.ts';
import type { ApiError } from '../../api/request.ts';
import { capital, queryCalendar, timeZone } from '../../format.ts';
import type { PageProps } from '../../page_list.ts';
import { dayIn, type Period, readPeriod } from '../../period.ts';
import { type FilterDraft, oneOf } from '../../questions/conditions.ts';
import { AddFilter, ChoiceField, FieldPicker, FilterList, SelectionFields } from '../../questions/filter_fields.tsx';
import { queryFromAddress, setQueryInAddress } from '../../questions/query_address.ts';
import { problemsAt, QuestionPage } from '../../questions/question_result.tsx';
import { currentLocation } from '../../router.ts';
import { Button, IconButton } from '../../ui/button.tsx';
import { type DraftProps, SelectField, TextField } from '../../ui/form_fields.tsx';
import * as trends from './trends_view.tsx';
import { TrendsView } from './trends_view.tsx';

export default function TrendsPage({ params }: PageProps) {
  const period = readPeriod(currentLocation.value.query, Date.now());
  const draft = trends.readTrends(queryFromAddress());
  return (
    <QuestionPage
      siteId={params['site'] ?? ''}
      name="trends"
      period={period}
      question={trends.trendsQuestion(draft, period.interval, queryCalendar())}
      title="Series"
      fields={(failure) => (
        <>
          <SeriesList
            series={draft.series}
            failure={failure}
            onSeries={(series) => setQueryInAddress({ ...draft, series })}
          />
          <TrendsOptions draft={draft} period={period} failure={failure} onDraft={setQueryInAddress} />
        </>
      )}
      table={trends.trendTable}
    >
      {({ query, answer }, onPart) => <TrendsView query={query} answer={answer} onPart={onPart} />}
    </QuestionPage>
  );
}

interface SeriesListProps {
  series: readonly trends.SeriesDraft[];
  failure: ApiError | null;
  onSeries(series: trends.SeriesDraft[]): void;
}

const SeriesList = ({ series, failure, onSeries }: SeriesListProps) => (
  <div>
    <ol class="steps" aria-label="Series">
      {series.map((one, at) => (
        <li class="step" key={at} aria-label={`Series ${trends.letterOf(at)}`}>
          <SeriesRow
            series={one}
            letter={trends.letterOf(at)}
            problem={problemsAt(failure, `series[${at}]`)}
            onSeries={(changed) => onSeries(series.map((other, index) => (index === at ? changed : other)))}
          />
          <IconButton
            icon="close"
            label={`Remove series ${trends.letterOf(at)}`}
            disabled={series.length === 1}
            onClick={() => onSeries(series.filter((_, index) => index !== at))}
          />
        </li>
      ))}
    </ol>
    {series.length < trends.SERIES_MAX && (
      <Button kind="small" icon="plus" label="Add a series" onClick={() => onSeries([...series, {}])} />
    )}
  </div>
);

interface SeriesRowProps {
  series: trends.SeriesDraft;
  letter: string;
  problem: string;
  onSeries(series: trends.SeriesDraft): void;
}

function SeriesRow({ series, letter, problem, onSeries }: SeriesRowProps) {
  const what = `Series ${letter}`;
  const { measure = { of: 'events' } } = series;
  return (
    <SelectionFields
      what={what}
      isFirst
      selection={series}
      problem={problem}
      onSelection={onSeries}
      before={
        <>
          <span class="step-number" aria-hidden="true">
            {letter}
          </span>
          <select
            class="select"
            aria-label={`${what}: measure`}
            value={measure.of}
            onChange={(event) =>
              onSeries({ ...series, measure: { ...measure, of: oneOf(event.currentTarget.value, trends.MEASURES) } })
            }
          >
            {Object.entries(trends.MEASURES).map(([of, label]) => (
              <option key={of} value={of}>
                {capital(label)}
              </option>
            ))}
          </select>
          {trends.needsField(measure.of) && (
            <FieldPicker
              label={`${what}: property to measure`}
              hidesLabel
              none={null}
              field={measure.field ?? null}
              onField={(field) => onSeries({ ...series, measure: { of: measure.of, field: field ?? undefined } })}
            />
          )}
          <span class="muted small">of</span>
        </>
      }
    />
  );
}

interface TrendsOptionsProps extends DraftProps<trends.TrendsDraft> {
  period: Period;
}

const ROLLING = [2, 3, 7, 14, 28];

function TrendsOptions({ draft, period, failure, onDraft }: TrendsOptionsProps) {
  const { formulas = [], rolling } = draft;
  const filtered = {
    ...{ what: 'All series', filters: draft.filters },
    onFilters: (filters: FilterDraft[]) => onDraft({ ...draft, filters }),
  };
  return (
    <>
      <div class="row trend-filters">
        <AddFilter {...filtered} />
      </div>
      <FilterList {...filtered} />
      <div class="options">
        <ChoiceField
          label="By"
          value={draft.interval ?? period.interval}
          labels={trends.INTERVALS}
          problem={problemsAt(failure, 'interval')}
          onChoice={(chosen) => onDraft({ ...draft, interval: chosen })}
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
          onValue={(value) => onDraft({ ...draft, rolling: value === '' ? undefined : Number(value) })}
        />
        <CompareFields draft={draft} period={period} failure={failure} onDraft={onDraft} />
      </div>
    </>
  );
}

const COMPARED = [
  { value: '', label: 'Nothing' },
  { value: 'previous', label: 'Previous period' },
  { value: 'year', label: 'A year earlier' },
  { value: 'days', label: 'Another period' },
];

/** What the time is compared with; of another period its first day, which is kept as so many days earlier. */
function CompareFields({ draft, period, failure, onDraft }: TrendsOptionsProps) {
  const { compare } = draft;
  const days = typeof compare === 'object' ? compare.days : null;
  const first = dayIn(timeZone(), period.from);
  const change = (to: trends.TrendsDraft['compare']): void => onDraft({ ...draft, compare: to });
  const choose = (value: string): void => {
    if (value === 'previous' || value === 'year') change(value);
    else change(value === 'days' ? { days: Math.ceil((period.to - period.from) / DAY_MS) } : undefined);
  };
  const begin = (day: string): void => {
    const chosen = Date.parse(`${day}T00:00:00Z`);
    if (!Number.isNaN(chosen)) change({ days: Math.round((Date.UTC(...first) - chosen) / DAY_MS) });
  };
  return (
    <>
      <SelectField
        label="Compare with"
        value={typeof compare === 'object' ? 'days' : (compare ?? '')}
        options={COMPARED}
        onValue={choose}
      />
      {days !== null && (
        <TextField
          label="Beginning on"
          type="date"
          value={new Date(Date.UTC(...first) - days * DAY_MS).toISOString().slice(0, 10)}
          problem={problemsAt(failure, 'compare')}
          onValue={begin}
        />
      )}
    </>
  );
}

const DAY_MS = 86_400_000;

function Breakdown({ draft, onDraft }: Pick<TrendsOptionsProps, 'draft' | 'onDraft'>) {
  const fields = draft.breakdown?.fields ?? [];
  const change = (at: number, field: Field | null): void => {
    const changed = [...fields.slice(0, at), ...(field === null ? [] : [field]), ...fields.slice(at + 1)];
    onDraft({ ...draft, breakdown: trends.brokenDownBy(changed) });
  };
  const shown = [...fields, ...(fields.length < trends.FIELDS_MAX ? [null] : [])];
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
