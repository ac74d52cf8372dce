import { type Problem, problem, unless } from '#pipelines/settings/problem.ts';
import { dateMs } from './dates.ts';
import { CONDITIONS_MAX, PERSON_CONDITIONS_MAX } from './filter_shapes.ts';
import { filterLists, type PlacedCondition } from './walk_query.ts';

/** What of a query's filters no shape can say, wherever in it they lie. */
export function filterProblems(query: unknown): Problem[] {
  const lists = filterLists(query);
  const all = lists.flatMap(({ conditions }) => conditions);
  const persons = all.filter(({ condition }) => 'person' in condition.field);
  return [
    ...lists.flatMap(({ place, conditions }) =>
      unless(conditions.length <= CONDITIONS_MAX, 'too_many', place, `at most ${CONDITIONS_MAX} conditions are taken`),
    ),
    ...unless(
      persons.length <= PERSON_CONDITIONS_MAX,
      'too_many',
      persons[PERSON_CONDITIONS_MAX]?.place ?? '',
      `at most ${PERSON_CONDITIONS_MAX} conditions of a query are on persons`,
    ),
    ...all.flatMap(dateProblems),
  ];
}

const DATED: ReadonlySet<string> = new Set(['before', 'at_or_before', 'after', 'at_or_after']);

function dateProblems({ place, condition }: PlacedCondition): Problem[] {
  const isDated = DATED.has(condition.is) && 'to' in condition;
  return isDated && Number.isNaN(dateMs(String(condition.to)))
    ? [problem('field_malformed', `${place}.to`, 'is no date')]
    : [];
}
