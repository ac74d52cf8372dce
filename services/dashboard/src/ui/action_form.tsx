import type { ComponentChildren, VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { ApiError, ApiResult } from '../api/request.ts';
import { useMutation } from '../api/use_answer.ts';
import { isSame } from '../editing/differences.ts';
import { Button, type ButtonKind } from './button.tsx';
import { Confirm, Dialog, toast } from './dialog.tsx';
import { FormActions, problemOf, submitHandler } from './form_fields.tsx';
import { FailureNote } from './panel.tsx';

type NamesOf<Draft, Value> = { [Name in keyof Draft]: Draft[Name] extends Value ? Name & string : never }[keyof Draft];

/** What fields of texts need of a form, by their names in it and, where that is another one, in the body that is sent. */
export const textFields =
  <Draft extends object>(draft: Draft, edit: (change: Partial<Draft>) => void, failure: ApiError | null = null) =>
  (name: NamesOf<Draft, string>, inBody: string = name) => ({
    value: draft[name] as string,
    onValue: (value: string) => edit({ [name]: value } as Partial<Draft>),
    problem: problemOf(failure, inBody),
  });

/** What a form holds that begins with some values. */
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

interface ActionFormProps<Value> {
  /** What the button says that sends it. */
  action: string;
  kind?: ButtonKind;
  class?: string;
  /** Whether what must be given is there. */
  isReady?: boolean;
  run(): Promise<ApiResult<Value>>;
  onDone(value: Value): unknown;
  /** Leaves it; without it there is no button for that. */
  onClose?: () => void;
  children: (failure: ApiError | null) => ComponentChildren;
}

/** A form that asks the service for something, and says why that was refused. */
export function ActionForm<Value>({
  run,
  onDone,
  isReady = true,
  class: looks = 'stack',
  children,
  ...actions
}: ActionFormProps<Value>): VNode {
  const { isBusy, failure, run: send } = useMutation();
  return (
    <form class={looks} onSubmit={submitHandler(() => send(run, onDone))}>
      {children(failure)}
      <FailureNote failure={failure} />
      <FormActions {...actions} disabled={isBusy || !isReady} />
    </form>
  );
}

interface CreateDialogProps<Value> extends Omit<ActionFormProps<Value>, 'onDone'> {
  title: string;
  isChanged: boolean;
  onMade(): void;
  onClose(): void;
  /** The dialog that shows what was made, this once. */
  issued(value: Value): VNode;
}

/** Makes something with a secret, and then shows that. */
export function CreateDialog<Value>({ title, isChanged, onMade, issued, ...form }: CreateDialogProps<Value>): VNode {
  const [made, setMade] = useState<{ value: Value } | null>(null);
  if (made !== null) return issued(made.value);
  const onDone = (value: Value): void => {
    setMade({ value });
    onMade();
  };
  return (
    <Dialog title={title} isChanged={isChanged} onClose={form.onClose}>
      <ActionForm {...form} onDone={onDone} />
    </Dialog>
  );
}

interface ConfirmActionProps {
  title: string;
  action: string;
  run(): Promise<ApiResult<unknown>>;
  /** What is told when it is done. */
  said?: string;
  onDone(): void;
  onClose(): void;
  /** What becomes of it. */
  children: ComponentChildren;
}

/** Asks whether something shall be taken away, and does it. */
export function ConfirmAction({ run, said, onDone, children, ...confirm }: ConfirmActionProps): VNode {
  const { isBusy, failure, run: send } = useMutation();
  const done = (): void => {
    if (said !== undefined) toast(said);
    onDone();
    confirm.onClose();
  };
  return (
    <Confirm {...confirm} isDangerous isBusy={isBusy} onConfirm={() => send(run, done)}>
      <p>{children}</p>
      <FailureNote failure={failure} />
    </Confirm>
  );
}

interface ConfirmButtonProps extends Omit<ConfirmActionProps, 'onClose'> {
  label?: string;
  kind?: ButtonKind;
}

/** A button that does something after asking. */
export function ConfirmButton({ label, kind = 'danger', ...asked }: ConfirmButtonProps): VNode {
  const [asks, setAsks] = useState(false);
  return (
    <>
      <Button kind={kind} label={label ?? asked.action} onClick={() => setAsks(true)} />
      {asks && <ConfirmAction {...asked} onClose={() => setAsks(false)} />}
    </>
  );
}
