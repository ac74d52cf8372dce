import type { ComponentChildren, VNode } from 'preact';
import { useId, useState } from 'preact/hooks';
import type { ApiError, ApiResult } from '../api/request.ts';
import { useMutation } from '../api/use_answer.ts';
import { isSame } from '../format.ts';
import { Button, type ButtonKind } from './button.tsx';
import { FailureNote } from './panel.tsx';

/** What a refusal says of one field, by the field's name in the body that was sent; empty where it says nothing. */
export function problemOf(failure: ApiError | null, field: string): string {
  const about = failure?.problems.filter((one) => one.field === field || one.field.startsWith(`${field}[`)) ?? [];
  return about.map(({ message }) => message).join(' ');
}

/** What a form does in place of being sent by the browser. */
export const submitHandler =
  (act: () => unknown) =>
  (event: Event): void => {
    event.preventDefault();
    act();
  };

export function Problem({ text }: { text: string }) {
  if (text === '') return null;
  return (
    <p class="problem" role="alert">
      {text}
    </p>
  );
}

export interface DraftProps<Draft> {
  draft: Draft;
  failure: ApiError | null;
  onDraft(draft: Draft): void;
}

interface FieldProps {
  label: string;
  /** Says more than the label, below the field. */
  hint?: ComponentChildren;
  problem?: string;
}

interface Described {
  id: string;
  'aria-describedby'?: string;
  'aria-invalid'?: 'true';
}

/** A label, a field that it draws by `children`, its hint and what is wrong with it, told to those who listen. */
export function LabelledField(props: FieldProps & { children: (described: Described) => VNode }) {
  const { label, hint, problem = '', children } = props;
  const id = useId();
  const about = [...(hint === undefined ? [] : [`${id}h`]), ...(problem === '' ? [] : [`${id}p`])];
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({
        id,
        ...(about.length > 0 && { 'aria-describedby': about.join(' ') }),
        ...(problem !== '' && { 'aria-invalid': 'true' as const }),
      })}
      {hint !== undefined && (
        <p class="hint" id={`${id}h`}>
          {hint}
        </p>
      )}
      {problem !== '' && (
        <p class="problem" id={`${id}p`} role="alert">
          {problem}
        </p>
      )}
    </div>
  );
}

interface TextFieldProps extends FieldProps {
  value: string;
  onValue(value: string): void;
  type?: 'text' | 'password' | 'email' | 'url' | 'search' | 'number' | 'date' | 'datetime-local';
  name?: string;
  autocomplete?: string;
  inputMode?: 'numeric' | 'decimal';
  required?: boolean;
  placeholder?: string;
  /** More than one: a field of several lines. */
  lines?: number;
}

export function TextField(props: TextFieldProps) {
  const { label, hint, problem, value, onValue, lines = 1, type = 'text', ...rest } = props;
  return (
    <LabelledField label={label} hint={hint} {...(problem !== undefined && { problem })}>
      {(described) =>
        lines > 1 ? (
          <textarea
            {...described}
            {...rest}
            rows={lines}
            value={value}
            onInput={(event) => onValue(event.currentTarget.value)}
          />
        ) : (
          <input
            {...described}
            {...rest}
            // The types have an overload for each type of input, and none for a choice of them.
            type={type as 'text'}
            value={value}
            onInput={(event) => onValue(event.currentTarget.value)}
          />
        )
      }
    </LabelledField>
  );
}

export const PasswordField = (props: Omit<TextFieldProps, 'label'> & { label?: string }) => (
  <TextField label="Your password" type="password" autocomplete="current-password" required {...props} />
);

interface SelectFieldProps extends FieldProps {
  value: string;
  onValue(value: string): void;
  options: readonly { value: string; label: string }[];
}

/** A field for one of a few values; where there are many a Combobox is better. */
export const SelectField = ({ label, hint, problem, value, onValue, options }: SelectFieldProps) => (
  <LabelledField label={label} hint={hint} {...(problem !== undefined && { problem })}>
    {(described) => (
      <select {...described} value={value} onChange={(event) => onValue(event.currentTarget.value)}>
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.label}
          </option>
        ))}
      </select>
    )}
  </LabelledField>
);

interface CheckFieldProps {
  label: string;
  checked: boolean;
  onChecked(checked: boolean): void;
  hint?: ComponentChildren;
}

export function CheckField({ label, checked, onChecked, hint }: CheckFieldProps) {
  const id = useId();
  return (
    <div class="field field-check">
      <input
        id={id}
        type="checkbox"
        checked={checked}
        {...(hint !== undefined && { 'aria-describedby': `${id}h` })}
        onChange={(event) => onChecked(event.currentTarget.checked)}
      />
      <label for={id}>{label}</label>
      {hint !== undefined && (
        <p class="hint" id={`${id}h`}>
          {hint}
        </p>
      )}
    </div>
  );
}

interface FormActionsProps {
  /** What the form does, as its button says it: "Add". */
  action: string;
  kind?: ButtonKind;
  disabled: boolean;
  onClose?: () => void;
}

export const FormActions = ({ action, kind = 'primary', disabled, onClose }: FormActionsProps) => (
  <div class="actions">
    {onClose !== undefined && <Button label="Cancel" onClick={onClose} />}
    <Button type="submit" kind={kind} label={action} disabled={disabled} />
  </div>
);

interface TypedText<Value> {
  text: string;
  /** Whether it is what somebody typed. */
  isTyped: boolean;
  /** Takes what was typed, and what it was read as. */
  type(text: string, read: Value): void;
  /** Shows the number as it is written again. */
  leave(): void;
}

/**
 * What the field of a number shows. What was typed stays as it is for as long as the number is the one that it was read as:
 * written anew at each key, 0.05 could not be typed, as 0.0 is 0.
 */
export function useTypedText<Value>(value: Value, written: (value: Value) => string): TypedText<Value> {
  const [typed, setTyped] = useState<{ text: string; value: Value } | null>(null);
  const isTyped = typed !== null && Object.is(typed.value, value);
  return {
    isTyped,
    text: isTyped ? typed.text : written(value),
    type: (text, read) => setTyped({ text, value: read }),
    leave: () => setTyped(null),
  };
}

type NamesOf<Draft, Value> = { [Name in keyof Draft]: Draft[Name] extends Value ? Name & string : never }[keyof Draft];

/** What fields of texts need of a form, by their names in it and, where that is another one, in the body that is sent. */
export const textFields =
  <Draft extends object>(draft: Draft, edit: (change: Partial<Draft>) => void, failure: ApiError | null = null) =>
  (name: NamesOf<Draft, string>, inBody: string = name) => ({
    value: draft[name] as string,
    onValue: (value: string) => edit({ [name]: value } as Partial<Draft>),
    problem: problemOf(failure, inBody),
  });

export function useDraft<Draft extends object>(initial: Draft | (() => Draft)) {
  const [begun] = useState(initial);
  const [draft, setDraft] = useState(begun);
  const edit = (change: Partial<Draft>): void => setDraft((now) => ({ ...now, ...change }));
  return {
    draft,
    edit,
    isChanged: !isSame(draft, begun),
    reset: () => setDraft(begun),
    field: (failure: ApiError | null) => textFields(draft, edit, failure),
  };
}

export interface ActionFormProps<Value> {
  action: string;
  kind?: ButtonKind;
  class?: string;
  /** Whether what must be given is there. */
  isReady?: boolean;
  run(): Promise<ApiResult<Value>>;
  onDone(value: Value): unknown;
  onClose?: () => void;
  children: (failure: ApiError | null) => ComponentChildren;
}

export function ActionForm<Value>(props: ActionFormProps<Value>) {
  const { run, onDone, isReady = true, class: looks = 'stack', children, ...actions } = props;
  const { isBusy, failure, run: send } = useMutation();
  return (
    <form class={looks} onSubmit={submitHandler(() => send(run, onDone))}>
      {children(failure)}
      <FailureNote failure={failure} />
      <FormActions {...actions} disabled={isBusy || !isReady} />
    </form>
  );
}
