import type { EngageKind } from '#pipelines/engage/definition_fields.ts';
import type { FormResults, PromoResults, SurveyResults } from '#pipelines/query/engage_results.ts';
import type { EngageQuery } from '#pipelines/query/shapes.ts';
import { renderNumber, renderTable, renderValue } from '#services/render.ts';
import { given } from './changes.ts';
import type { Arguments, Command, Context, Outcome } from './command.ts';
import { RANGE_OPTIONS, readRange } from './query_options.ts';
import { readCount } from './values.ts';

interface Results {
  survey: SurveyResults;
  promo: PromoResults;
  form: FormResults;
}

const SUMMARIES: Record<EngageKind, string> = {
  survey: 'Show how a survey was answered, question by question',
  promo: 'Show how often a promo was seen, clicked and redeemed',
  form: 'Show how often a form was sent, and where its leads came from',
};

const DRAWN: { [Kind in EngageKind]: (results: Results[Kind]) => string } = {
  survey: surveyText,
  promo: promoText,
  form: formText,
};

export const engageResultCommands: Command[] = [command('survey'), command('promo'), command('form')];

function command<Kind extends EngageKind>(kind: Kind): Command {
  return {
    noun: kind,
    verb: 'results',
    summary: SUMMARIES[kind],
    subject: { name: 'ID', help: `id of the ${kind}` },
    options: {
      site: { kind: 'text', value: 'SITE', help: 'The site it belongs to', required: true },
      limit: { kind: 'text', value: 'COUNT', help: 'How many values of each question, or sources (50)' },
      ...RANGE_OPTIONS,
    },
    examples: [`${kind} results ID --site shop`, `${kind} results ID --site shop --since 7d --json`],
    async run(args: Arguments, { client, nowMs }: Context): Promise<Outcome> {
      const query = given({
        ...readRange(args, nowMs),
        id: args.subject,
        limit: readCount(args, 'limit'),
      }) as EngageQuery;
      const results = await client.query<Results[Kind]>(args.text('site') ?? '', kind, query);
      return { text: DRAWN[kind](results), json: results };
    },
  };
}

type Reached = { times: number; persons: number };

function stages(rows: readonly (readonly [name: string, reached: Reached])[]): string {
  const cells = rows.map(([name, { times, persons }]) => [name, renderNumber(times), renderNumber(persons)]);
  return renderTable(['', 'TIMES', 'PERSONS'], cells, '');
}

const percent = (share: number | null): string => (share === null ? '-' : `${(share * 100).toFixed(1)} %`);

function surveyText({ shown, answered, completed, dismissed, completion, nps, questions }: SurveyResults): string {
  const table = stages([
    ['shown', shown],
    ['answered', answered],
    ['completed', completed],
    ['dismissed', dismissed],
  ]);
  const score = nps === null ? [] : [`Net promoter score: ${nps.score.toFixed(0)}`];
  const rows = questions.flatMap(({ id, values }) =>
    values.map(({ value, times, persons }, at) => [
      at === 0 ? id : '',
      renderValue(value),
      renderNumber(times),
      renderNumber(persons),
    ]),
  );
  const answers = renderTable(['QUESTION', 'ANSWER', 'TIMES', 'PERSONS'], rows, 'Nobody has answered a question.');
  return [table, '', `Completed: ${percent(completion)}`, ...score, '', answers].join('\n');
}

function promoText({ viewed, clicked, dismissed, code_copied, redeemed, conversion }: PromoResults): string {
  const table = stages([
    ['viewed', viewed],
    ['clicked', clicked],
    ['dismissed', dismissed],
    ['code copied', code_copied],
    ['redeemed', redeemed],
  ]);
  return [table, '', `Clicked: ${percent(conversion)}`, `Redeemed: ${renderNumber(redeemed.sum)}`].join('\n');
}

function formText({ shown, submitted, dismissed, conversion, sources }: FormResults): string {
  const table = stages([
    ['shown', shown],
    ['submitted', submitted],
    ['dismissed', dismissed],
  ]);
  const rows = sources.map(({ value, times, persons, sum }) => [
    renderValue(value),
    ...[times, persons, sum].map(renderNumber),
  ]);
  const from = renderTable(['SOURCE', 'LEADS', 'PERSONS', 'SUM'], rows, 'There are no leads in this time.');
  return [table, '', `Sent: ${percent(conversion)}`, '', from].join('\n');
}
