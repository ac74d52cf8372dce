import type { ComponentChildren, VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { ApiResult } from '../api/request.ts';
import { useMutation } from '../api/use_answer.ts';
import { Button, type ButtonKind } from './button.tsx';
import { Confirm, Dialog, toast } from './dialog.tsx';
import { ActionForm, type ActionFormProps } from './form_fields.tsx';
import { FailureNote } from './panel.tsx';

interface CreateDialogProps<Value> extends Omit<ActionFormProps<Value>, 'onDone'> {
  title: string;
  isChanged: boolean;
  onMade(): void;
  onClose(): void;
  issued(value: Value): VNode;
}

export function CreateDialog<Value>({ title, isChanged, onMade, issued, ...form }: CreateDialogProps<Value>) {
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
  said?: string;
  onDone(): void;
  onClose(): void;
  children: ComponentChildren;
}

export function ConfirmAction({ run, said, onDone, children, ...confirm }: ConfirmActionProps) {
  const { isBusy, failure, run: send } = useMutation();
  const done = (): void => {
    if (said !== undefined) toast(said);
    onDone();
    confirm.onClose();
  };
  return (
    <Confirm {...confirm} isBusy={isBusy} onConfirm={() => send(run, done)}>
      <p>{children}</p>
      <FailureNote failure={failure} />
    </Confirm>
  );
}

type ConfirmButtonProps = Omit<ConfirmActionProps, 'onClose'> & { kind?: ButtonKind };

export function ConfirmButton({ kind = 'danger', ...asked }: ConfirmButtonProps) {
  const [asks, setAsks] = useState(false);
  return (
    <>
      <Button kind={kind} label={asked.action} onClick={() => setAsks(true)} />
      {asks && <ConfirmAction {...asked} onClose={() => setAsks(false)} />}
    </>
  );
}
