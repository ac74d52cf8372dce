import type { VNode } from 'preact';
import { stepsOf } from '#services/engage_panels/given_answer.ts';
import { SelectField } from '../../ui/form_fields.tsx';
import { listAt, type Path, textAt, valueAt } from './definition_json.ts';
import { OrderedList } from './ordered_list.tsx';
import { BoxesAt, ProblemAt, SelectAt, useDefinition } from './path_fields.tsx';

const ANSWERED = [
  { value: 'answered', label: 'was answered' },
  { value: 'skipped', label: 'was skipped' },
];
const CHOSEN = [{ value: 'in', label: 'was one of' }, { value: 'equals', label: 'was' }, ...ANSWERED];
const RATED = [{ value: 'at_most', label: 'was at most' }, { value: 'at_least', label: 'was at least' }, ...CHOSEN];

const RULES_MAX = 20;
/** The longest that there is; somebody may have written any. */
const SCALE_MAX = 11;

interface OfQuestion {
  /** The question. */
  at: Path;
  /** Its place. */
  index: number;
}

/** What comes after a question: by its answer, and otherwise. */
export function NextFields({ at, index }: OfQuestion): VNode {
  const { filled } = useDefinition();
  const type = textAt(filled, [...at, 'type']);
  const [first] = comparisonsOf(type);
  return (
    <fieldset class="stack-small">
      <legend class="strong">What comes next</legend>
      <OrderedList
        {...{ at: [...at, 'branches'], one: 'Rule', label: 'Rules', min: 0, max: RULES_MAX }}
        make={() => ({ is: first?.value, to: [], go_to: 'end' })}
      >
        {(rule) => <Rule at={at} index={index} rule={rule} />}
      </OrderedList>
      <SelectAt
        at={[...at, 'next']}
        label="Otherwise comes"
        options={[{ value: '', label: 'The one below' }, ...targetsFrom(filled, index)]}
      />
    </fieldset>
  );
}

function Rule({ at, index, rule }: OfQuestion & { rule: Path }): VNode {
  const { filled, set } = useDefinition();
  const is = textAt(filled, [...rule, 'is']);
  const comparisons = comparisonsOf(textAt(filled, [...at, 'type']));
  const known = comparisons.some(({ value }) => value === is)
    ? comparisons
    : [{ value: is, label: is }, ...comparisons];
  const isOfAnswer = is !== 'answered' && is !== 'skipped';
  return (
    <div class="stack-small">
      <div class="form-row">
        <SelectField
          label="If the answer"
          value={is}
          options={known}
          onValue={(value) => {
            const to = value === 'answered' || value === 'skipped' ? [] : listAt(filled, [...rule, 'to']);
            set(rule, { ...(valueAt(filled, rule) as object), is: value, to });
          }}
        />
        {(is === 'at_most' || is === 'at_least') && (
          <SelectAt at={[...rule, 'to', 0]} label="Step" options={answersOf(filled, at)} />
        )}
        <SelectAt at={[...rule, 'go_to']} label="then comes" options={targetsFrom(filled, index)} />
      </div>
      {isOfAnswer && is !== 'at_most' && is !== 'at_least' && (
        <BoxesAt at={[...rule, 'to']} label="Answers" options={answersOf(filled, at)} />
      )}
      {(is === 'at_most' || is === 'at_least') && <ProblemAt at={[...rule, 'to']} />}
      <ProblemAt at={[...rule, 'is']} />
    </div>
  );
}

function comparisonsOf(type: string): { value: string; label: string }[] {
  if (type === 'rating') return RATED;
  return type === 'single' || type === 'multiple' ? CHOSEN : ANSWERED;
}

/** What an answer may be compared with: the steps of a rating, or the choices. */
function answersOf(filled: unknown, at: Path): { value: string | number; label: string }[] {
  const scale = valueAt(filled, [...at, 'scale']);
  if (textAt(filled, [...at, 'type']) === 'rating' && typeof scale === 'number' && scale <= SCALE_MAX) {
    return stepsOf({ scale }).map((step) => ({ value: step, label: String(step) }));
  }
  return listAt(filled, [...at, 'choices']).map((choice) => {
    const id = textAt(choice, ['id']);
    return { value: id, label: textAt(choice, ['label']) || id };
  });
}

/** Where a survey may go on after a question. */
function targetsFrom(filled: unknown, index: number): { value: string; label: string }[] {
  const others = listAt(filled, ['questions']).flatMap((question, place) =>
    place === index ? [] : [{ value: textAt(question, ['id']), label: `Question ${place + 1}` }],
  );
  return [...others, { value: 'end', label: 'The end' }];
}
