// Commands of any query as JSON, saved questions and boards, running queries, and analysts of SQL.
import { ANALYST_SITE, analystName } from '#infra/clickhouse/analyst_rights.ts';
import { answerTable, csvOf } from '#pipelines/analytics/answer_table.ts';
import { type SqlAnswer, sqlTable } from '#pipelines/analytics/sql_rows.ts';
import type { SavedKind } from '#schemas/setting.ts';
import type { RunningQueriesAnswer, RunningQueryItem } from '#services/control_api/operations.ts';
import type { AnalystItem, AnalystsAnswer, MadeAnalyst, SavedView } from '#services/control_api/queries.ts';
import { renderTable, renderTime } from '#services/stage/terminal.ts';
import {
  type Arguments,
  type Command,
  type Context,
  given,
  type OptionSpec,
  type Outcome,
  pathOf,
  readExpiry,
  readText,
  UsageError,
  withoutMeta,
} from './command.ts';

export const queryCommand: Command = {
  noun: 'query',
  verb: 'ask',
  summary: 'Ask any question of the query API, and print the answer as JSON or CSV',
  subject: { name: 'SITE', help: 'the site whose events it is about' },
  options: {
    name: { kind: 'text', value: 'NAME', help: 'funnel, trends, retention, top, ...: see /docs', required: true },
    file: { kind: 'text', value: 'FILE', help: 'The question as JSON; - is standard input', required: true },
    csv: { kind: 'flag', help: 'Print CSV for spreadsheets: docs/analytics.md says how its rows are made' },
  },
  examples: ['query ask shop --name funnel --file question.json --csv'],
  run: askQuestion,
};

async function askQuestion(args: Arguments, context: Context): Promise<Outcome> {
  const name = args.text('name') ?? '';
  if (!/^[a-z_-]+$/.test(name)) throw new UsageError('query_malformed', `--name ${name} is not the name of a query`);
  const question = readQuestion(readText(context, args.text('file') ?? ''));
  const answer = await context.client.query<object>(args.subject, name, question);
  const text = args.flag('csv') ? csvOf(answerTable(answer)).trimEnd() : JSON.stringify(answer, null, 2);
  return { text, json: answer };
}

function readQuestion(text: string): object {
  try {
    const question: unknown = JSON.parse(text);
    if (typeof question === 'object' && question !== null) return question;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw new UsageError('query_malformed', '--file is not a JSON object');
}

const siteOption: OptionSpec = { kind: 'text', value: 'SITE', help: 'The site it belongs to', required: true };

const tableOf = (answer: object) => ('columns' in answer ? sqlTable(answer as SqlAnswer) : answerTable(answer));

const askCommand: Command = {
  noun: 'question',
  verb: 'ask',
  summary: 'Ask a saved question, and print the answer as JSON or CSV',
  subject: { name: 'ID', help: 'id of the question' },
  options: { site: siteOption, csv: { kind: 'flag', help: 'Print CSV for spreadsheets' } },
  examples: ['question ask countries --site shop --csv'],
  run: askSaved,
};

const collectionOf = (kind: SavedKind, args: Arguments): string => pathOf('sites', args.text('site') ?? '', `${kind}s`);

const pathTo = (kind: SavedKind, args: Arguments): string => `${collectionOf(kind, args)}${pathOf(args.subject)}`;

/** The same commands for questions and boards, and one that asks a question. */
export const savedCommands: Command[] = [...commandsOf('question'), askCommand, ...commandsOf('board')];

function commandsOf(kind: SavedKind): Command[] {
  const subject = { name: 'ID', help: `id of the ${kind}` };
  return [
    {
      noun: kind,
      verb: 'list',
      summary: `List the saved ${kind}s of a site`,
      subject: null,
      options: { site: siteOption },
      examples: [`${kind} list --site shop`],
      run: (args, context) => listSaved(kind, args, context),
    },
    {
      noun: kind,
      verb: 'save',
      summary: `Save a ${kind}, in the place of one of its id`,
      subject: null,
      options: {
        site: siteOption,
        file: { kind: 'text', value: 'FILE', help: 'It as JSON (- is stdin)', required: true },
      },
      examples: [`${kind} save --site shop --file ${kind}.json`],
      run: (args, context) => save(kind, args, context),
    },
    {
      noun: kind,
      verb: 'show',
      summary: `Show a saved ${kind}, as a file for save has it`,
      subject,
      options: { site: siteOption },
      examples: [`${kind} show ID --site shop`],
      run: (args, context) => showSaved(kind, args, context),
    },
    {
      noun: kind,
      verb: 'delete',
      summary: `Remove a saved ${kind}`,
      subject,
      options: { site: siteOption },
      examples: [`${kind} delete ID --site shop`],
      run: (args, context) => deleteSaved(kind, args, context),
    },
  ];
}

async function listSaved(kind: SavedKind, args: Arguments, { client }: Context): Promise<Outcome> {
  const items = await client.list<SavedView>(collectionOf(kind, args));
  const rows = items.map(({ id, name, owner, revision }) => [id, name, owner, String(revision)]);
  const text = renderTable(['ID', 'NAME', 'OWNER', 'REVISION'], rows, `The site has no saved ${kind}s.`);
  return { text, json: items.map(withoutMeta) };
}

async function save(kind: SavedKind, args: Arguments, { client, ...context }: Context): Promise<Outcome> {
  const path = args.text('file') ?? '';
  const body = readObject(readText(context, path), path);
  const collection = collectionOf(kind, args);
  const id = Reflect.get(body, 'id');
  const at = `${collection}${pathOf(String(id))}`;
  const before = typeof id === 'string' && id !== '' ? await client.find<SavedView>(at) : undefined;
  const item =
    before === undefined
      ? await client.send<SavedView>('POST', collection, null, body)
      : await client.send<SavedView>('PUT', at, before.version, body);
  return { text: `The ${kind} ${item.id} saved (revision ${item.revision}).`, json: withoutMeta(item) };
}

async function showSaved(kind: SavedKind, args: Arguments, { client }: Context): Promise<Outcome> {
  const { revision: _revision, ...definition } = withoutMeta(await client.get<SavedView>(pathTo(kind, args)));
  return { text: JSON.stringify(definition, null, 2), json: definition };
}

async function deleteSaved(kind: SavedKind, args: Arguments, { client }: Context): Promise<Outcome> {
  const { version } = await client.get<SavedView>(pathTo(kind, args));
  const item = await client.send<SavedView>('DELETE', pathTo(kind, args), version);
  return { text: `The ${kind} ${item.id} deleted.`, json: withoutMeta(item) };
}

async function askSaved(args: Arguments, { client }: Context): Promise<Outcome> {
  const answer = await client.answerOf<object>(args.text('site') ?? '', args.subject);
  const text = args.flag('csv') ? csvOf(tableOf(answer)).trimEnd() : JSON.stringify(answer, null, 2);
  return { text, json: answer };
}

/** @throws UsageError when it is no JSON object; what is wrong within is for the service to say. */
function readObject(text: string, path: string): object {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw new UsageError('saved_malformed', `${path} does not hold a JSON object`);
}

const RUNNING_HEADINGS = ['QUERY', 'SITE', 'KIND', 'BY', 'SECONDS', 'ROWS READ', 'MIB'];
const MIB = 1024 ** 2;

export const runningQueryCommands: Command[] = [
  {
    noun: 'query',
    verb: 'list',
    summary: 'List the queries that run now, the longest first',
    subject: null,
    options: { site: { kind: 'text', value: 'SITE', help: 'Only queries about this site' } },
    examples: ['query list', 'query list --site shop --json'],
    run: listRunning,
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

async function listRunning(args: Arguments, { client }: Context): Promise<Outcome> {
  const { items } = await client.get<RunningQueriesAnswer>('/queries', { site_id: args.text('site') });
  return { text: renderTable(RUNNING_HEADINGS, items.map(runningRow), 'No query runs.'), json: items };
}

async function cancelQuery(args: Arguments, { client }: Context): Promise<Outcome> {
  const query = await client.send<RunningQueryItem>('DELETE', pathOf('queries', args.subject), null);
  return { text: renderTable(RUNNING_HEADINGS, [runningRow(query)], ''), json: query };
}

function runningRow({ id, site_id, kind, asked_by, running_ms, rows_read, memory_bytes }: RunningQueryItem): string[] {
  const figures = [(running_ms / 1_000).toFixed(1), rows_read, (memory_bytes / MIB).toFixed(0)];
  return [id, site_id ?? 'all', kind, asked_by, ...figures.map(String)];
}

const analystSubject = { name: 'ANALYST', help: 'an id of up to 32 of a-z, 0-9 and -' };

/** Users of ClickHouse that people read their sites with, by tools of their own. */
export const analystUserCommands: Command[] = [
  {
    noun: 'analyst',
    verb: 'list',
    summary: 'List the users of ClickHouse that read sites',
    subject: null,
    options: {},
    examples: ['analyst list', 'analyst list --json'],
    run: listAnalysts,
  },
  {
    noun: 'analyst',
    verb: 'add',
    summary: 'Make a user of ClickHouse that reads some sites, and show its password, once',
    subject: analystSubject,
    options: {
      site: { kind: 'texts', value: 'SITE', help: 'a site that it reads' },
      expires: {
        kind: 'text',
        value: 'WHEN',
        help: '90d (the default), 12h, 30m, a date or a time with offset, or never',
      },
    },
    examples: ['analyst add ada --site shop', 'analyst add reports --site shop --site blog --expires 365d'],
    run: addAnalyst,
  },
  {
    noun: 'analyst',
    verb: 'revoke',
    summary: 'Revoke a user of ClickHouse, at once and for good',
    subject: analystSubject,
    options: {},
    examples: ['analyst revoke ada'],
    run: revokeAnalyst,
  },
];

async function listAnalysts(_args: Arguments, { client }: Context): Promise<Outcome> {
  const { items } = await client.get<AnalystsAnswer>('/analysts', {});
  const rows = items.map(({ analyst_id, clickhouse_user, site_ids, created_at, expires_at, created_by }) => [
    ...[analyst_id, clickhouse_user, site_ids.join(', ')],
    ...[created_at === null ? '-' : renderTime(created_at), renderTime(expires_at), created_by],
  ]);
  const headings = ['ANALYST', 'CLICKHOUSE USER', 'SITES', 'CREATED', 'ENDS', 'BY'];
  return { text: renderTable(headings, rows, 'There are no analysts.'), json: items };
}

async function addAnalyst(args: Arguments, { client, nowMs }: Context): Promise<Outcome> {
  const sites = args.texts('site');
  if (sites.length === 0) throw new UsageError('flag_missing', '--site is missing: an analyst reads at least one');
  const expires = args.text('expires');
  const expires_at = expires === undefined ? undefined : readExpiry(expires, nowMs);
  const body = given({ analyst_id: args.subject, site_ids: sites, expires_at });
  const { password, analyst } = await client.send<MadeAnalyst>('POST', '/analysts', null, body);
  const lines = [
    `${analyst.clickhouse_user} reads ${analyst.site_ids.join(', ')} in the database of its own name. Its password:`,
    '',
    `  ${password}`,
    '',
    `It is shown this once: copy it now. Its logins end: ${renderTime(analyst.expires_at)}.`,
  ];
  return { text: lines.join('\n'), json: { password, ...analyst } };
}

async function revokeAnalyst(args: Arguments, { client }: Context): Promise<Outcome> {
  const analyst = await client.send<AnalystItem>('DELETE', pathOf('analysts', args.subject), null);
  return { text: `${analyst.clickhouse_user} is revoked.`, json: analyst };
}

export const analystCommand: Command = {
  noun: 'analyst',
  verb: 'show',
  summary: 'Show how the local analyst signs in to ClickHouse, with the password',
  subject: null,
  options: {},
  examples: ['analyst show', 'analyst show --json'],
  run: showAnalyst,
};

/** The password goes to whoever may read its file already; no log and no other command has it. */
async function showAnalyst(_args: Arguments, { readLocal }: Context): Promise<Outcome> {
  const user = analystName(ANALYST_SITE);
  const address = textIn(readLocal('ready.json'), 'clickhouse');
  const password = textIn(readLocal('clickhouse/credentials.json'), user);
  if (address === null) throw new UsageError('not_running', 'nothing runs here: npm start writes what runs where');
  if (password === null) {
    throw new UsageError(
      'analyst_unknown',
      'the ClickHouse in use is not the local one: who runs it makes its analysts',
    );
  }
  const url = new URL(address).origin;
  const json = { url, database: user, user, password, site: ANALYST_SITE };
  const query = `curl -sS '${url}/?database=${user}' --user '${user}:${password}' -d 'SELECT count() FROM events'`;
  return { text: [renderTable(['WHAT', 'VALUE'], Object.entries(json), ''), '', query].join('\n'), json };
}

function textIn(file: string | null, name: string): string | null {
  const value: unknown = file === null ? undefined : Reflect.get(JSON.parse(file) as object, name);
  return typeof value === 'string' ? value : null;
}
