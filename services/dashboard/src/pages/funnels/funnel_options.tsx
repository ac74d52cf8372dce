import type { VNode } from 'preact';
import type { Failure } from '../../api/api_answer.ts';
import { AddFilter, FilterList } from '../../questions/filter_list.tsx';
import { oneOf } from '../../questions/from_address.ts';
import { EventPicker, FieldPicker } from '../../questions/pickers.tsx';
import { SpanField } from '../../questions/span_field.tsx';
import { problemsAt } from '../../questions/use_question.ts';
import { SelectField } from '../../ui/form_fields.tsx';
import { Icon } from '../../ui/icon.tsx';
import { IconButton } from '../../ui/icon_button.tsx';
import {
  ATTRIBUTIONS,
  COUNTED,
  EXCLUSIONS_MAX,
  type ExclusionDraft,
  type FunnelDraft,
  ORDERS,
} from './funnel_draft.ts';

interface FunnelOptionsProps {
  draft: FunnelDraft;
  failure: Failure | null;
  onDraft(draft: FunnelDraft): void;
}

const ORDER_LABELS = { ordered: 'In this order', strict: 'Directly after each other', any: 'In any order' };
const COUNTED_LABELS = { person: 'People', session: 'Sessions' };
const AT_LABELS = {
  first_step: 'At the first step',
  step: 'At step …',
  first_touch: 'First touch',
  last_touch: 'Last touch',
};
const AT_HINTS = {
  first_step:
    'The value of the event that the way began with: of several such events, the latest from which it got there.',
  step: 'The value of the event that took this step; none where it was not reached.',
  first_touch: 'The first value that any event had, until the last step that was reached.',
  last_touch: 'The last value that any event had, until the last step that was reached.',
};

/** How a funnel counts: within which time, in which order, what, and by what it is broken down. */
export function FunnelOptions({ draft, failure, onDraft }: FunnelOptionsProps): VNode {
  const { breakdown } = draft;
  return (
    <div class="options">
      <SpanField
        label="Within"
        ms={draft.window_ms}
        problem={problemsAt(failure, 'window_ms')}
        onMs={(window_ms) => onDraft({ ...draft, window_ms })}
      />
      <SelectField
        label="Order of steps"
        value={draft.order ?? 'ordered'}
        options={ORDERS.map((value) => ({ value, label: ORDER_LABELS[value] }))}
        onValue={(order) => onDraft({ ...draft, order: oneOf(order, ORDERS) })}
      />
      <SelectField
        label="Counts"
        value={draft.count_by ?? 'person'}
        options={COUNTED.map((value) => ({ value, label: COUNTED_LABELS[value] }))}
        onValue={(counted) => onDraft({ ...draft, count_by: oneOf(counted, COUNTED) })}
      />
      <FieldPicker
        label="Break down by"
        none="Nothing"
        field={breakdown?.field ?? null}
        onField={(field) => {
          const { breakdown: _before, ...rest } = draft;
          onDraft(field === null ? rest : { ...rest, breakdown: { at: ATTRIBUTIONS[0], ...breakdown, field } });
        }}
      />
      {breakdown !== undefined && (
        <SelectField
          label="Its value"
          hint={AT_HINTS[breakdown.at]}
          value={breakdown.at}
          options={ATTRIBUTIONS.map((value) => ({ value, label: AT_LABELS[value] }))}
          problem={problemsAt(failure, 'breakdown')}
          onValue={(at) => onDraft({ ...draft, breakdown: { ...breakdown, at: oneOf(at, ATTRIBUTIONS) } })}
        />
      )}
      {breakdown?.at === 'step' && (
        <StepChoice
          label="Of step"
          from={1}
          to={draft.steps.length}
          value={breakdown.step ?? 1}
          onStep={(step) => onDraft({ ...draft, breakdown: { ...breakdown, step } })}
        />
      )}
    </div>
  );
}

interface StepChoiceProps {
  label: string;
  from: number;
  to: number;
  value: number;
  onStep(step: number): void;
}

function StepChoice({ label, from, to, value, onStep }: StepChoiceProps): VNode {
  const steps = Array.from({ length: Math.max(0, to - from + 1) }, (_, at) => String(from + at));
  return (
    <SelectField
      label={label}
      value={String(value)}
      options={steps.map((step) => ({ value: step, label: step }))}
      onValue={(step) => onStep(Number(step))}
    />
  );
}

/** Events that end a way between two steps. */
export function Exclusions({ draft, failure, onDraft }: FunnelOptionsProps): VNode {
  const { exclusions = [], steps } = draft;
  const change = (changed: ExclusionDraft[]): void => onDraft({ ...draft, exclusions: changed });
  return (
    <div class="stack-small">
      {exclusions.map((exclusion, at) => (
        <ExclusionRow
          key={at}
          exclusion={exclusion}
          number={at + 1}
          steps={draft.order === 'any' ? null : steps.length}
          problem={problemsAt(failure, `exclusions[${at}]`)}
          onExclusion={(changed) =>
            change(exclusions.flatMap((one, index) => (index !== at ? [one] : changed === null ? [] : [changed])))
          }
        />
      ))}
      <div class="row">
        {exclusions.length < EXCLUSIONS_MAX && (
          <button type="button" class="button small quiet" onClick={() => change([...exclusions, {}])}>
            <Icon name="plus" /> Exclude an event
          </button>
        )}
        <AddFilter what="All steps" filters={draft.filters} onFilters={(filters) => onDraft({ ...draft, filters })} />
      </div>
      <FilterList what="All steps" filters={draft.filters} onFilters={(filters) => onDraft({ ...draft, filters })} />
    </div>
  );
}

interface ExclusionRowProps {
  exclusion: ExclusionDraft;
  number: number;
  /** How many steps there are; null: they have no order. */
  steps: number | null;
  problem: string;
  /** Null takes it away. */
  onExclusion(exclusion: ExclusionDraft | null): void;
}

function ExclusionRow({ exclusion, number, steps, problem, onExclusion }: ExclusionRowProps): VNode {
  const what = `Exclusion ${number}`;
  const { after_step = 1, before_step = steps ?? 2, ends = 'way' } = exclusion;
  return (
    <fieldset class="exclusion">
      <legend class="muted small">Without</legend>
      <EventPicker what={what} events={exclusion.events} onEvents={(events) => onExclusion({ ...exclusion, events })} />
      {steps !== null && (
        <>
          <StepChoice
            label="After step"
            from={1}
            to={before_step - 1}
            value={after_step}
            onStep={(step) => onExclusion({ ...exclusion, after_step: step })}
          />
          <StepChoice
            label="Before step"
            from={after_step + 1}
            to={steps}
            value={before_step}
            onStep={(step) => onExclusion({ ...exclusion, before_step: step })}
          />
        </>
      )}
      <SelectField
        label="It ends"
        value={ends}
        options={[
          { value: 'way', label: 'this way to the step' },
          { value: 'actor', label: 'whoever has it' },
        ]}
        onValue={(value) => onExclusion({ ...exclusion, ends: value === 'actor' ? 'actor' : 'way' })}
      />
      <IconButton icon="close" label={`Remove ${what.toLowerCase()}`} onClick={() => onExclusion(null)} />
      <FilterList
        what={what}
        filters={exclusion.filters}
        events={exclusion.events}
        onFilters={(filters) => onExclusion({ ...exclusion, filters })}
      />
      {problem !== '' && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
    </fieldset>
  );
}
