import type { VNode } from 'preact';
import { useRef, useState } from 'preact/hooks';
import type { ApiError } from '../../api/request.ts';
import type { PageProps } from '../../page_spec.ts';
import { readPeriod } from '../../period.ts';
import { oneOf } from '../../questions/conditions.ts';
import { AddFilter, EventPicker, FieldPicker, FilterList, SpanField } from '../../questions/filter_fields.tsx';
import { queryFromAddress, setQueryInAddress } from '../../questions/query_address.ts';
import { problemsAt, QuestionResult, useQuestion } from '../../questions/question_result.tsx';
import { SiteNamesContext, useSiteNames } from '../../questions/site_names.ts';
import { currentLocation } from '../../router.ts';
import { Button } from '../../ui/button.tsx';
import { Problem, SelectField } from '../../ui/form_fields.tsx';
import { Icon, IconButton } from '../../ui/icon.tsx';
import { Panel } from '../../ui/panel.tsx';
import {
  ATTRIBUTIONS,
  COUNTED,
  EXCLUSIONS_MAX,
  type ExclusionDraft,
  type FunnelDraft,
  movedStep,
  ORDERS,
  readFunnel,
  STEPS_MAX,
  STEPS_MIN,
  type StepDraft,
  withoutMisplaced,
} from './funnel_draft.ts';
import { FunnelView } from './funnel_view.tsx';

/** Builds a funnel and shows who gets how far. */
export default function FunnelsPage({ params }: PageProps): VNode {
  const siteId = params['site'] ?? '';
  const period = readPeriod(currentLocation.value.query, Date.now());
  const draft = readFunnel(queryFromAddress());
  const asked = useQuestion(siteId, 'funnel', draft, period);
  const names = useSiteNames(siteId);
  const change = (changed: FunnelDraft): void => setQueryInAddress(withoutMisplaced(changed));
  const shared = { draft, failure: asked.failure, onDraft: change };
  return (
    <SiteNamesContext value={names}>
      <div class="stack">
        <Panel title="Steps">
          <StepsBuilder
            steps={draft.steps}
            mayBeOptional={draft.order !== 'any'}
            failure={asked.failure}
            onSteps={(steps) => change({ ...draft, steps })}
          />
          <Exclusions {...shared} />
          <FunnelOptions {...shared} />
        </Panel>
        <QuestionResult siteId={siteId} name="funnel" asked={asked} lines={8}>
          {({ query, answer }, onPart) => <FunnelView query={query} answer={answer} onPart={onPart} />}
        </QuestionResult>
      </div>
    </SiteNamesContext>
  );
}

interface StepsBuilderProps {
  steps: readonly StepDraft[];
  /** Whether steps may be left out, which those without an order may not. */
  mayBeOptional: boolean;
  failure: ApiError | null;
  onSteps(steps: StepDraft[]): void;
}

/** The steps of a funnel: add, remove, filter, and move them by buttons, by Alt with the arrow keys, or by dragging. */
function StepsBuilder({ steps, mayBeOptional, failure, onSteps }: StepsBuilderProps): VNode {
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
      <Problem text={problem} />
    </div>
  );
}

interface FunnelOptionsProps {
  draft: FunnelDraft;
  failure: ApiError | null;
  onDraft(draft: FunnelDraft): void;
}

const ORDER_LABELS = { ordered: 'In this order', strict: 'Strict order', any: 'In any order' };
const COUNTED_LABELS = { person: 'People', session: 'Sessions' };
const AT_LABELS = {
  first_step: 'At the first step',
  step: 'At step …',
  first_touch: 'First touch',
  last_touch: 'Last touch',
};
const AT_HINTS = {
  first_step: 'The value of the first event; of several such events, the latest that led to conversion.',
  step: 'The value of the event of this step; none where it was not reached.',
  first_touch: 'The first value of any event, up to the last step reached.',
  last_touch: 'The last value of any event, up to the last step reached.',
};

/** How a funnel counts: within which time, in which order, what, and by what it is broken down. */
function FunnelOptions({ draft, failure, onDraft }: FunnelOptionsProps): VNode {
  const { breakdown } = draft;
  return (
    <div class="options">
      <SpanField
        label="Conversion window"
        ms={draft.window_ms}
        problem={problemsAt(failure, 'window_ms')}
        onMs={(window_ms) => onDraft({ ...draft, window_ms })}
      />
      <SelectField
        label="Step order"
        value={draft.order ?? 'ordered'}
        options={ORDERS.map((value) => ({ value, label: ORDER_LABELS[value] }))}
        onValue={(order) => onDraft({ ...draft, order: oneOf(order, ORDERS) })}
      />
      <SelectField
        label="Count by"
        value={draft.count_by ?? 'person'}
        options={COUNTED.map((value) => ({ value, label: COUNTED_LABELS[value] }))}
        onValue={(counted) => onDraft({ ...draft, count_by: oneOf(counted, COUNTED) })}
      />
      <FieldPicker
        label="Break down by"
        none="None"
        field={breakdown?.field ?? null}
        onField={(field) => {
          const { breakdown: _before, ...rest } = draft;
          onDraft(field === null ? rest : { ...rest, breakdown: { at: ATTRIBUTIONS[0], ...breakdown, field } });
        }}
      />
      {breakdown !== undefined && (
        <SelectField
          label="Attribution"
          hint={AT_HINTS[breakdown.at]}
          value={breakdown.at}
          options={ATTRIBUTIONS.map((value) => ({ value, label: AT_LABELS[value] }))}
          problem={problemsAt(failure, 'breakdown')}
          onValue={(at) => onDraft({ ...draft, breakdown: { ...breakdown, at: oneOf(at, ATTRIBUTIONS) } })}
        />
      )}
      {breakdown?.at === 'step' && (
        <StepChoice
          label="Step"
          from={1}
          to={draft.steps.length}
          value={breakdown.step ?? 1}
          onStep={(step) => onDraft({ ...draft, breakdown: { ...breakdown, step } })}
        />
      )}
    </div>
  );
}

interface StepChoiceProps {
  label: string;
  from: number;
  to: number;
  value: number;
  onStep(step: number): void;
}

function StepChoice({ label, from, to, value, onStep }: StepChoiceProps): VNode {
  const steps = Array.from({ length: Math.max(0, to - from + 1) }, (_, at) => String(from + at));
  return (
    <SelectField
      label={label}
      value={String(value)}
      options={steps.map((step) => ({ value: step, label: step }))}
      onValue={(step) => onStep(Number(step))}
    />
  );
}

/** Events that end a way between two steps. */
function Exclusions({ draft, failure, onDraft }: FunnelOptionsProps): VNode {
  const { exclusions = [], steps } = draft;
  const change = (changed: ExclusionDraft[]): void => onDraft({ ...draft, exclusions: changed });
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
        {exclusions.length < EXCLUSIONS_MAX && (
          <Button kind="small quiet" icon="plus" label="Exclude an event" onClick={() => change([...exclusions, {}])} />
        )}
        <AddFilter what="All steps" filters={draft.filters} onFilters={(filters) => onDraft({ ...draft, filters })} />
      </div>
      <FilterList what="All steps" filters={draft.filters} onFilters={(filters) => onDraft({ ...draft, filters })} />
    </div>
  );
}

interface ExclusionRowProps {
  exclusion: ExclusionDraft;
  number: number;
  /** How many steps there are; null: they have no order. */
  steps: number | null;
  problem: string;
  /** Null takes it away. */
  onExclusion(exclusion: ExclusionDraft | null): void;
}

function ExclusionRow({ exclusion, number, steps, problem, onExclusion }: ExclusionRowProps): VNode {
  const what = `Exclusion ${number}`;
  const { after_step = 1, before_step = steps ?? 2, ends = 'way' } = exclusion;
  return (
    <fieldset class="exclusion">
      <legend class="muted small">Exclude</legend>
      <EventPicker what={what} events={exclusion.events} onEvents={(events) => onExclusion({ ...exclusion, events })} />
      {steps !== null && (
        <>
          <StepChoice
            label="After step"
            from={1}
            to={before_step - 1}
            value={after_step}
            onStep={(step) => onExclusion({ ...exclusion, after_step: step })}
          />
          <StepChoice
            label="Before step"
            from={after_step + 1}
            to={steps}
            value={before_step}
            onStep={(step) => onExclusion({ ...exclusion, before_step: step })}
          />
        </>
      )}
      <SelectField
        label="Excludes"
        value={ends}
        options={[
          { value: 'way', label: 'this attempt' },
          { value: 'actor', label: 'the whole person' },
        ]}
        onValue={(value) => onExclusion({ ...exclusion, ends: value === 'actor' ? 'actor' : 'way' })}
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
