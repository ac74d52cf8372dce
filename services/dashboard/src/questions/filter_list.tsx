import type { VNode } from 'preact';
import { Combobox } from '../ui/combobox.tsx';
import { Icon } from '../ui/icon.tsx';
import { IconButton } from '../ui/icon_button.tsx';
import { useTypedText } from '../ui/typed_text.ts';
import {
  type ConditionDraft,
  conditionText,
  type FilterDraft,
  fieldKey,
  fieldLabel,
  fieldNamed,
  OPERATORS,
  takenBy,
} from './condition_draft.ts';
import { TokenField } from './pickers.tsx';
import { useFieldValues, useNames } from './site_names.ts';

interface FilterListProps {
  /** What is filtered: "Step 2". */
  what: string;
  filters: readonly FilterDraft[] | undefined;
  /** Names of the events whose values are offered. */
  events?: readonly string[] | undefined;
  onFilters(filters: FilterDraft[]): void;
}

/** The conditions that events must meet, all of them. */
export function FilterList({ what, filters = [], events, onFilters }: FilterListProps): VNode | null {
  if (filters.length === 0) return null;
  return (
    <ul class="filters" aria-label={`${what}: filters`}>
      {filters.map((filter, at) => {
        const name = `${what}, filter ${at + 1}`;
        return (
          <li class="filter" key={at}>
            <span class="muted small filter-joint">{at === 0 ? 'where' : 'and'}</span>
            {'field' in filter ? (
              <ConditionRow
                name={name}
                condition={filter}
                events={events}
                onCondition={(changed) => onFilters(filters.map((one, index) => (index === at ? changed : one)))}
              />
            ) : (
              <span class="wraps">{conditionText(filter)}</span>
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

/** A condition that is still to be written. */
const newCondition = (): ConditionDraft => ({ field: { property: [] }, is: 'equal', to: [] });

/** Adds a condition to a list of them. */
export function AddFilter({ what, filters = [], onFilters }: Omit<FilterListProps, 'events'>): VNode {
  return (
    <button
      type="button"
      class="button small quiet"
      aria-label={`${what}: add a filter`}
      onClick={() => onFilters([...filters, newCondition()])}
    >
      <Icon name="plus" /> Filter
    </button>
  );
}

interface ConditionRowProps {
  name: string;
  condition: ConditionDraft;
  events: readonly string[] | undefined;
  onCondition(condition: ConditionDraft): void;
}

function ConditionRow({ name, condition, events, onCondition }: ConditionRowProps): VNode {
  const { filtered } = useNames();
  const { field, is } = condition;
  const isEmpty = 'property' in field && field.property.length === 0;
  const key = isEmpty ? '' : fieldKey(field);
  const isKnown = isEmpty || filtered.some(({ value }) => value === key);
  const takes = takenBy(is);
  return (
    <>
      <Combobox
        label={`${name}: property`}
        hidesLabel
        takesOthers
        value={key}
        placeholder="Choose a property"
        options={isKnown ? filtered : [{ value: key, label: fieldLabel(field) }, ...filtered]}
        onValue={(text) => onCondition({ ...condition, field: fieldNamed(text) })}
      />
      <select
        class="select"
        aria-label={`${name}: comparison`}
        value={is}
        onChange={(event) => onCondition(compared(condition, event.currentTarget.value as ConditionDraft['is']))}
      >
        {OPERATORS.map((operator) => (
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
function compared({ field, to }: ConditionDraft, is: ConditionDraft['is']): ConditionDraft {
  const takes = takenBy(is);
  if (takes === 'nothing') return { field, is };
  const texts = (Array.isArray(to) ? to : to === undefined || to === '' ? [] : [to]).map(String);
  if (takes === 'texts') return { field, is, to: texts };
  const first = texts[0] ?? '';
  if (takes !== 'number') return { field, is, to: first };
  return first === '' || Number.isNaN(Number(first)) ? { field, is } : { field, is, to: Number(first) };
}

function ConditionValue({ name, condition, events, onCondition }: ConditionRowProps): VNode {
  const { field, is, to } = condition;
  const values = useFieldValues(field, events);
  const takes = takenBy(is);
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

function NumberValue({ label, number, onNumber }: NumberValueProps): VNode {
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
