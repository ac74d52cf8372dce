import type { VNode } from 'preact';
import { useRef, useState } from 'preact/hooks';
import type { Failure } from '../../api/api_answer.ts';
import { AddFilter, FilterList } from '../../questions/filter_list.tsx';
import { EventPicker } from '../../questions/pickers.tsx';
import { problemsAt } from '../../questions/use_question.ts';
import { Icon } from '../../ui/icon.tsx';
import { IconButton } from '../../ui/icon_button.tsx';
import { movedStep, STEPS_MAX, STEPS_MIN, type StepDraft } from './funnel_draft.ts';

interface StepsBuilderProps {
  steps: readonly StepDraft[];
  /** Whether steps may be left out, which those without an order may not. */
  mayBeOptional: boolean;
  failure: Failure | null;
  onSteps(steps: StepDraft[]): void;
}

/** The steps of a funnel: add, remove, filter, and move them by buttons, by Alt with the arrow keys, or by dragging. */
export function StepsBuilder({ steps, mayBeOptional, failure, onSteps }: StepsBuilderProps): VNode {
  const list = useRef<HTMLOListElement>(null);
  const [dragged, setDragged] = useState<number | null>(null);
  const [target, setTarget] = useState<number | null>(null);
  const [said, setSaid] = useState('');
  const move = (from: number, to: number): void => {
    if (from === to || to < 0 || to >= steps.length) return;
    onSteps(movedStep(steps, from, to));
    setSaid(`Step ${from + 1} is now step ${to + 1}`);
  };
  /** Moves a step and keeps the focus on it, at the button of the same name where that can be pressed. */
  const moveFocused = (from: number, to: number, name: string): void => {
    move(from, to);
    requestAnimationFrame(() => {
      const row = list.current?.children[to];
      const same = row?.querySelector<HTMLButtonElement>(`[data-name="${name}"]:not(:disabled)`);
      (same ?? row?.querySelector<HTMLElement>('button:not(:disabled)'))?.focus();
    });
  };
  const onEnd = (): void => {
    if (dragged !== null && target !== null) move(dragged, target);
    setDragged(null);
    setTarget(null);
  };
  const dropClass = (at: number): string => {
    if (dragged === null || at !== target || at === dragged) return '';
    return at < dragged ? 'step-before' : 'step-after';
  };
  return (
    <div>
      <ol class="steps" aria-label="Steps" ref={list}>
        {steps.map((step, at) => (
          <MovableStep
            key={at}
            at={at}
            last={steps.length - 1}
            dropClass={dropClass(at)}
            drag={{ onStart: () => setDragged(at), onOver: dragged === null ? null : () => setTarget(at), onEnd }}
            onMove={(to, name) => moveFocused(at, to, name)}
            onRemove={() => onSteps(steps.filter((_, index) => index !== at))}
          >
            <StepRow
              step={step}
              number={at + 1}
              mayBeOptional={mayBeOptional && at > 0 && at < steps.length - 1}
              problem={problemsAt(failure, `steps[${at}]`)}
              onStep={(changed) => onSteps(steps.map((one, index) => (index === at ? changed : one)))}
            />
          </MovableStep>
        ))}
      </ol>
      <p class="hidden" role="status">
        {said}
      </p>
      {steps.length < STEPS_MAX && (
        <button type="button" class="button small" onClick={() => onSteps([...steps, {}])}>
          <Icon name="plus" /> Add a step
        </button>
      )}
    </div>
  );
}

interface MovableStepProps {
  at: number;
  last: number;
  dropClass: string;
  drag: { onStart(): void; onOver: (() => void) | null; onEnd(): void };
  onMove(to: number, button: 'up' | 'down'): void;
  onRemove(): void;
  children: VNode;
}

function MovableStep({ at, last, dropClass, drag, onMove, onRemove, children }: MovableStepProps): VNode {
  return (
    <li
      class={`step ${dropClass}`}
      aria-label={`Step ${at + 1}`}
      onDragOver={(event) => {
        if (drag.onOver === null) return;
        event.preventDefault();
        drag.onOver();
      }}
      onDrop={(event) => event.preventDefault()}
      onKeyDown={(event) => {
        if (!event.altKey || (event.key !== 'ArrowUp' && event.key !== 'ArrowDown')) return;
        event.preventDefault();
        if (event.key === 'ArrowUp') onMove(at - 1, 'up');
        else onMove(at + 1, 'down');
      }}
    >
      <Grip onStart={drag.onStart} onEnd={drag.onEnd} />
      {children}
      <span class="step-buttons">
        <IconButton
          icon="up"
          label={`Move step ${at + 1} up`}
          disabled={at === 0}
          onClick={() => onMove(at - 1, 'up')}
        />
        <IconButton
          icon="down"
          label={`Move step ${at + 1} down`}
          disabled={at === last}
          onClick={() => onMove(at + 1, 'down')}
        />
        <IconButton icon="close" label={`Remove step ${at + 1}`} disabled={last < STEPS_MIN} onClick={onRemove} />
      </span>
    </li>
  );
}

/** What the pointer drags a step by; the buttons and keys do the same. */
function Grip({ onStart, onEnd }: { onStart: () => void; onEnd: () => void }): VNode {
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the buttons beside it do the same by keyboard.
    <span
      class="grip"
      title="Drag to move"
      draggable
      onDragStart={(event) => {
        event.dataTransfer?.setData('text/plain', '');
        onStart();
      }}
      onDragEnd={onEnd}
    >
      <Icon name="grip" />
    </span>
  );
}

interface StepRowProps {
  step: StepDraft;
  number: number;
  mayBeOptional: boolean;
  problem: string;
  onStep(step: StepDraft): void;
}

function StepRow({ step, number, mayBeOptional, problem, onStep }: StepRowProps): VNode {
  const what = `Step ${number}`;
  return (
    <div class="step-body">
      <div class="step-main">
        <span class="step-number" aria-hidden="true">
          {number}
        </span>
        <EventPicker what={what} events={step.events} onEvents={(events) => onStep({ ...step, events })} />
        <AddFilter what={what} filters={step.filters} onFilters={(filters) => onStep({ ...step, filters })} />
        {mayBeOptional && (
          <label class="check">
            <input
              type="checkbox"
              aria-label={`${what} is optional`}
              checked={step.optional === true}
              onChange={(event) => onStep({ ...step, optional: event.currentTarget.checked })}
            />
            Optional
          </label>
        )}
      </div>
      <FilterList
        what={what}
        filters={step.filters}
        events={step.events}
        onFilters={(filters) => onStep({ ...step, filters })}
      />
      {problem !== '' && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
    </div>
  );
}
