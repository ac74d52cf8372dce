import { type ComponentChildren, createContext, type VNode } from 'preact';
import { useContext } from 'preact/hooks';
import type { FieldProblem } from '../../api/api_answer.ts';
import { useNames } from '../../questions/site_names.ts';
import { Combobox } from '../../ui/combobox.tsx';
import { CheckField, SelectField, TextField } from '../../ui/form_fields.tsx';
import { useTypedText } from '../../ui/typed_text.ts';
import { listAt, type Path, pathName, textAt, valueAt } from './definition_json.ts';
import { type Option, readMoment, readNumber, withChosen, writtenMoment } from './field_values.ts';

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
