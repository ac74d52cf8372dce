import { type ComponentChildren, createContext } from 'preact';
import { useContext, useRef, useState } from 'preact/hooks';
import type { FieldProblem } from '../../../api/request.ts';
import { capital, moved } from '../../../format.ts';
import { eventWarning, useNames } from '../../../questions/site_names.ts';
import { Icon, IconButton, type IconName } from '../../../ui/button.tsx';
import { Combobox } from '../../../ui/combobox.tsx';
import { CheckField, SelectField, TextField, useTypedText } from '../../../ui/form_fields.tsx';
import { freeId, listAt, type Path, pathName, textAt, textsName, valueAt } from '../engage_item.ts';
import {
  type Option,
  readMoment,
  readNumber,
  readSeconds,
  withChosen,
  writtenMoment,
  writtenSeconds,
} from './definition_values.ts';

/** What of a JSON schema says how a value is filled in. */
interface FieldSchema {
  type?: string;
  enum?: readonly unknown[];
  anyOf?: readonly FieldSchema[];
  items?: FieldSchema;
  properties?: Readonly<Record<string, FieldSchema>>;
  required?: readonly string[] | undefined;
  minItems?: number;
  maxItems?: number;
}

/** The definition that the fields below an element are of. */
interface EditedDefinition {
  schema: FieldSchema;
  /** With every default filled in. */
  filled: unknown;
  /** Names of the items that it has and that it had, as `questions.q1`. */
  used: ReadonlySet<string>;
  problems: readonly FieldProblem[];
  /** @param value Undefined: the field is left out. */
  set(path: Path, value: unknown): void;
}

export const DefinitionContext = createContext<EditedDefinition>({
  ...{ schema: {}, filled: {}, used: new Set(), problems: [] },
  set: () => undefined,
});

/** The item of a list that the fields below an element are of; empty: the definition itself. */
const ItemContext = createContext<Path>([]);

/** A place in the item that the element is in, as `targeting.device`, and what stands there. @param at Empty: the item itself. */
export function usePlace(at = '') {
  const definition = useContext(DefinitionContext);
  const item = useContext(ItemContext);
  const parts = at === '' ? [] : at.split('.');
  const path = [...item, ...parts.map((part) => (/^\d+$/.test(part) ? Number(part) : part))];
  return {
    ...definition,
    path,
    value: valueAt(definition.filled, path),
    /** What stands at a place in it. */
    textIn: (...more: Path) => textAt(definition.filled, [...path, ...more]),
    change: (value: unknown) => definition.set(path, value),
    /** @param isWhole Whether what is wrong inside it counts as well. */
    problem: (isWhole = false) => problemAt(definition.problems, path, isWhole),
  };
}

/** What is wrong at a place, in sentences; empty: nothing. */
function problemAt(problems: readonly FieldProblem[], path: Path, isWhole: boolean): string {
  const name = pathName(path);
  const isIn = (field: string): boolean => field.startsWith(`${name}[`) || field.startsWith(`${name}.`);
  const found = problems.filter(({ field }) => field === name || (isWhole && isIn(field)));
  return [...new Set(found.map(({ message }) => `${capital(message)}.`))].join(' ');
}

/** Says what is wrong with something that has no field of its own to say it beside. */
export function ProblemAt({ at = '', isWhole = false }: { at?: string; isWhole?: boolean }) {
  const problem = usePlace(at).problem(isWhole);
  if (problem === '') return null;
  return (
    // No field could take the focus.
    <p class="problem" role="alert" data-problem tabIndex={-1}>
      {problem}
    </p>
  );
}

const schemaAt = (schema: FieldSchema, path: Path): FieldSchema =>
  path.reduce<FieldSchema>((at, part) => (typeof part === 'number' ? at.items : at.properties?.[part]) ?? {}, schema);

interface FieldAtProps {
  /** Its place in the item, as `targeting.device`. */
  at: string;
  label: string;
  hint?: ComponentChildren;
  placeholder?: string;
  lines?: number;
  options?: readonly Option[];
  /** Where its schema does not tell how it is filled in. */
  as?: 'event' | 'seconds' | 'moment' | 'colour';
  /** It is there where another field of the item has one of these values. */
  only?: readonly [at: string, ...values: string[]];
}

export function FieldAt({ only: [beside = '', ...values] = [''], ...props }: FieldAtProps) {
  const { schema, path } = usePlace(props.at);
  const { textIn } = usePlace(beside);
  if (beside !== '' && !values.includes(textIn())) return null;
  const { type, items } = schemaAt(schema, path);
  if (props.as === 'event') return <EventAt {...props} />;
  if (props.as === 'colour') return <ColourAt {...props} />;
  if (props.options !== undefined) return items === undefined ? <SelectAt {...props} /> : <BoxesAt {...props} />;
  return type === 'boolean' ? <CheckAt {...props} /> : <TypedAt {...props} />;
}

/** How a value is written in a field for text, and read from what is typed there. */
interface Codec {
  write(value: unknown): string;
  read(text: string): unknown;
}

const written = (value: unknown): string => textAt(value, []);

function codecOf({ type, anyOf = [], items }: FieldSchema, as: FieldAtProps['as'], isOptional: boolean): Codec {
  if (as === 'seconds') return { write: writtenSeconds, read: (text) => readSeconds(text, 0) };
  if (as === 'moment') return { write: writtenMoment, read: readMoment };
  if (items !== undefined) {
    return { write: (value) => listAt(value, []).join('\n'), read: (text) => (text === '' ? [] : text.split('\n')) };
  }
  if (type === 'string') return { write: written, read: (text) => (isOptional && text === '' ? undefined : text) };
  const empty = anyOf.some((one) => one.type === 'null') ? null : '';
  return { write: written, read: (text) => readNumber(text, empty) };
}

/** A field for a text, for several on a line each, for a number, or for a moment in the zone of whoever looks. */
function TypedAt({ at, as, ...rest }: FieldAtProps) {
  const { schema, path, value, change, problem } = usePlace(at);
  const own = schemaAt(schema, path);
  const isOptional = schemaAt(schema, path.slice(0, -1)).required?.includes(String(path.at(-1))) !== true;
  const { write, read } = codecOf(own, as, isOptional);
  const typed = useTypedText(value, write);
  const isList = own.items !== undefined;
  const isNumber = as !== 'moment' && !isList && own.type !== 'string';
  return (
    <TextField
      {...rest}
      {...(isList ? { lines: 2 } : { autocomplete: 'off' })}
      {...(isNumber && ({ inputMode: 'decimal' } as const))}
      {...(as === 'moment' && ({ type: 'datetime-local' } as const))}
      problem={problem(isList)}
      value={typed.text}
      onValue={(text) => {
        const typedValue = read(text);
        typed.type(text, typedValue);
        change(typedValue);
      }}
    />
  );
}

function EventAt({ at, label }: FieldAtProps) {
  const { textIn, change } = usePlace(at);
  const names = useNames();
  return (
    <div>
      <Combobox
        label={label}
        takesOthers
        takesFirst
        warning={eventWarning(names, textIn())}
        value={textIn()}
        options={names.events}
        placeholder="purchase"
        onValue={change}
      />
      <ProblemAt at={at} />
    </div>
  );
}

/** A list of what may be chosen. What it does not have stays what it is until something else is chosen. */
function SelectAt({ at, label, hint, options = [] }: FieldAtProps) {
  const { value, textIn, change, problem } = usePlace(at);
  const text = typeof value === 'boolean' ? String(value) : textIn();
  const texts = options.map((option) => ({ ...option, value: String(option.value) }));
  const offered = texts.some((option) => option.value === text) ? texts : [{ value: text, label: text }, ...texts];
  return (
    <SelectField
      label={label}
      hint={hint}
      problem={problem()}
      value={text}
      options={offered}
      onValue={(chosen) => change(options.find((option) => String(option.value) === chosen)?.value ?? chosen)}
    />
  );
}

function CheckAt({ at, label, hint }: FieldAtProps) {
  const { value, change } = usePlace(at);
  return (
    <div>
      <CheckField label={label} hint={hint} checked={value === true} onChecked={change} />
      <ProblemAt at={at} />
    </div>
  );
}

function BoxesAt({ at, label, options = [] }: FieldAtProps) {
  const { value, change } = usePlace(at);
  const chosen = listAt(value, []);
  return (
    <fieldset class="stack-small">
      <legend class="strong">{label}</legend>
      {withChosen(options, chosen).map(({ value: offered, label: name }) => (
        <CheckField
          key={String(offered)}
          label={name}
          checked={chosen.includes(offered)}
          onChecked={(isOn) => change(isOn ? [...chosen, offered] : chosen.filter((one) => one !== offered))}
        />
      ))}
      <ProblemAt at={at} isWhole />
    </fieldset>
  );
}

const WHOLE_COLOUR = /^#[0-9a-f]{6}$/i;

/** A colour, typed or chosen. @param placeholder The usual one. */
function ColourAt({ at, label, placeholder: usual = '' }: FieldAtProps) {
  const { textIn, change } = usePlace(at);
  return (
    <div class="colour-field">
      <TypedAt at={at} label={label} placeholder={usual} />
      <input
        type="color"
        aria-label={`${label}: choose`}
        value={WHOLE_COLOUR.test(textIn()) ? textIn() : usual}
        onInput={(event) => change(event.currentTarget.value)}
      />
    </div>
  );
}

interface OrderedListProps {
  at: string;
  /** What one is called: "Question". */
  one: string;
  /** Makes another one. @param free Finds an id for it that nothing in the list ever had. */
  make(free: (prefix: string) => string): unknown;
  /** Told which one is worked on. */
  onLook?(index: number): void;
  /** What one is filled in by; its fields are those of the item. */
  children(index: number): ComponentChildren;
}

export function OrderedList({ at, one, make, onLook, children }: OrderedListProps) {
  const { schema, filled, used, path, value, change } = usePlace(at);
  const { minItems = 0, maxItems = Number.POSITIVE_INFINITY } = schemaAt(schema, path);
  const rows = useRef<HTMLOListElement>(null);
  const adding = useRef<HTMLButtonElement>(null);
  const [said, setSaid] = useState('');
  const list = listAt(value, []);
  const called = one.toLowerCase();
  const focusIn = (index: number, selector: string): void => {
    requestAnimationFrame(() => {
      const row = rows.current?.children[index];
      const wanted = row?.querySelector<HTMLElement>(selector) ?? row?.querySelector<HTMLElement>(ANY_BUTTON);
      wanted?.focus();
    });
  };
  const move = (from: number, to: number, button: IconName): void => {
    change(moved(list, from, to));
    setSaid(`${one} ${from + 1} is now ${called} ${to + 1}`);
    focusIn(to, `:scope > .item-head [data-name="${button}"]:not(:disabled)`);
  };
  const remove = (index: number): void => {
    const left = list.filter((_, other) => other !== index);
    change(left);
    setSaid(`${one} ${index + 1} is removed, ${left.length} left`);
    if (left.length > 0) focusIn(Math.min(index, left.length - 1), ANY_BUTTON);
    else requestAnimationFrame(() => adding.current?.focus());
  };
  const add = (): void => {
    const name = textsName(filled, path);
    change([...list, make((prefix) => freeId(prefix, list.length + 1, (id) => used.has(`${name}.${id}`)))]);
    focusIn(list.length, 'input, textarea, select');
  };
  const buttonsOf = (index: number): { icon: IconName; says: string; isOff: boolean; act(): void }[] => [
    { icon: 'up', says: 'Move # up', isOff: index === 0, act: () => move(index, index - 1, 'up') },
    { icon: 'down', says: 'Move # down', isOff: index === list.length - 1, act: () => move(index, index + 1, 'down') },
    { icon: 'close', says: 'Remove #', isOff: list.length <= minItems, act: () => remove(index) },
  ];
  return (
    <div class="stack-small">
      <ol class="items" aria-label={`${one}s`} ref={rows}>
        {list.map((_, index) => (
          <li class="item" key={index} aria-label={`${one} ${index + 1}`} onFocusIn={() => onLook?.(index)}>
            <div class="item-head">
              <span class="strong">
                {one} {index + 1}
              </span>
              {buttonsOf(index).map(({ icon, says, isOff, act }) => (
                <IconButton
                  key={icon}
                  icon={icon}
                  label={says.replace('#', `${called} ${index + 1}`)}
                  disabled={isOff}
                  onClick={act}
                />
              ))}
            </div>
            <ItemContext.Provider value={[...path, index]}>{children(index)}</ItemContext.Provider>
          </li>
        ))}
      </ol>
      <p class="hidden" role="status">
        {said}
      </p>
      <ProblemAt at={at} />
      {list.length < maxItems && (
        <button type="button" class="button small" ref={adding} onClick={add}>
          <Icon name="plus" /> Add {/^[aeiou]/i.test(one) ? 'an' : 'a'} {called}
        </button>
      )}
    </div>
  );
}

const ANY_BUTTON = 'button:not(:disabled)';
