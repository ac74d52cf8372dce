import type { VNode } from 'preact';
import { useRef, useState } from 'preact/hooks';
import type { ApiError } from '../../api/request.ts';
import { moved } from '../../format.ts';
import type { PageProps } from '../../page_list.ts';
import { readPeriod } from '../../period.ts';
import type { FilterDraft } from '../../questions/conditions.ts';
import {
  AddFilter,
  ChoiceField,
  EventPicker,
  FieldPicker,
  FilterList,
  NumberChoice,
  SelectionFields,
  SpanField,
} from '../../questions/filter_fields.tsx';
import { queryFromAddress, setQueryInAddress } from '../../questions/query_address.ts';
import { problemsAt, QuestionPage } from '../../questions/question_result.tsx';
import { currentLocation } from '../../router.ts';
import { Button, Icon, IconButton } from '../../ui/button.tsx';
import { type DraftProps, Problem } from '../../ui/form_fields.tsx';
import * as funnel from './funnel_view.tsx';
import { FunnelView } from './funnel_view.tsx';

export default function FunnelsPage({ params }: PageProps) {
  const draft = funnel.readFunnel(queryFromAddress());
  const change = (changed: funnel.FunnelDraft): void => setQueryInAddress(funnel.withoutMisplaced(changed));
  return (
    <QuestionPage
      siteId={params['site'] ?? ''}
      name="funnel"
      period={readPeriod(currentLocation.value.query, Date.now())}
      question={draft}
      title="Steps"
      lines={8}
      fields={(failure) => (
        <>
          <StepsBuilder
            steps={draft.steps}
            mayBeOptional={draft.order !== 'any'}
            failure={failure}
            onSteps={(steps) => change({ ...draft, steps })}
          />
          <Exclusions draft={draft} failure={failure} onDraft={change} />
          <FunnelOptions draft={draft} failure={failure} onDraft={change} />
        </>
      )}
      table={funnel.funnelTable}
    >
      {({ query, answer }, onPart) => <FunnelView query={query} answer={answer} onPart={onPart} />}
    </QuestionPage>
  );
}

interface StepsBuilderProps {
  steps: readonly funnel.StepDraft[];
  /** Whether steps may be left out, which those without an order may not. */
  mayBeOptional: boolean;
  failure: ApiError | null;
  onSteps(steps: funnel.StepDraft[]): void;
}

function StepsBuilder({ steps, mayBeOptional, failure, onSteps }: StepsBuilderProps) {
  const list = useRef<HTMLOListElement>(null);
  const [dragged, setDragged] = useState<number | null>(null);
  const [target, setTarget] = useState<number | null>(null);
  const [said, setSaid] = useState('');
  const move = (from: number, to: number): void => {
    if (from === to || to < 0 || to >= steps.length) return;
    onSteps(moved(steps, from, to));
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
      {steps.length < funnel.STEPS_MAX && (
        <Button kind="small" icon="plus" label="Add a step" onClick={() => onSteps([...steps, {}])} />
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

const MovableStep = ({ at, last, dropClass, drag, onMove, onRemove, children }: MovableStepProps) => (
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
      <IconButton icon="up" label={`Move step ${at + 1} up`} disabled={at === 0} onClick={() => onMove(at - 1, 'up')} />
      <IconButton
        icon="down"
        label={`Move step ${at + 1} down`}
        disabled={at === last}
        onClick={() => onMove(at + 1, 'down')}
      />
      <IconButton icon="close" label={`Remove step ${at + 1}`} disabled={last < funnel.STEPS_MIN} onClick={onRemove} />
    </span>
  </li>
);

const Grip = ({ onStart, onEnd }: { onStart: () => void; onEnd: () => void }) => (
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

interface StepRowProps {
  step: funnel.StepDraft;
  number: number;
  mayBeOptional: boolean;
  problem: string;
  onStep(step: funnel.StepDraft): void;
}

function StepRow({ step, number, mayBeOptional, problem, onStep }: StepRowProps) {
  const what = `Step ${number}`;
  return (
    <SelectionFields
      what={what}
      selection={step}
      problem={problem}
      onSelection={onStep}
      before={
        <span class="step-number" aria-hidden="true">
          {number}
        </span>
      }
      after={
        mayBeOptional && (
          <label class="check">
            <input
              type="checkbox"
              aria-label={`${what} is optional`}
              checked={step.optional === true}
              onChange={(event) => onStep({ ...step, optional: event.currentTarget.checked })}
            />
            Optional
          </label>
        )
      }
    />
  );
}

const AT_HINTS = {
  first_step: 'The value of the first event; of several such events, the latest that led to conversion.',
  step: 'The value of the event of this step; none where it was not reached.',
  first_touch: 'The first value of any event, up to the last step reached.',
  last_touch: 'The last value of any event, up to the last step reached.',
};

function FunnelOptions({ draft, failure, onDraft }: DraftProps<funnel.FunnelDraft>) {
  const { breakdown } = draft;
  return (
    <div class="options">
      <SpanField
        label="Conversion window"
        ms={draft.window_ms}
        problem={problemsAt(failure, 'window_ms')}
        onMs={(window_ms) => onDraft({ ...draft, window_ms })}
      />
      <ChoiceField
        label="Step order"
        value={draft.order ?? 'ordered'}
        labels={funnel.ORDERS}
        onChoice={(order) => onDraft({ ...draft, order })}
      />
      <ChoiceField
        label="Count by"
        value={draft.count_by ?? 'person'}
        labels={funnel.COUNTED}
        onChoice={(count_by) => onDraft({ ...draft, count_by })}
      />
      <FieldPicker
        label="Break down by"
        none="None"
        field={breakdown?.field ?? null}
        onField={(field) =>
          onDraft({ ...draft, breakdown: field === null ? undefined : { at: 'first_touch', ...breakdown, field } })
        }
      />
      {breakdown !== undefined && (
        <ChoiceField
          label="Attribution"
          hint={AT_HINTS[breakdown.at]}
          value={breakdown.at}
          labels={funnel.ATTRIBUTIONS}
          problem={problemsAt(failure, 'breakdown')}
          onChoice={(at) => onDraft({ ...draft, breakdown: { ...breakdown, at } })}
        />
      )}
      {breakdown?.at === 'step' && (
        <NumberChoice
          label="Step"
          to={draft.steps.length}
          value={breakdown.step ?? 1}
          onNumber={(step) => onDraft({ ...draft, breakdown: { ...breakdown, step } })}
        />
      )}
    </div>
  );
}

function Exclusions({ draft, failure, onDraft }: DraftProps<funnel.FunnelDraft>) {
  const { exclusions = [], steps } = draft;
  const change = (changed: funnel.ExclusionDraft[]): void => onDraft({ ...draft, exclusions: changed });
  const filtered = {
    ...{ what: 'All steps', filters: draft.filters },
    onFilters: (filters: FilterDraft[]) => onDraft({ ...draft, filters }),
  };
  return (
    <div class="stack-small">
      {exclusions.map((exclusion, at) => (
        <ExclusionRow
          key={at}
          exclusion={exclusion}
          number={at + 1}
          steps={draft.order === 'any' ? null : steps.length}
          problem={problemsAt(failure, `exclusions[${at}]`)}
          onExclusion={(changed) =>
            change(exclusions.flatMap((one, index) => (index !== at ? [one] : changed === null ? [] : [changed])))
          }
        />
      ))}
      <div class="row">
        {exclusions.length < funnel.EXCLUSIONS_MAX && (
          <Button kind="small quiet" icon="plus" label="Exclude an event" onClick={() => change([...exclusions, {}])} />
        )}
        <AddFilter {...filtered} />
      </div>
      <FilterList {...filtered} />
    </div>
  );
}

interface ExclusionRowProps {
  exclusion: funnel.ExclusionDraft;
  number: number;
  /** How many steps there are; null: they have no order. */
  steps: number | null;
  problem: string;
  /** Null takes it away. */
  onExclusion(exclusion: funnel.ExclusionDraft | null): void;
}

function ExclusionRow({ exclusion, number, steps, problem, onExclusion }: ExclusionRowProps) {
  const what = `Exclusion ${number}`;
  const { after_step = 1, before_step = steps ?? 2, ends = 'way' } = exclusion;
  return (
    <fieldset class="row exclusion">
      <legend class="muted small">Exclude</legend>
      <EventPicker what={what} events={exclusion.events} onEvents={(events) => onExclusion({ ...exclusion, events })} />
      {steps !== null && (
        <>
          <NumberChoice
            label="After step"
            to={before_step - 1}
            value={after_step}
            onNumber={(step) => onExclusion({ ...exclusion, after_step: step })}
          />
          <NumberChoice
            label="Before step"
            from={after_step + 1}
            to={steps}
            value={before_step}
            onNumber={(step) => onExclusion({ ...exclusion, before_step: step })}
          />
        </>
      )}
      <ChoiceField
        label="Excludes"
        value={ends}
        labels={funnel.ENDS}
        onChoice={(chosen) => onExclusion({ ...exclusion, ends: chosen })}
      />
      <IconButton icon="close" label={`Remove ${what.toLowerCase()}`} onClick={() => onExclusion(null)} />
      <FilterList
        what={what}
        filters={exclusion.filters}
        events={exclusion.events}
        onFilters={(filters) => onExclusion({ ...exclusion, filters })}
      />
      <Problem text={problem} />
    </fieldset>
  );
}
