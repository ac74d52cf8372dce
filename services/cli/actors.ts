import type { ActorsAnswer } from '#pipelines/query/actor_lists.ts';
import type { ActorsQuery } from '#pipelines/query/actor_shapes.ts';
import { renderTable, renderTime, renderValue } from '#services/render.ts';
import { given } from './changes.ts';
import type { Arguments, Command, Context, Outcome } from './command.ts';
import { readJson } from './query_options.ts';
import { readCount } from './values.ts';

export const actorsCommand: Command = {
  noun: 'actors',
  verb: 'show',
  summary: 'Show who is in a step of a funnel, a bar of trends, a cell of retention or a way of paths',
  subject: { name: 'SITE', help: 'the site whose persons are listed' },
  options: {
    of: { kind: 'text', value: 'JSON', help: 'The part of the chart, as the API takes it', required: true },
    limit: { kind: 'text', value: 'COUNT', help: 'How many, up to 1000 (100)' },
    after: { kind: 'text', value: 'NEXT', help: 'The next page: what the one before printed' },
  },
  examples: [
    `actors show shop --of '{"trends":{"from":1788220800000,"to":1790812800000,"interval":"day","series":[{"events":["purchase"]}]},"series":1}'`,
    `actors show shop --of '{"paths":{"from":1788220800000,"to":1790812800000,"starting_at":"add_to_cart"},"place":0,"way":["add_to_cart","purchase"]}'`,
  ],
  run: showActors,
};

async function showActors(args: Arguments, { client }: Context): Promise<Outcome> {
  const query = given({
    of: readJson(args.text('of') ?? '', 'of'),
    limit: readCount(args, 'limit'),
    after: args.text('after'),
  }) as ActorsQuery;
  const answer = await client.query<ActorsAnswer>(args.subject, 'actors', query);
  const rows = answer.actors.map((one) => [
    one.person_id,
    renderTime(one.timestamp),
    renderValue(one.event),
    renderValue(one.distinct_id),
  ]);
  const table = renderTable(['PERSON', 'HAPPENED', 'EVENT', 'DISTINCT ID'], rows, 'Nobody is there.');
  return { text: answer.next === null ? table : `${table}\n\nMore with --after ${answer.next}`, json: answer };
}
