import type { VNode } from 'preact';
import type { Field } from '#pipelines/analytics/filters.ts';
import { Combobox } from '../ui/combobox.tsx';
import { Icon } from '../ui/icon.tsx';
import { IconButton } from '../ui/icon_button.tsx';
import { fieldKey, fieldLabel, plainFieldNamed } from './condition_draft.ts';
import { type Offered, useNames } from './site_names.ts';

/** Any event, as an option; it is no name. */
const ANY: Offered = { value: '', label: 'Any event' };

interface EventPickerProps {
  /** What the picker chooses for: "Step 2". */
  what: string;
  events: readonly string[] | undefined;
  onEvents(events: string[]): void;
  /** How many names may be chosen, any one of which counts. */
  max?: number;
}

/** Chooses the names of events: any of them counts, and without one every event does. */
export function EventPicker({ what, events = [], onEvents, max = 50 }: EventPickerProps): VNode {
  const { events: known } = useNames();
  const chosen = events.length === 0 ? [''] : events;
  const change = (at: number, name: string): void => onEvents(chosen.map((one, index) => (index === at ? name : one)));
  return (
    <div class="event-picker">
      {chosen.map((name, at) => (
        <div class="row event-choice" key={at}>
          {at > 0 && <span class="muted small">or</span>}
          <Combobox
            label={at === 0 ? `${what}: event` : `${what}: event ${at + 1}`}
            hidesLabel
            takesOthers
            takesFirst
            unknown={known.length === 0 ? undefined : 'No such event in the last 30 days'}
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
        <button
          type="button"
          class="button small quiet"
          aria-label={`${what}: or another event`}
          onClick={() => onEvents([...chosen, ''])}
        >
          or …
        </button>
      )}
    </div>
  );
}

interface FieldPickerProps {
  label: string;
  field: Field | null;
  /** What having none is called; null: one must be chosen. */
  none: string | null;
  /** Whether the label is heard only. */
  hidesLabel?: boolean;
  onField(field: Field | null): void;
}

/** Chooses a column or a property; another property can be typed, its parts apart by dots. */
export function FieldPicker({ label, field, none, hidesLabel = false, onField }: FieldPickerProps): VNode {
  const { fields } = useNames();
  const key = field === null ? '' : fieldKey(field);
  const isKnown = field === null || fields.some(({ value }) => value === key);
  const options = [
    ...(none === null ? [] : [{ value: '', label: none }]),
    ...(isKnown || field === null ? [] : [{ value: key, label: fieldLabel(field) }]),
    ...fields,
  ];
  return (
    <Combobox
      label={label}
      hidesLabel={hidesLabel}
      takesOthers
      takesFirst
      value={key}
      options={options}
      placeholder="Choose a property"
      onValue={(text) => onField(plainFieldNamed(text === none ? '' : text))}
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
export function TokenField({ label, values, options, onValues }: TokenFieldProps): VNode {
  const left = options.filter(({ value }) => !values.includes(value));
  return (
    <div class="tokens">
      {values.map((value) => (
        <span class="token" key={value}>
          <span class="cut">{value}</span>
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
