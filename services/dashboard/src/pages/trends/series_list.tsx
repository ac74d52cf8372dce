import type { VNode } from 'preact';
import type { Failure } from '../../api/api_answer.ts';
import { AddFilter, FilterList } from '../../questions/filter_list.tsx';
import { oneOf } from '../../questions/from_address.ts';
import { EventPicker, FieldPicker } from '../../questions/pickers.tsx';
import { problemsAt } from '../../questions/use_question.ts';
import { Icon } from '../../ui/icon.tsx';
import { IconButton } from '../../ui/icon_button.tsx';
import { measureLabel } from './trend_lines.ts';
import { letterOf, MEASURES, needsField, SERIES_MAX, type SeriesDraft } from './trends_draft.ts';

interface SeriesListProps {
  series: readonly SeriesDraft[];
  failure: Failure | null;
  onSeries(series: SeriesDraft[]): void;
}

/** What is counted or measured, each a series with a letter for formulas. */
export function SeriesList({ series, failure, onSeries }: SeriesListProps): VNode {
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
        <button type="button" class="button small" onClick={() => onSeries([...series, {}])}>
          <Icon name="plus" /> Add a series
        </button>
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
      {problem !== '' && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
    </div>
  );
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
