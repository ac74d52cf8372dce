import type { CorrelationAnswer, CorrelationQuery } from '#pipelines/query/correlation.ts';
import { renderNumber, renderTable, renderValue } from '#services/render.ts';
import { given } from './changes.ts';
import type { Arguments, Command, Context, Outcome } from './command.ts';
import { readSteps, STEP_OPTIONS } from './funnel_options.ts';
import { optional, RANGE_OPTIONS, readField } from './query_options.ts';
import { readCount } from './values.ts';

export const correlationCommand: Command = {
  noun: 'correlation',
  verb: 'show',
  summary: 'Show which events or values go with getting to the last step of a funnel',
  subject: { name: 'SITE', help: 'the site whose events are counted' },
  options: {
    ...STEP_OPTIONS,
    field: { kind: 'texts', value: 'FIELD', help: 'Compare its values at the first step, not events (up to 5)' },
    'at-least': { kind: 'text', value: 'COUNT', help: 'How many persons must have it (10)' },
    limit: { kind: 'text', value: 'COUNT', help: 'How many are shown (20)' },
    ...RANGE_OPTIONS,
  },
  examples: [
    'correlation show shop --step page_view --step purchase',
    'correlation show shop --step page_view --step purchase --field utm_campaign --field country --at-least 100',
  ],
  run: showCorrelation,
};

async function showCorrelation(args: Arguments, { client, nowMs }: Context): Promise<Outcome> {
  const query = given({
    ...readSteps(args, nowMs),
    fields: optional(args.texts('field').map(readField)),
    actors_min: readCount(args, 'at-least'),
    limit: readCount(args, 'limit'),
  }) as CorrelationQuery;
  const answer = await client.query<CorrelationAnswer>(args.subject, 'correlation', query);
  const rows = answer.candidates.map(({ field, value, odds_ratio, odds_ratio_low, odds_ratio_high, ...counts }) => [
    field === null ? 'event' : nameOf(field),
    renderValue(value),
    ...[counts.persons, counts.converted].map(renderNumber),
    String(odds_ratio),
    `${odds_ratio_low} to ${odds_ratio_high}`,
  ]);
  const head = ['OF', 'VALUE', 'PERSONS', 'CONVERTED', 'ODDS RATIO', '95 %'];
  const table = renderTable(head, rows, 'Nothing was had by as many persons.');
  const all = `${renderNumber(answer.converted)} of ${renderNumber(answer.persons)} persons converted.`;
  return { text: `${all}\n\n${table}`, json: answer };
}

const nameOf = (field: NonNullable<CorrelationQuery['fields']>[number]): string =>
  'column' in field ? field.column : field.property.join('.');
