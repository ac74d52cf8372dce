import type { FunnelAnswer } from '#pipelines/query/funnel_answer.ts';
import { drawFunnel } from '#services/funnel_drawing.ts';
import type { Arguments, Command, Context, Outcome } from './command.ts';
import { funnelCsv } from './funnel_csv.ts';
import { readFunnel, STEP_OPTIONS } from './funnel_options.ts';
import { RANGE_OPTIONS } from './query_options.ts';

export const funnelCommands: Command[] = [
  {
    noun: 'funnel',
    verb: 'show',
    summary: 'Draw how many persons or sessions get from step to step',
    subject: { name: 'SITE', help: 'the site whose events are counted' },
    options: {
      ...STEP_OPTIONS,
      by: { kind: 'text', value: 'ACTOR', help: 'person or session (person)' },
      breakdown: {
        kind: 'text',
        value: 'FIELD[@AT]',
        help: 'By a field at first_step, a step by its number, first_touch or last_touch',
      },
      trend: { kind: 'text', value: 'INTERVAL', help: 'hour, day, week or month' },
      ...RANGE_OPTIONS,
      csv: { kind: 'flag', help: 'Print CSV for spreadsheets' },
    },
    examples: [
      'funnel show shop --step page_view --step add_to_cart --step purchase --window 30d',
      'funnel show shop --step page_view?page_location~/product --step "purchase?value>=20" --breakdown utm_campaign@first_touch',
      'funnel show shop --step page_view --step purchase --by session --trend day --csv',
    ],
    run: showFunnel,
  },
];

async function showFunnel(args: Arguments, { client, nowMs }: Context): Promise<Outcome> {
  const names = args.texts('step');
  const query = readFunnel(args, nowMs);
  const answer = await client.query<FunnelAnswer>(args.subject, 'funnel', query);
  if (args.flag('csv')) return { text: funnelCsv(names, answer), json: answer };
  const day = (ms: number): string => new Date(ms).toISOString().slice(0, 10);
  const title = `${args.subject}, ${day(query.from)} to ${day(query.to - 1)}, by ${query.count_by ?? 'person'}`;
  return { text: drawFunnel(title, names, answer), json: answer };
}
