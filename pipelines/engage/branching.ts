import { type Problem, problem, unless } from '#pipelines/settings/problem.ts';

/** What of a question says which one comes after it. */
interface Branching {
  id: string;
  branches: readonly { go_to: string }[];
  next: string;
}

const END = 'end';

/** Whatever is answered, a survey comes to its end: nothing points nowhere, and no way leads back to where it was. */
export function branchingProblems(questions: readonly Branching[]): Problem[] {
  const indexes = new Map(questions.map(({ id }, index) => [id, index]));
  const nowhere = questions.flatMap((question, index) =>
    namedTargets(question).flatMap(({ target, field }) =>
      unless(
        target === END || indexes.has(target),
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

function namedTargets({ branches, next }: Branching): { target: string; field: string }[] {
  const ofBranches = branches.map(({ go_to }, at) => ({ target: go_to, field: `branches[${at}].go_to` }));
  return next === '' ? ofBranches : [...ofBranches, { target: next, field: 'next' }];
}

/** Places of the questions that may come after one; the end is none. */
function targetsOf(question: Branching, index: number, indexes: ReadonlyMap<string, number>): number[] {
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
