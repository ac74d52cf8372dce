import type { PathsAnswer, PathsQuery } from '#pipelines/query/paths.ts';
import { renderNumber, renderTable, renderValue } from '#services/render.ts';
import { given } from './changes.ts';
import type { Arguments, Command, Context, Outcome } from './command.ts';
import { optional, RANGE_OPTIONS, readField, readRange } from './query_options.ts';
import { readCount, readDuration } from './values.ts';

export const pathsCommand: Command = {
  noun: 'paths',
  verb: 'show',
  summary: 'Show which way people go from, to and through an event or a page',
  subject: { name: 'SITE', help: 'the site whose paths are shown' },
  options: {
    from: { kind: 'text', value: 'TEXT', help: 'Paths from the first event of this name, or value, on' },
    to: { kind: 'text', value: 'TEXT', help: 'Paths up to the first one' },
    through: { kind: 'text', value: 'TEXT', help: 'Both sides of the first one' },
    by: { kind: 'text', value: 'FIELD', help: 'A field in place of the name, such as page_location' },
    event: { kind: 'texts', value: 'EVENT', help: 'Only events of these names (repeatable)' },
    window: { kind: 'text', value: 'TIME', help: 'How far paths go: 7d, 12h, 30m (as far as the session)' },
    steps: { kind: 'text', value: 'COUNT', help: 'How many steps on each side (5)' },
    top: { kind: 'text', value: 'COUNT', help: 'How many values of a step; the others are one (10)' },
    ...RANGE_OPTIONS,
  },
  examples: [
    'paths show shop --from add_to_cart --since 7d',
    'paths show shop --through https://shop.example/cart --by page_location --event page_view --window 1d',
  ],
  run: showPaths,
};

async function showPaths(args: Arguments, { client, nowMs }: Context): Promise<Outcome> {
  const [by, window] = [args.text('by'), args.text('window')];
  const query = given({
    ...readRange(args, nowMs),
    events: optional(args.texts('event')),
    by: by === undefined ? undefined : readField(by),
    starting_at: args.text('from'),
    ending_at: args.text('to'),
    through: args.text('through'),
    window_ms: window === undefined ? undefined : readDuration(window, 'window'),
    steps: readCount(args, 'steps'),
    top: readCount(args, 'top'),
  }) as PathsQuery;
  const answer = await client.query<PathsAnswer>(args.subject, 'paths', query);
  return { text: edgeTable(answer), json: answer };
}

function edgeTable({ edges, paths }: PathsAnswer): string {
  const name = (value: string | null): string => (value === null ? '(others)' : renderValue(value));
  const rows = edges.map((edge) => [String(edge.place), name(edge.from), name(edge.to), renderNumber(edge.paths)]);
  const table = renderTable(['PLACE', 'FROM', 'TO', 'PATHS'], rows, 'No path has two places.');
  return `${table}\n\n${renderNumber(paths)} paths in all`;
}
