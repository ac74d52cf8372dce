import type { Survey } from '#pipelines/engage/survey.ts';
import type { FormResults, PromoResults, SurveyResults } from '#pipelines/query/engage_results.ts';
import { renderNumber, renderTable, renderValue } from '#services/render.ts';

type Reached = { times: number; persons: number };

const counted = ({ times, persons }: Reached): string[] => [renderNumber(times), renderNumber(persons)];

function stages(rows: readonly (readonly [name: string, reached: Reached])[]): string {
  const cells = rows.map(([name, reached]) => [name, ...counted(reached)]);
  return renderTable(['', 'TIMES', 'PERSONS'], cells, '');
}

const percent = (share: number | null): string => (share === null ? '-' : `${(share * 100).toFixed(1)} %`);

/** Amounts, each with its currency: those of several are not added up. */
function amounts(sums: FormResults['submitted']['sums']): string {
  return sums.map(({ currency, sum }) => `${renderNumber(sum)} ${renderValue(currency)}`).join(', ') || '0';
}

/** @param survey As it is now, for the order of its questions and what they are called; undefined: it was removed. */
export function surveyText(results: SurveyResults, survey?: Survey): string {
  const { shown, answered, completed, dismissed, completion, nps, questions } = results;
  const table = stages([
    ['shown', shown],
    ['answered', answered],
    ['completed', completed],
    ['dismissed', dismissed],
  ]);
  const score = nps === null ? [] : [`Net promoter score: ${nps.score.toFixed(0)}`];
  const asked = (survey?.questions ?? []).map(({ id }) => id);
  // Those that the survey no longer asks come last.
  const placeOf = (id: string): number => (asked.includes(id) ? asked.indexOf(id) : asked.length);
  const inOrder = questions.toSorted((one, other) => placeOf(one.id) - placeOf(other.id));
  const answers = inOrder.flatMap((question) => ['', questionText(question, survey)]);
  const none = questions.length === 0 ? ['', 'Nobody has answered a question.'] : [];
  return [table, '', `Completed of those shown: ${percent(completion)}`, ...score, ...answers, ...none].join('\n');
}

type QuestionResults = SurveyResults['questions'][number];

function questionText({ id, respondents, average, values, more_values }: QuestionResults, survey?: Survey): string {
  const question = survey?.questions.find((one) => one.id === id);
  const heading = question === undefined ? id : `${id}: ${renderValue(question.text)}`;
  const mean = average === null ? '' : `, on average ${average.toFixed(2)}`;
  const answered = `Answered ${renderNumber(respondents.times)} times by ${renderNumber(respondents.persons)} persons${mean}`;
  // Steps of a rating are read in their order, other answers the commonest first.
  const inOrder = average === null ? values : values.toSorted((one, other) => Number(one.value) - Number(other.value));
  const labelOf = (value: string): string => {
    const label = question?.choices.find((choice) => choice.id === value)?.label;
    return label === undefined ? renderValue(value) : `${renderValue(label)} (${value})`;
  };
  const rows = inOrder.map(({ value, ...reached }) => [labelOf(value), ...counted(reached)]);
  const table = renderTable(['ANSWER', 'TIMES', 'PERSONS'], [...rows, ...(more_values ? [['…']] : [])], '');
  return [heading, answered, table].join('\n');
}

export function promoText({ viewed, clicked, dismissed, code_copied, redeemed, conversion }: PromoResults): string {
  const table = stages([
    ['viewed', viewed],
    ['clicked', clicked],
    ['dismissed', dismissed],
    ['code copied', code_copied],
    ['redeemed', redeemed],
  ]);
  return [table, '', `Clicked of those viewed: ${percent(conversion)}`, `Redeemed: ${amounts(redeemed.sums)}`].join(
    '\n',
  );
}

export function formText({ shown, submitted, unshown, dismissed, conversion, sources }: FormResults): string {
  const table = stages([
    ['shown', shown],
    ['submitted', submitted],
    ['dismissed', dismissed],
  ]);
  const rows = sources.map(({ value, sums, ...reached }) => [renderValue(value), ...counted(reached), amounts(sums)]);
  const from = renderTable(['SOURCE', 'LEADS', 'PERSONS', 'WORTH'], rows, 'There are no leads in this time.');
  const plain = unshown === 0 ? [] : [`Sent without being shown, as plain forms: ${renderNumber(unshown)}`];
  const worth = submitted.sums.length === 0 ? [] : [`Worth: ${amounts(submitted.sums)}`];
  return [table, '', `Sent of those shown: ${percent(conversion)}`, ...plain, ...worth, '', from].join('\n');
}
