import type { ComponentChildren, VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { ApiError, ApiResult } from '../api/request.ts';
import { useMutation } from '../api/use_answer.ts';
import { isSame } from '../format.ts';
import type { ButtonKind } from './button.tsx';
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

/** A form that asks the service for something, and says why that was refused. */
export function ActionForm<Value>(props: ActionFormProps<Value>): VNode {
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
