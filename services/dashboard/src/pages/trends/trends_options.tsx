import type { VNode } from 'preact';
import type { Field } from '#pipelines/analytics/filters.ts';
import type { Interval } from '#pipelines/analytics/query_schemas.ts';
import type { Failure } from '../../api/api_answer.ts';
import { AddFilter, FilterList } from '../../questions/filter_list.tsx';
import { oneOf } from '../../questions/from_address.ts';
import { FieldPicker } from '../../questions/pickers.tsx';
import { problemsAt } from '../../questions/use_question.ts';
import { CheckField, SelectField, TextField } from '../../ui/form_fields.tsx';
import { brokenDownBy, INTERVALS, type TrendsDraft } from './trends_draft.ts';

interface TrendsOptionsProps {
  draft: TrendsDraft;
  /** What the period asks for. */
  interval: Interval;
  failure: Failure | null;
  onDraft(draft: TrendsDraft): void;
}

const ROLLING = [2, 3, 7, 14, 28];
const BREAKDOWN_FIELDS_MAX = 3;

/** By which interval, formula and property, beside which time, and of which events. */
export function TrendsOptions({ draft, interval, failure, onDraft }: TrendsOptionsProps): VNode {
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
          label="Smoothed"
          value={String(rolling ?? '')}
          options={[
            { value: '', label: 'As it is' },
            ...ROLLING.map((count) => ({ value: String(count), label: `Average of ${count} intervals` })),
          ]}
          onValue={(value) => {
            const { rolling: _before, ...rest } = draft;
            onDraft(value === '' ? rest : { ...rest, rolling: Number(value) });
          }}
        />
        <CheckField
          label="With the period before"
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
          none="Nothing"
          field={field}
          onField={(chosen) => change(at, chosen)}
        />
      ))}
    </>
  );
}
