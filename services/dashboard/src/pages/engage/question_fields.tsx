import type { VNode } from 'preact';
import { NextFields } from './branch_fields.tsx';
import { type Path, textAt } from './definition_json.ts';
import { OrderedList } from './ordered_list.tsx';
import { CheckAt, NumberAt, ProblemAt, SelectAt, TextAt, useDefinition } from './path_fields.tsx';

const KINDS = [
  { value: 'open', label: 'Text of their own' },
  { value: 'rating', label: 'Rating' },
  { value: 'single', label: 'One of several answers' },
  { value: 'multiple', label: 'Any of several answers' },
  { value: 'link', label: 'Link to follow' },
];
const SCALES = [
  { value: 2, label: '1 to 2' },
  { value: 3, label: '1 to 3' },
  { value: 5, label: '1 to 5' },
  { value: 7, label: '1 to 7' },
  { value: 10, label: '1 to 10' },
  { value: 11, label: '0 to 10 (net promoter score)' },
];
const DISPLAYS = [
  { value: 'number', label: 'Numbers' },
  { value: 'emoji', label: 'Faces' },
  { value: 'star', label: 'Stars' },
];

const QUESTIONS_MAX = 20;
const CHOICES_MAX = 30;

/** A question that is still to be written. */
const newQuestion = (free: (prefix: string) => string): object => ({ id: free('q'), type: 'open', text: '' });
const newChoice = (free: (prefix: string) => string): object => ({ id: free('c'), label: '' });

/** The questions of a survey. @param onLook Told which one is worked on. */
export function Questions({ onLook }: { onLook(index: number): void }): VNode {
  return (
    <OrderedList
      {...{ at: ['questions'], one: 'Question', label: 'Questions', min: 1, max: QUESTIONS_MAX }}
      make={newQuestion}
      onLook={onLook}
    >
      {(at, index) => <Question at={at} index={index} />}
    </OrderedList>
  );
}

function Question({ at, index }: { at: Path; index: number }): VNode {
  const { filled } = useDefinition();
  const type = textAt(filled, [...at, 'type']);
  const hasChoices = type === 'single' || type === 'multiple';
  return (
    <div class="stack-small">
      <TextAt at={[...at, 'text']} label="Question" lines={2} />
      <div class="form-row">
        <SelectAt at={[...at, 'type']} label="Kind of answer" options={KINDS} />
        {type === 'rating' && <SelectAt at={[...at, 'scale']} label="Steps" options={SCALES} />}
        {type === 'rating' && <SelectAt at={[...at, 'display']} label="Shown as" options={DISPLAYS} />}
      </div>
      {type === 'rating' && (
        <div class="form-row">
          <TextAt at={[...at, 'low_label']} label="Lowest step (optional)" placeholder="Not likely" />
          <TextAt at={[...at, 'high_label']} label="Highest step (optional)" placeholder="Very likely" />
        </div>
      )}
      {type === 'link' && (
        <TextAt at={[...at, 'url']} label="Where it leads" placeholder="https://shop.example/review" />
      )}
      {type === 'open' && <NumberAt at={[...at, 'max_length']} label="Characters at most" />}
      {hasChoices && <Choices at={[...at, 'choices']} one="Answer" />}
      <CheckAt at={[...at, 'required']} label="Must be answered" />
      <details>
        <summary>More of question {index + 1}</summary>
        <div class="stack-small">
          <TextAt at={[...at, 'description']} label="More about it (optional)" lines={2} />
          <TextAt at={[...at, 'button']} label="What the button says (optional)" placeholder="Next" />
          {hasChoices && <CheckAt at={[...at, 'open_choice']} label="Visitors may write an answer of their own" />}
          {hasChoices && <CheckAt at={[...at, 'shuffle']} label="In random order" />}
          <NextFields at={at} index={index} />
          <TextAt at={[...at, 'id']} label="Id" hint="Names it in events and results: another id begins new results." />
        </div>
      </details>
      <ProblemAt at={at} />
    </div>
  );
}

interface ChoicesProps {
  at: Path;
  one: string;
  max?: number;
}

/** What may be chosen: what visitors read, and the id that is sent. */
export function Choices({ at, one, max = CHOICES_MAX }: ChoicesProps): VNode {
  return (
    <OrderedList at={at} one={one} label={`${one}s`} min={0} max={max} make={newChoice}>
      {(choice, index) => (
        <div class="form-row">
          <TextAt at={[...choice, 'label']} label={`${one} ${index + 1}`} />
          <TextAt at={[...choice, 'id']} label="Id" />
        </div>
      )}
    </OrderedList>
  );
}
