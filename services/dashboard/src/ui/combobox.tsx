import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { Icon } from './button.tsx';

export interface Choice {
  value: string;
  label?: string;
  /** Under which heading it stands; those of one group stand together. */
  group?: string;
  /** What says more about it, beside the label. */
  note?: string;
}

interface ComboboxProps {
  label: string;
  value: string;
  /** What may be chosen; where it is long, only what contains the text is shown. */
  options: readonly Choice[];
  onValue(value: string): void;
  /** Whether a text that is no option may be given as well. */
  takesOthers?: boolean;
  /** Whether a typed text takes the first of the options found; the text itself, where it may be given, is the last of them. */
  takesFirst?: boolean;
  /** What is said below of the value. */
  warning?: string | undefined;
  placeholder?: string;
  hidesLabel?: boolean;
}

const SHOWN_MAX = 50;
/** Of each group, so that the last of them is not crowded out. */
const OF_GROUP_MAX = 30;

/** A text field that offers values (ARIA's combobox with a list): arrows choose, Enter takes, Escape closes. */
export function Combobox(props: ComboboxProps) {
  const { label, value, options, onValue, takesOthers = false, takesFirst = false, hidesLabel = false } = props;
  const { placeholder, warning } = props;
  const id = useId();
  const labelOf = (one: string): string => options.find((option) => option.value === one)?.label ?? one;
  const [text, setText] = useState<string | null>(null);
  const [active, setActive] = useState(-1);
  const isOpen = text !== null;
  const isTyped = text !== null && text.trim() !== '' && text !== labelOf(value);
  const matches = isOpen ? few(matching(options, isTyped ? text : '')) : [];
  const typed = text ?? '';
  const first = takesFirst && isTyped ? firstFor(matches, typed) : undefined;
  const isOther = first !== undefined && takesOthers && !isNamed(first, typed);
  const found = isOther ? [...matches, asTyped(typed)] : matches;
  /** The option that Enter takes. */
  const marked = active === -1 && first !== undefined ? found.indexOf(first) : active;

  const close = (): void => {
    setText(null);
    setActive(-1);
  };
  const take = (chosen: string): void => {
    onValue(chosen);
    close();
  };
  const leave = (): void => {
    if (text !== null && takesOthers && text !== labelOf(value)) onValue(first?.value ?? text);
    close();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const option = found[marked];
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault();
      if (!isOpen) setText(labelOf(value));
      else setActive(beside(marked, event.key === 'ArrowDown' ? 1 : -1, found.length));
    } else if (event.key === 'Enter' && isOpen) {
      event.preventDefault();
      if (option !== undefined) take(option.value);
      else leave();
    } else if (event.key === 'Escape' && isOpen) {
      event.preventDefault();
      event.stopPropagation();
      close();
    }
  };
  return (
    <div class="field combobox">
      <label for={id} class={hidesLabel ? 'hidden' : ''}>
        {label}
      </label>
      <input
        id={id}
        type="text"
        role="combobox"
        autocomplete="off"
        spellcheck={false}
        aria-expanded={isOpen}
        aria-controls={`${id}l`}
        aria-autocomplete="list"
        {...(marked >= 0 && { 'aria-activedescendant': `${id}o${marked}` })}
        {...(warning !== undefined && { 'aria-describedby': `${id}u` })}
        {...(placeholder !== undefined && { placeholder })}
        value={text ?? labelOf(value)}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setActive(-1);
        }}
        onClick={({ currentTarget }) => {
          if (isOpen) return;
          setText(labelOf(value));
          // After a click into a chosen text, as Escape leaves it, browsers put the caret there, and typing would add to it.
          requestAnimationFrame(() => currentTarget.select());
        }}
        onFocus={(event) => event.currentTarget.select()}
        onBlur={leave}
        onKeyDown={onKeyDown}
      />
      <Icon name="down" />
      <Options id={id} label={label} found={found} active={marked} isOpen={isOpen} onTake={take} />
      {isTyped && found.length === 0 && (
        <div class="combobox-list muted small" role="status">
          No matches.{takesOthers && ` Press Enter to use “${text.trim()}”.`}
        </div>
      )}
      {warning !== undefined && !isOpen && (
        <p id={`${id}u`} class="small combobox-warning">
          {warning}
        </p>
      )}
    </div>
  );
}

/** The option after or before another one of some, round and round; from none (-1) the first or the last. */
function beside(active: number, step: 1 | -1, count: number): number {
  if (count === 0) return -1;
  const from = active === -1 && step === -1 ? 0 : active;
  return (from + step + count) % count;
}

interface OptionsProps {
  id: string;
  label: string;
  found: ComboboxProps['options'];
  active: number;
  isOpen: boolean;
  onTake(value: string): void;
}

function Options({ id, label, found, active, isOpen, onTake }: OptionsProps) {
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    list.current?.querySelectorAll('[role=option]')[active]?.scrollIntoView({ block: 'nearest' });
  }, [active]);
  const groups = groupsOf(found);
  return (
    <div
      id={`${id}l`}
      role="listbox"
      aria-label={label}
      class="combobox-list"
      hidden={!isOpen || found.length === 0}
      ref={list}
    >
      {groups.map(({ name, from, choices }) => {
        const options = choices.map((choice, at) => (
          <Option
            key={choice.value}
            id={`${id}o${from + at}`}
            choice={choice}
            isActive={from + at === active}
            onTake={onTake}
          />
        ));
        if (name === undefined) return options;
        return (
          // biome-ignore lint/a11y/useSemanticElements: a fieldset is no part of a list of options.
          <div key={name} role="group" aria-label={name}>
            <div class="combobox-group muted small" aria-hidden="true">
              {name}
            </div>
            {options}
          </div>
        );
      })}
    </div>
  );
}

interface OptionProps {
  id: string;
  choice: Choice;
  isActive: boolean;
  onTake(value: string): void;
}

const Option = ({ id, choice: { value, label = value, note }, isActive, onTake }: OptionProps) => (
  // biome-ignore lint/a11y/useKeyWithClickEvents: the field has the keyboard.
  <div
    id={id}
    role="option"
    tabIndex={-1}
    aria-selected={isActive}
    class={isActive ? 'active' : ''}
    {...(note !== undefined && { 'aria-description': note })}
    onPointerDown={(event) => event.preventDefault()}
    onClick={() => onTake(value)}
  >
    {label}
    {note !== undefined && (
      <span class="muted small combobox-note" aria-hidden="true">
        {note}
      </span>
    )}
  </div>
);

interface Group {
  name: string | undefined;
  /** The place of its first choice among all. */
  from: number;
  choices: Choice[];
}

function groupsOf(choices: readonly Choice[]): Group[] {
  const groups: Group[] = [];
  choices.forEach((choice, at) => {
    const last = groups.at(-1);
    if (last !== undefined && last.name === choice.group) last.choices.push(choice);
    else groups.push({ name: choice.group, from: at, choices: [choice] });
  });
  return groups;
}

const isNamed = ({ value, label = value }: Choice, text: string): boolean =>
  [label, value].some((name) => name.toLowerCase() === text.trim().toLowerCase());

/** The option that a typed text stands for: the one of just that name, else the first that begins so, else the first. */
function firstFor(found: readonly Choice[], text: string): Choice | undefined {
  const begins = ({ value, label = value }: Choice): boolean =>
    label.toLowerCase().startsWith(text.trim().toLowerCase());
  return found.find((choice) => isNamed(choice, text)) ?? found.find(begins) ?? found[0];
}

const asTyped = (text: string): Choice => ({ value: text.trim(), label: `Use “${text.trim()}”` });

const few = (choices: readonly Choice[]): Choice[] =>
  groupsOf(choices).flatMap((group) => group.choices.slice(0, group.name === undefined ? SHOWN_MAX : OF_GROUP_MAX));

function matching(options: ComboboxProps['options'], text: string): ComboboxProps['options'] {
  const wanted = text.trim().toLowerCase();
  if (wanted === '') return options;
  return options.filter(({ value, label = value }) => `${label} ${value}`.toLowerCase().includes(wanted));
}
