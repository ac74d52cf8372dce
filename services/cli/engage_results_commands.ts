import type { EngageKind } from '#pipelines/engage/definition_fields.ts';
import type { Definitions } from '#pipelines/engage/definition_problems.ts';
import type { FormResults, PromoResults, SurveyResults } from '#pipelines/query/engage_results.ts';
import type { EngageQuery } from '#pipelines/query/shapes.ts';
import { ENGAGE_PATHS } from '#services/control_api/engage_shapes.ts';
import { given } from './changes.ts';
import type { Arguments, Command, Context, Outcome } from './command.ts';
import { formText, promoText, surveyText } from './engage_results_text.ts';
import { RANGE_OPTIONS, readRange } from './query_options.ts';
import { pathOf, readCount } from './values.ts';

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

const DRAWN: { [Kind in EngageKind]: (results: Results[Kind], definition?: Definitions[Kind]) => string } = {
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
      const site = args.text('site') ?? '';
      const results = await client.query<Results[Kind]>(site, kind, query);
      // One that was removed has results all the same.
      const definition = await client.find<Definitions[Kind]>(pathOf('sites', site, ENGAGE_PATHS[kind], args.subject));
      return { text: DRAWN[kind](results, definition), json: results };
    },
  };
}
