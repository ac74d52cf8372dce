import type { VNode } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { Icon } from './icon.tsx';

interface ComboboxProps {
  label: string;
  value: string;
  /** What may be chosen; where it is long, only what contains the text is shown. */
  options: readonly { value: string; label?: string }[];
  onValue(value: string): void;
  /** Whether a text that is no option may be given as well. */
  takesOthers?: boolean;
  placeholder?: string;
  /** Whether the label is heard only. */
  hidesLabel?: boolean;
}

const SHOWN_MAX = 50;

/** A text field that offers values (ARIA's combobox with a list): arrows choose, Enter takes, Escape closes. */
export function Combobox(props: ComboboxProps): VNode {
  const { label, value, options, onValue, takesOthers = false, placeholder, hidesLabel = false } = props;
  const id = useId();
  const labelOf = (one: string): string => options.find((option) => option.value === one)?.label ?? one;
  const [text, setText] = useState<string | null>(null);
  const [active, setActive] = useState(-1);
  const isOpen = text !== null;
  const found = isOpen ? matching(options, text === labelOf(value) ? '' : text).slice(0, SHOWN_MAX) : [];

  const close = (): void => {
    setText(null);
    setActive(-1);
  };
  const take = (chosen: string): void => {
    onValue(chosen);
    close();
  };
  const leave = (): void => {
    if (text !== null && takesOthers && text !== labelOf(value)) onValue(text);
    close();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const option = found[active];
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault();
      if (!isOpen) setText(labelOf(value));
      else setActive(beside(active, event.key === 'ArrowDown' ? 1 : -1, found.length));
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
        {...(active >= 0 && { 'aria-activedescendant': `${id}o${active}` })}
        {...(placeholder !== undefined && { placeholder })}
        value={text ?? labelOf(value)}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setActive(-1);
        }}
        onClick={() => setText(text ?? labelOf(value))}
        onFocus={(event) => event.currentTarget.select()}
        onBlur={leave}
        onKeyDown={onKeyDown}
      />
      <Icon name="down" />
      <Options id={id} label={label} found={found} active={active} isOpen={isOpen} onTake={take} />
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

function Options({ id, label, found, active, isOpen, onTake }: OptionsProps): VNode {
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    list.current?.children[active]?.scrollIntoView({ block: 'nearest' });
  }, [active]);
  return (
    <div
      id={`${id}l`}
      role="listbox"
      aria-label={label}
      class="combobox-list"
      hidden={!isOpen || found.length === 0}
      ref={list}
    >
      {found.map((option, index) => (
        // biome-ignore lint/a11y/useKeyWithClickEvents: the field has the keyboard.
        <div
          key={option.value}
          id={`${id}o${index}`}
          role="option"
          tabIndex={-1}
          aria-selected={index === active}
          class={index === active ? 'active' : ''}
          onPointerDown={(event) => event.preventDefault()}
          onClick={() => onTake(option.value)}
        >
          {option.label ?? option.value}
        </div>
      ))}
    </div>
  );
}

function matching(options: ComboboxProps['options'], text: string): ComboboxProps['options'] {
  const wanted = text.trim().toLowerCase();
  if (wanted === '') return options;
  return options.filter(({ value, label = value }) => `${label} ${value}`.toLowerCase().includes(wanted));
}
