import { type ComponentChildren, createContext, type VNode } from 'preact';
import { useContext, useRef, useState } from 'preact/hooks';
import type { FieldProblem } from '../../../api/request.ts';
import { useNames } from '../../../questions/site_names.ts';
import { Combobox } from '../../../ui/combobox.tsx';
import { CheckField, SelectField, TextField, useTypedText } from '../../../ui/form_fields.tsx';
import { Icon, IconButton, type IconName } from '../../../ui/icon.tsx';
import { freeId, listAt, moved, type Path, pathName, textAt, textsName, valueAt } from '../engage_item.ts';
import { type Option, readMoment, readNumber, withChosen, writtenMoment } from './definition_values.ts';

/** The definition that the fields below an element are of. */
interface EditedDefinition {
  /** With every default filled in. */
  filled: unknown;
  /** Names of the items that it has and that it had, as `questions.q1`. */
  used: ReadonlySet<string>;
  problems: readonly FieldProblem[];
  /** @param value Undefined: the field is left out. */
  set(path: Path, value: unknown): void;
}

export const DefinitionContext = createContext<EditedDefinition>({
  ...{ filled: {}, used: new Set(), problems: [] },
  set: () => undefined,
});
export const useDefinition = (): EditedDefinition => useContext(DefinitionContext);

/** What is wrong at a place, in sentences; empty: nothing. @param isWhole Whether what is wrong inside it counts as well. */
function problemAt(problems: readonly FieldProblem[], path: Path, isWhole = false): string {
  const name = pathName(path);
  const isIn = (field: string): boolean => field.startsWith(`${name}[`) || field.startsWith(`${name}.`);
  const found = problems.filter(({ field }) => field === name || (isWhole && isIn(field)));
  return [...new Set(found.map(({ message }) => sentence(message)))].join(' ');
}

/** Says what is wrong with something that has no field of its own to say it beside. */
export function ProblemAt({ at, isWhole = false }: { at: Path; isWhole?: boolean }): VNode | null {
  const problem = problemAt(useDefinition().problems, at, isWhole);
  if (problem === '') return null;
  return (
    // No field could take the focus.
    <p class="problem" role="alert" data-problem tabIndex={-1}>
      {problem}
    </p>
  );
}

const sentence = (message: string): string => `${message.charAt(0).toUpperCase()}${message.slice(1)}.`;

interface AtProps {
  at: Path;
  label: string;
  hint?: ComponentChildren;
}

interface TextAtProps extends AtProps {
  lines?: number;
  placeholder?: string;
  /** Whether an empty field is left out of the definition. */
  isOptional?: boolean;
}

export function TextAt({ at, isOptional = false, ...rest }: TextAtProps): VNode {
  const { filled, problems, set } = useDefinition();
  return (
    <TextField
      {...rest}
      autocomplete="off"
      problem={problemAt(problems, at)}
      value={textAt(filled, at)}
      onValue={(text) => set(at, isOptional && text === '' ? undefined : text)}
    />
  );
}

/** A field for the name of an event, which offers those of the site. */
export function EventAt({ at, label }: AtProps): VNode {
  const { filled, set } = useDefinition();
  const { events } = useNames();
  return (
    <div>
      <Combobox
        label={label}
        takesOthers
        value={textAt(filled, at)}
        options={events}
        placeholder="purchase"
        onValue={(name) => set(at, name)}
      />
      <ProblemAt at={at} />
    </div>
  );
}

interface NumberAtProps extends AtProps {
  /** What nothing stands for; left out: a number is needed. */
  empty?: unknown;
  placeholder?: string;
  read?(typed: string, empty: unknown): unknown;
  write?(value: unknown): string;
}

/** A field for a number, which may be typed as people do. */
export function NumberAt({ at, empty = '', read = readNumber, write, ...rest }: NumberAtProps): VNode {
  const { filled, problems, set } = useDefinition();
  const typed = useTypedText(valueAt(filled, at), write ?? (() => textAt(filled, at)));
  return (
    <TextField
      {...rest}
      inputMode="decimal"
      autocomplete="off"
      problem={problemAt(problems, at)}
      value={typed.text}
      onValue={(text) => {
        const value = read(text, empty);
        typed.type(text, value);
        set(at, value);
      }}
    />
  );
}

interface SelectAtProps extends AtProps {
  options: readonly Option[];
}

export function SelectAt({ at, label, hint, options }: SelectAtProps): VNode {
  const { filled, problems, set } = useDefinition();
  const value = textAt(filled, at);
  const texts = options.map((option) => ({ ...option, value: String(option.value) }));
  // What the list does not have stays what it is until something else is chosen.
  const offered = texts.some((option) => option.value === value) ? texts : [{ value, label: value }, ...texts];
  return (
    <SelectField
      label={label}
      hint={hint}
      problem={problemAt(problems, at)}
      value={value}
      options={offered}
      onValue={(chosen) => set(at, options.find((option) => String(option.value) === chosen)?.value ?? chosen)}
    />
  );
}

export function CheckAt({ at, label, hint }: AtProps): VNode {
  const { filled, set } = useDefinition();
  return (
    <div>
      <CheckField
        label={label}
        hint={hint}
        checked={valueAt(filled, at) === true}
        onChecked={(checked) => set(at, checked)}
      />
      <ProblemAt at={at} />
    </div>
  );
}

/** A field for several texts, one on each line. */
export function LinesAt({ at, label, hint, placeholder }: AtProps & { placeholder: string }): VNode {
  const { filled, problems, set } = useDefinition();
  return (
    <TextField
      label={label}
      hint={hint}
      placeholder={placeholder}
      lines={2}
      problem={problemAt(problems, at, true)}
      value={listAt(filled, at).map(String).join('\n')}
      onValue={(text) => set(at, text === '' ? [] : text.split('\n'))}
    />
  );
}

/** Some of a few values, each a box to tick. */
export function BoxesAt({ at, label, options }: SelectAtProps): VNode {
  const { filled, set } = useDefinition();
  const chosen = listAt(filled, at);
  return (
    <fieldset class="stack-small">
      <legend class="strong">{label}</legend>
      {withChosen(options, chosen).map(({ value, label: name }) => (
        <CheckField
          key={value}
          label={name}
          checked={chosen.includes(value)}
          onChecked={(isOn) => set(at, isOn ? [...chosen, value] : chosen.filter((one) => one !== value))}
        />
      ))}
      <ProblemAt at={at} isWhole />
    </fieldset>
  );
}

/** A field for a moment, in the zone of whoever looks; empty: none. */
export function MomentAt({ at, label, hint }: AtProps): VNode {
  const { filled, problems, set } = useDefinition();
  return (
    <TextField
      label={label}
      hint={hint}
      type="datetime-local"
      problem={problemAt(problems, at)}
      value={writtenMoment(valueAt(filled, at))}
      onValue={(text) => set(at, readMoment(text))}
    />
  );
}

const WHOLE_COLOUR = /^#[0-9a-f]{6}$/i;

/** A colour, typed or chosen; empty: the usual one. */
export function ColourAt({ at, label, usual }: AtProps & { usual: string }): VNode {
  const { filled, set } = useDefinition();
  const value = textAt(filled, at);
  return (
    <div class="colour-field">
      <TextAt at={at} label={label} placeholder={usual} isOptional />
      <input
        type="color"
        aria-label={`${label}: choose`}
        value={WHOLE_COLOUR.test(value) ? value : usual}
        onInput={(event) => set(at, event.currentTarget.value)}
      />
    </div>
  );
}

interface OrderedListProps {
  at: Path;
  /** What one is called: "Question". */
  one: string;
  /** What many are called: "Questions". */
  label: string;
  min: number;
  max: number;
  /** Makes another one. @param free Finds an id for it that nothing in the list ever had. */
  make(free: (prefix: string) => string): unknown;
  /** Told which one is worked on. */
  onLook?(index: number): void;
  children(at: Path, index: number): VNode;
}

/** A list whose items are added, removed and moved by buttons. */
export function OrderedList({ at, one, label, min, max, make, onLook, children }: OrderedListProps): VNode {
  const { filled, used, set } = useDefinition();
  const rows = useRef<HTMLOListElement>(null);
  const adding = useRef<HTMLButtonElement>(null);
  const [said, setSaid] = useState('');
  const list = listAt(filled, at);
  const focusIn = (index: number, selector: string): void => {
    requestAnimationFrame(() => {
      const row = rows.current?.children[index];
      const wanted = row?.querySelector<HTMLElement>(selector) ?? row?.querySelector<HTMLElement>(ANY_BUTTON);
      wanted?.focus();
    });
  };
  const move = (from: number, to: number, button: IconName): void => {
    set(at, moved(list, from, to));
    setSaid(`${one} ${from + 1} is now ${one.toLowerCase()} ${to + 1}`);
    focusIn(to, `:scope > .item-head [data-name="${button}"]:not(:disabled)`);
  };
  const remove = (index: number): void => {
    const left = list.filter((_, other) => other !== index);
    set(at, left);
    setSaid(`${one} ${index + 1} is removed, ${left.length} left`);
    if (left.length > 0) focusIn(Math.min(index, left.length - 1), ANY_BUTTON);
    else requestAnimationFrame(() => adding.current?.focus());
  };
  const add = (): void => {
    const name = textsName(filled, at);
    set(at, [...list, make((prefix) => freeId(prefix, list.length + 1, (id) => used.has(`${name}.${id}`)))]);
    focusIn(list.length, 'input, textarea, select');
  };
  return (
    <div class="stack-small">
      <ol class="items" aria-label={label} ref={rows}>
        {list.map((_, index) => (
          <li class="item" key={index} aria-label={`${one} ${index + 1}`} onFocusIn={() => onLook?.(index)}>
            <ItemHead
              name={`${one} ${index + 1}`}
              isFirst={index === 0}
              isLast={index === list.length - 1}
              mayGo={list.length > min}
              onMove={(by, button) => move(index, index + by, button)}
              onRemove={() => remove(index)}
            />
            {children([...at, index], index)}
          </li>
        ))}
      </ol>
      <p class="hidden" role="status">
        {said}
      </p>
      <ProblemAt at={at} />
      {list.length < max && (
        <button type="button" class="button small" ref={adding} onClick={add}>
          <Icon name="plus" /> Add {/^[aeiou]/i.test(one) ? 'an' : 'a'} {one.toLowerCase()}
        </button>
      )}
    </div>
  );
}

const ANY_BUTTON = 'button:not(:disabled)';

interface ItemHeadProps {
  name: string;
  isFirst: boolean;
  isLast: boolean;
  /** Whether it may be removed. */
  mayGo: boolean;
  onMove(by: number, button: IconName): void;
  onRemove(): void;
}

function ItemHead({ name, isFirst, isLast, mayGo, onMove, onRemove }: ItemHeadProps): VNode {
  const what = name.toLowerCase();
  const buttons: { icon: IconName; says: string; isOff: boolean; act(): void }[] = [
    { icon: 'up', says: `Move ${what} up`, isOff: isFirst, act: () => onMove(-1, 'up') },
    { icon: 'down', says: `Move ${what} down`, isOff: isLast, act: () => onMove(1, 'down') },
    { icon: 'close', says: `Remove ${what}`, isOff: !mayGo, act: onRemove },
  ];
  return (
    <div class="item-head">
      <span class="strong">{name}</span>
      {buttons.map(({ icon, says, isOff, act }) => (
        <IconButton key={icon} icon={icon} label={says} disabled={isOff} onClick={act} />
      ))}
    </div>
  );
}
