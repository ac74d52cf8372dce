// Surveys: their schema, and their branches.

import { type Static, Type } from 'typebox';
import { type Problem, problem, unless } from '#pipelines/settings/problems.ts';
import { COMMON_FIELDS, count, fixed, flag, idText, linkText, shownText, texts } from './definition_fields.ts';

const QUESTIONS_MAX = 20;
const SURVEY_END = 'end';

const choice = fixed({ id: idText('What an answer says'), label: shownText(200, 'What the visitor reads') });

const comparable = Type.Union([Type.String({ maxLength: 64 }), Type.Number()]);
const branch = fixed({
  is: Type.Enum(['equals', 'in', 'at_most', 'at_least', 'answered', 'skipped'], {
    description: 'How the answer is compared; of multiple answers one is enough',
  }),
  to: Type.Array(comparable, { maxItems: 30, default: [], description: 'Choice ids or numbers' }),
  go_to: idText('The question that comes next, or end'),
});

const question = fixed({
  id: idText('Names the question in events and results'),
  type: Type.Enum(['open', 'rating', 'single', 'multiple', 'link']),
  text: shownText(500, 'The question'),
  description: shownText(1000, 'More about it'),
  required: flag(false, 'Whether it must be answered'),
  scale: Type.Enum([2, 3, 5, 7, 10, 11], {
    default: 5,
    description: 'For rating: how many steps, from 1; 11 are 0 to 10, a net promoter score',
  }),
  display: Type.Enum(['number', 'emoji', 'star'], { default: 'number', description: 'For rating' }),
  low_label: shownText(100, 'For rating: what the lowest step means'),
  high_label: shownText(100, 'For rating: what the highest step means'),
  choices: texts(choice, 30, 'For single and multiple'),
  open_choice: flag(false, 'For single and multiple: whether the visitor may write an answer of their own'),
  shuffle: flag(false, 'For single and multiple: whether the order is random'),
  max_length: count(1, 2000, 1000, 'For open: characters'),
  url: linkText('For link'),
  button: shownText(100, 'What the button says'),
  branches: texts(branch, 20, 'The first that holds says what comes next'),
  next: Type.String({ maxLength: 64, default: '', description: 'What comes next otherwise; empty: the one below' }),
});

/** A survey as it is stored: every default filled in. */
export const surveySchema = fixed({
  ...COMMON_FIELDS,
  title: shownText(200, 'Heading'),
  questions: Type.Array(question, { minItems: 1, maxItems: QUESTIONS_MAX }),
  thanks: fixed(
    { title: shownText(200, 'Heading at the end'), text: shownText(1000, 'Text at the end') },
    { default: {}, description: 'What is said at the end' },
  ),
});
export type Survey = Static<typeof surveySchema>;
export type Question = Static<typeof question>;

/** What a survey's fields must be to each other. */
export function surveyProblems({ questions }: Survey): Problem[] {
  const ids = questions.map(({ id }) => id);
  return [
    ...unless(new Set(ids).size === ids.length, 'repeated', 'questions', 'two of them have one id'),
    ...unless(
      !ids.includes(SURVEY_END),
      'id_malformed',
      'questions',
      'one of them is called end, which is the end of the survey',
    ),
    ...questions.flatMap((one, index) => questionProblems(one, `questions[${index}]`)),
    ...branchingProblems(questions),
    ...questions.flatMap(idleBranchProblems),
  ];
}

function questionProblems(one: Question, field: string): Problem[] {
  const choices = one.choices.map(({ id }) => id);
  return [
    ...unless(one.text !== '', 'field_missing', `${field}.text`, 'is missing'),
    ...unless(new Set(choices).size === choices.length, 'repeated', `${field}.choices`, 'two of them have one id'),
    ...unless(!hasChoices(one) || choices.length >= 2, 'field_missing', `${field}.choices`, 'has fewer than two'),
    ...unless(one.type !== 'link' || one.url !== '', 'field_missing', `${field}.url`, 'is missing'),
    ...one.choices.flatMap(({ label }, at) =>
      unless(label !== '', 'field_missing', `${field}.choices[${at}].label`, 'is missing'),
    ),
    ...one.branches.flatMap((each, at) => conditionProblems(one, each, `${field}.branches[${at}]`)),
  ];
}

type Branch = Question['branches'][number];

function conditionProblems(one: Question, { is, to }: Branch, field: string): Problem[] {
  if (is === 'answered' || is === 'skipped') {
    return unless(
      to.length === 0,
      'field_malformed',
      `${field}.to`,
      `holds something, which ${is} is not compared with`,
    );
  }
  if (to.length === 0) return [problem('field_missing', `${field}.to`, 'is missing')];
  if (one.type === 'rating') {
    return unless(
      to.every((item) => typeof item === 'number'),
      'field_malformed',
      `${field}.to`,
      'holds something else than numbers',
    );
  }
  if (!hasChoices(one)) {
    return [
      problem(
        'field_malformed',
        `${field}.is`,
        'compares answers, but this type of question is only answered or skipped',
      ),
    ];
  }
  if (is === 'at_least' || is === 'at_most') {
    return [problem('field_malformed', `${field}.is`, 'compares numbers, and only a rating has one')];
  }
  const known = one.choices.map(({ id }) => id);
  const isKnown = to.every((item) => known.includes(String(item)));
  return unless(isKnown, 'field_malformed', `${field}.to`, 'names a choice that is not there');
}

/** Branches of ratings that compare with what is no step, and so can never hold, or always do. */
function idleBranchProblems(question: Question, index: number): Problem[] {
  if (question.type !== 'rating') return [];
  const [lowest, highest] = stepRange(question);
  const isStep = (item: string | number): boolean => Number.isInteger(item) && lowest <= +item && +item <= highest;
  const message = `compares with something else than the steps from ${lowest} to ${highest}`;
  return question.branches.flatMap(({ to }, at) =>
    unless(to.every(isStep), 'field_malformed', `questions[${index}].branches[${at}].to`, message),
  );
}

/** The lowest and the highest step of a rating. */
export const stepRange = ({ scale }: Question): readonly [number, number] => (scale === 11 ? [0, 10] : [1, scale]);

export const hasChoices = ({ type }: Question): boolean => type === 'single' || type === 'multiple';

/** Whatever is answered, a survey comes to its end: nothing points nowhere, and no way leads back to where it was. */
function branchingProblems(questions: readonly Question[]): Problem[] {
  const indexes = new Map(questions.map(({ id }, index) => [id, index]));
  const nowhere = questions.flatMap((question, index) =>
    namedTargets(question).flatMap(({ target, field }) =>
      unless(
        target === SURVEY_END || indexes.has(target),
        'field_malformed',
        `questions[${index}].${field}`,
        `there is no question ${target}`,
      ),
    ),
  );
  if (nowhere.length > 0 || indexes.size < questions.length) return nowhere;
  const looping = findLoop(questions.map((question, index) => targetsOf(question, index, indexes)));
  return looping === null
    ? []
    : [problem('field_malformed', `questions[${looping}]`, 'can be come back to, so the survey may never end')];
}

function namedTargets({ branches, next }: Question): { target: string; field: string }[] {
  const ofBranches = branches.map(({ go_to }, at) => ({ target: go_to, field: `branches[${at}].go_to` }));
  return next === '' ? ofBranches : [...ofBranches, { target: next, field: 'next' }];
}

/** Places of the questions that may come after one; the end is none. */
function targetsOf(question: Question, index: number, indexes: ReadonlyMap<string, number>): number[] {
  const named = namedTargets(question).flatMap(({ target }) => indexes.get(target) ?? []);
  const below = question.next === '' && index + 1 < indexes.size ? [index + 1] : [];
  return [...named, ...below];
}

/** The first question that a way from it leads back to, or null. */
function findLoop(targets: readonly number[][]): number | null {
  const found = targets.findIndex((_, index) => reaches(targets, index, index));
  return found === -1 ? null : found;
}

function reaches(targets: readonly number[][], from: number, wanted: number): boolean {
  const seen = new Set<number>();
  const open = [...(targets[from] ?? [])];
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    if (at === wanted) return true;
    if (seen.has(at)) continue;
    seen.add(at);
    open.push(...(targets[at] ?? []));
  }
  return false;
}
