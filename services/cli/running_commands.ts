import type { RunningQueriesAnswer, RunningQueryItem } from '#services/control_api/running_query_shapes.ts';
import { renderTable } from '#services/render.ts';
import type { Arguments, Command, Context, Outcome } from './command.ts';
import { pathOf } from './values.ts';

const HEADINGS = ['QUERY', 'SITE', 'KIND', 'BY', 'SECONDS', 'ROWS READ', 'MIB'];
const MIB = 1024 ** 2;

export const runningQueryCommands: Command[] = [
  {
    noun: 'query',
    verb: 'list',
    summary: 'List the queries that run now, the longest first',
    subject: null,
    options: { site: { kind: 'text', value: 'SITE', help: 'Only queries about this site' } },
    examples: ['query list', 'query list --site shop --json'],
    run: listQueries,
  },
  {
    noun: 'query',
    verb: 'cancel',
    summary: 'End a query that runs; whoever asked it is told so',
    subject: { name: 'QUERY', help: 'as query list shows it' },
    options: {},
    examples: ['query cancel 5fd2b51c-21a5-4d27-8b0b-2fb43d2e8a01'],
    run: cancelQuery,
  },
];

async function listQueries(args: Arguments, { client }: Context): Promise<Outcome> {
  const { items } = await client.get<RunningQueriesAnswer>('/queries', { site_id: args.text('site') });
  return { text: renderTable(HEADINGS, items.map(row), 'No query runs.'), json: items };
}

async function cancelQuery(args: Arguments, { client }: Context): Promise<Outcome> {
  const query = await client.send<RunningQueryItem>('DELETE', pathOf('queries', args.subject), null);
  return { text: renderTable(HEADINGS, [row(query)], ''), json: query };
}

function row({ id, site_id, kind, asked_by, running_ms, rows_read, memory_bytes }: RunningQueryItem): string[] {
  const figures = [(running_ms / 1_000).toFixed(1), rows_read, (memory_bytes / MIB).toFixed(0)];
  return [id, site_id ?? 'all', kind, asked_by, ...figures.map(String)];
}
