import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { Field } from '#pipelines/analytics/filters.ts';
import { Button, Icon, IconButton } from '../ui/button.tsx';
import { Combobox } from '../ui/combobox.tsx';
import { LabelledField, Problem, SelectField, useTypedText } from '../ui/form_fields.tsx';
import * as conditions from './conditions.ts';
import { eventWarning, fieldWarning, type Offered, useFieldValues, useNames, VALUES_MAX } from './site_names.ts';

interface FilterListProps {
  what: string;
  filters: readonly conditions.FilterDraft[] | undefined;
  /** Names of the events whose values are offered. */
  events?: readonly string[] | undefined;
  onFilters(filters: conditions.FilterDraft[]): void;
}

export function FilterList({ what, filters = [], events, onFilters }: FilterListProps) {
  if (filters.length === 0) return null;
  return (
    <ul class="filters" aria-label={`${what}: filters`}>
      {filters.map((filter, at) => {
        const name = `${what}, filter ${at + 1}`;
        return (
          <li class="row filter" key={at}>
            <span class="muted small filter-joint">{at === 0 ? 'where' : 'and'}</span>
            {'field' in filter ? (
              <ConditionRow
                name={name}
                condition={filter}
                events={events}
                onCondition={(changed) => onFilters(filters.map((one, index) => (index === at ? changed : one)))}
              />
            ) : (
              <span class="wraps">{conditions.conditionText(filter)}</span>
            )}
            <IconButton
              icon="close"
              label={`Remove ${name.toLowerCase()}`}
              onClick={() => onFilters(filters.filter((_, index) => index !== at))}
            />
          </li>
        );
      })}
    </ul>
  );
}

const newCondition = (): conditions.ConditionDraft => ({ field: { property: [] }, is: 'equal', to: [] });

export const AddFilter = ({ what, filters = [], onFilters }: Omit<FilterListProps, 'events'>) => (
  <Button
    kind="small quiet"
    icon="plus"
    label="Filter"
    aria-label={`${what}: add a filter`}
    onClick={() => onFilters([...filters, newCondition()])}
  />
);

interface ConditionRowProps {
  name: string;
  condition: conditions.ConditionDraft;
  events: readonly string[] | undefined;
  onCondition(condition: conditions.ConditionDraft): void;
}

function ConditionRow({ name, condition, events, onCondition }: ConditionRowProps) {
  const names = useNames();
  const { fields } = names;
  const { field, is } = condition;
  const isEmpty = 'property' in field && field.property.length === 0;
  const key = isEmpty ? '' : conditions.fieldKey(field);
  const isKnown = isEmpty || fields.some(({ value }) => value === key);
  const takes = conditions.takenBy(is);
  return (
    <>
      <Combobox
        label={`${name}: property`}
        hidesLabel
        takesOthers
        takesFirst
        warning={fieldWarning(names, field)}
        value={key}
        placeholder="Choose a property"
        options={isKnown ? fields : [{ value: key, label: conditions.fieldLabel(field) }, ...fields]}
        onValue={(text) => onCondition(conditions.ofField(condition, conditions.fieldNamed(text)))}
      />
      <select
        class="select"
        aria-label={`${name}: comparison`}
        value={is}
        onChange={(event) =>
          onCondition(compared(condition, event.currentTarget.value as conditions.ConditionDraft['is']))
        }
      >
        {conditions.operatorsOf(field).map((operator) => (
          <option key={operator.is} value={operator.is}>
            {operator.label}
          </option>
        ))}
      </select>
      {takes !== 'nothing' && (
        <ConditionValue name={name} condition={condition} events={events} onCondition={onCondition} />
      )}
    </>
  );
}

/** The same condition by another comparison, with what can be kept of what it compares with. */
function compared(
  { field, to }: conditions.ConditionDraft,
  is: conditions.ConditionDraft['is'],
): conditions.ConditionDraft {
  const takes = conditions.takenBy(is);
  if (takes === 'nothing') return { field, is };
  const texts = (Array.isArray(to) ? to : to === undefined || to === '' ? [] : [to]).map(String);
  if (takes === 'texts') return { field, is, to: texts };
  const first = texts[0] ?? '';
  if (takes !== 'number') return { field, is, to: first };
  return first === '' || Number.isNaN(Number(first)) ? { field, is } : { field, is, to: Number(first) };
}

function ConditionValue({ name, condition, events, onCondition }: ConditionRowProps) {
  const { field, is, to } = condition;
  const values = useFieldValues(field, events);
  const takes = conditions.takenBy(is);
  const label = `${name}: value`;
  if (takes === 'texts') {
    const texts = (Array.isArray(to) ? to : []).map(String);
    return (
      <TokenField
        label={label}
        values={texts}
        options={values}
        onValues={(chosen) => onCondition({ ...condition, to: chosen })}
      />
    );
  }
  if (takes === 'number') {
    const onNumber = (number: number | null): void =>
      onCondition({ field, is, ...(number !== null && { to: number }) });
    return <NumberValue label={label} number={typeof to === 'number' ? to : null} onNumber={onNumber} />;
  }
  return (
    <div class="field">
      <input
        type="text"
        aria-label={label}
        placeholder={takes === 'date' ? '2026-03-31' : 'Text'}
        value={String(to ?? '')}
        onInput={(event) => onCondition({ ...condition, to: event.currentTarget.value })}
      />
    </div>
  );
}

interface NumberValueProps {
  label: string;
  number: number | null;
  onNumber(number: number | null): void;
}

function NumberValue({ label, number, onNumber }: NumberValueProps) {
  const typed = useTypedText(number, (one) => String(one ?? ''));
  return (
    <div class="field">
      <input
        type="number"
        step="any"
        aria-label={label}
        placeholder="0"
        value={typed.text}
        onInput={(event) => {
          const text = event.currentTarget.value;
          const read = text === '' ? null : Number(text);
          typed.type(text, read);
          onNumber(read);
        }}
      />
    </div>
  );
}

/** Any event, as an option; it is no name. */
const ANY: Offered = { value: '', label: 'Any event' };

interface EventPickerProps {
  what: string;
  events: readonly string[] | undefined;
  onEvents(events: string[]): void;
  /** How many names may be chosen, any one of which counts. */
  max?: number;
}

/** Chooses the names of events: any of them counts, and without one every event does. */
export function EventPicker({ what, events = [], onEvents, max = 50 }: EventPickerProps) {
  const names = useNames();
  const { events: known } = names;
  const chosen = events.length === 0 ? [''] : events;
  const change = (at: number, name: string): void => onEvents(chosen.map((one, index) => (index === at ? name : one)));
  return (
    <div class="row event-picker">
      {chosen.map((name, at) => (
        <div class="row event-choice" key={at}>
          {at > 0 && <span class="muted small">or</span>}
          <Combobox
            label={at === 0 ? `${what}: event` : `${what}: event ${at + 1}`}
            hidesLabel
            takesOthers
            takesFirst
            warning={eventWarning(names, name)}
            value={name}
            options={at === 0 ? [ANY, ...known] : known}
            placeholder="Choose an event"
            onValue={(value) => change(at, value)}
          />
          {at > 0 && (
            <IconButton
              icon="close"
              label={`${what}: remove ${name || `event ${at + 1}`}`}
              isSmall
              onClick={() => onEvents(chosen.filter((_, index) => index !== at))}
            />
          )}
        </div>
      ))}
      {max > chosen.length && chosen.at(-1) !== '' && (
        <Button
          kind="small quiet"
          label="or …"
          aria-label={`${what}: or another event`}
          onClick={() => onEvents([...chosen, ''])}
        />
      )}
    </div>
  );
}

interface SelectionFieldsProps<Selection extends conditions.SelectionDraft> {
  what: string;
  selection: Selection;
  problem: string;
  onSelection(selection: Selection): void;
  before: ComponentChildren;
  after?: ComponentChildren;
  /** Whether nothing stands before all of it. */
  isFirst?: boolean;
}

export function SelectionFields<Selection extends conditions.SelectionDraft>(props: SelectionFieldsProps<Selection>) {
  const { what, selection, problem, onSelection, before, after, isFirst = false } = props;
  const { events, filters } = selection;
  const filtered = {
    what,
    filters,
    onFilters: (changed: conditions.FilterDraft[]) => onSelection({ ...selection, filters: changed }),
  };
  return (
    <div class={isFirst ? 'step-body step-body-first' : 'step-body'}>
      <div class="row step-main">
        {before}
        <EventPicker what={what} events={events} onEvents={(names) => onSelection({ ...selection, events: names })} />
        <AddFilter {...filtered} />
        {after}
      </div>
      <FilterList {...filtered} events={events} />
      <Problem text={problem} />
    </div>
  );
}

interface ChoiceFieldProps<Text extends string> {
  label: string;
  value: Text;
  labels: conditions.Labels<Text>;
  hint?: string;
  problem?: string;
  onChoice(value: Text): void;
}

export function ChoiceField<Text extends string>({ labels, onChoice, ...field }: ChoiceFieldProps<Text>) {
  const options = Object.entries<string>(labels).map(([value, label]) => ({ value, label }));
  return <SelectField {...field} options={options} onValue={(value) => onChoice(value as Text)} />;
}

interface NumberChoiceProps {
  label: string;
  from?: number;
  to: number;
  value: number;
  onNumber(value: number): void;
}

export function NumberChoice({ label, from = 1, to, value, onNumber }: NumberChoiceProps) {
  const numbers = Array.from({ length: Math.max(0, to - from + 1) }, (_, at) => String(from + at));
  return (
    <SelectField
      label={label}
      value={String(value)}
      options={numbers.map((one) => ({ value: one, label: one }))}
      onValue={(chosen) => onNumber(Number(chosen))}
    />
  );
}

interface FieldPickerProps {
  label: string;
  field: Field | null;
  /** What having none is called; null: one must be chosen. */
  none: string | null;
  hidesLabel?: boolean;
  onField(field: Field | null): void;
}

/** Chooses a column or a property; another property can be typed, its parts apart by dots. */
export function FieldPicker({ label, field, none, hidesLabel = false, onField }: FieldPickerProps) {
  const names = useNames();
  const { fields } = names;
  const key = field === null ? '' : conditions.fieldKey(field);
  const isKnown = field === null || fields.some(({ value }) => value === key);
  const options = [
    ...(none === null ? [] : [{ value: '', label: none }]),
    ...(isKnown || field === null ? [] : [{ value: key, label: conditions.fieldLabel(field) }]),
    ...fields,
  ];
  return (
    <Combobox
      label={label}
      hidesLabel={hidesLabel}
      takesOthers
      takesFirst
      warning={field === null ? undefined : fieldWarning(names, field)}
      value={key}
      options={options}
      placeholder="Choose a property"
      onValue={(text) => onField(conditions.plainFieldNamed(text === none ? '' : text))}
    />
  );
}

interface TokenFieldProps {
  label: string;
  values: readonly string[];
  options: readonly Offered[];
  onValues(values: string[]): void;
}

/** Several values, each with a button that takes it away, and a field that adds one. */
function TokenField({ label, values, options, onValues }: TokenFieldProps) {
  const left = options.filter(({ value }) => !values.includes(value));
  const areAll = options.length > 0 && options.length < VALUES_MAX;
  const isUnknown = (value: string): boolean => areAll && !options.some((option) => option.value === value);
  return (
    <div class="row tokens">
      {values.map((value) => (
        <span class="token" key={value}>
          <span class="cut">{value}</span>
          {isUnknown(value) && <span class="muted small">not seen</span>}
          <button
            type="button"
            class="token-remove"
            aria-label={`${label}: remove ${value}`}
            onClick={() => onValues(values.filter((one) => one !== value))}
          >
            <Icon name="close" />
          </button>
        </span>
      ))}
      <Combobox
        label={label}
        hidesLabel
        takesOthers
        takesFirst={areAll}
        value=""
        options={left}
        placeholder={values.length === 0 ? 'Choose or type a value' : 'or …'}
        onValue={(value) => {
          if (value !== '' && !values.includes(value)) onValues([...values, value]);
        }}
      />
    </div>
  );
}

interface SpanFieldProps {
  label: string;
  ms: number;
  problem?: string;
  onMs(ms: number): void;
}

const UNITS = [
  { ms: 86_400_000, label: 'days' },
  { ms: 3_600_000, label: 'hours' },
  { ms: 60_000, label: 'minutes' },
  { ms: 1_000, label: 'seconds' },
] as const;

/** The greatest unit of which a span of time is a whole number. */
const unitOf = (ms: number): number => UNITS.find((unit) => ms % unit.ms === 0)?.ms ?? 1_000;

export function SpanField({ label, ms, problem = '', onMs }: SpanFieldProps) {
  const [unit, setUnit] = useState(() => unitOf(ms));
  // Another question may have a span that is no whole number of the unit that was chosen.
  const fitting = ms % unit === 0 ? unit : unitOf(ms);
  const typed = useTypedText(ms, (one) => String(one / fitting));
  // Whoever types 1.5 means the unit that stands beside it.
  const shown = typed.isTyped ? unit : fitting;
  return (
    <LabelledField label={label} problem={problem}>
      {(described) => (
        <span class="span-field">
          <input
            {...described}
            type="number"
            min={0}
            step="any"
            value={typed.text}
            onInput={(event) => {
              const text = event.currentTarget.value;
              const read = text === '' || Number(text) < 0 ? ms : Math.round(Number(text) * shown);
              typed.type(text, read);
              setUnit(shown);
              if (read !== ms) onMs(read);
            }}
            onBlur={typed.leave}
          />
          <select
            aria-label={`${label}: unit`}
            value={String(shown)}
            onChange={(event) => {
              const chosen = Number(event.currentTarget.value);
              typed.leave();
              setUnit(chosen);
              onMs((ms / shown) * chosen);
            }}
          >
            {UNITS.map((one) => (
              <option key={one.ms} value={String(one.ms)}>
                {one.label}
              </option>
            ))}
          </select>
        </span>
      )}
    </LabelledField>
  );
}
