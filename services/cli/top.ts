import type { TopQuery } from '#pipelines/query/shapes.ts';
import type { TopAnswer } from '#pipelines/query/top.ts';
import { renderNumber, renderTable, renderValue } from '#services/render.ts';
import { given } from './changes.ts';
import type { Arguments, Command, Context, Outcome } from './command.ts';
import { optional, RANGE_OPTIONS, readField, readRange } from './query_options.ts';
import { readCount } from './values.ts';

export const topCommand: Command = {
  noun: 'top',
  verb: 'show',
  summary: 'Show the commonest values of a column or property',
  subject: { name: 'SITE', help: 'the site whose events are counted' },
  options: {
    field: {
      kind: 'text',
      value: 'FIELD',
      help: 'A column, or a path into the properties: plan, cart.size',
      required: true,
    },
    event: { kind: 'texts', value: 'EVENT', help: 'Only events of these names (repeatable)' },
    by: { kind: 'text', value: 'WHAT', help: 'events, persons or value (events)' },
    limit: { kind: 'text', value: 'COUNT', help: 'How many values (20)' },
    ...RANGE_OPTIONS,
  },
  examples: ['top show shop --field event', 'top show shop --field utm_campaign --event purchase --by value --limit 5'],
  run: showTop,
};

async function showTop(args: Arguments, { client, nowMs }: Context): Promise<Outcome> {
  const query = given({
    ...readRange(args, nowMs),
    events: optional(args.texts('event')),
    field: readField(args.text('field') ?? ''),
    by: args.text('by'),
    limit: readCount(args, 'limit'),
  }) as TopQuery;
  const answer = await client.query<TopAnswer>(args.subject, 'top', query);
  const rows = answer.values.map(({ value, events, persons, sum }) => [
    renderValue(value),
    ...[events, persons, sum].map(renderNumber),
  ]);
  const table = renderTable(['VALUE', 'EVENTS', 'PERSONS', 'SUM'], rows, 'There are no events in this time.');
  return { text: answer.more_values ? `${table}\n\nThere are more values than are shown.` : table, json: answer };
}
