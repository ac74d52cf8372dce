import { answerTable } from '#pipelines/query/answer_table.ts';
import { csvOf } from '#pipelines/query/csv.ts';
import { type SqlAnswer, sqlTable } from '#pipelines/query/sql_rows.ts';
import type { SavedKind } from '#schemas/setting.ts';
import type { SavedView } from '#services/control_api/saved_shapes.ts';
import { renderTable } from '#services/render.ts';
import { withoutMeta } from './changes.ts';
import type { Arguments, Command, Context, OptionSpec, Outcome } from './command.ts';
import { readText } from './inputs.ts';
import { UsageError } from './usage_error.ts';
import { pathOf } from './values.ts';

const site: OptionSpec = { kind: 'text', value: 'SITE', help: 'The site it belongs to', required: true };

const askCommand: Command = {
  noun: 'question',
  verb: 'ask',
  summary: 'Ask a saved question, and print the answer as JSON or CSV',
  subject: { name: 'ID', help: 'id of the question' },
  options: { site, csv: { kind: 'flag', help: 'Print CSV for spreadsheets' } },
  examples: ['question ask countries --site shop --csv'],
  run: askSaved,
};

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
      options: { site },
      examples: [`${kind} list --site shop`],
      run: (args, context) => listSaved(kind, args, context),
    },
    {
      noun: kind,
      verb: 'save',
      summary: `Save a ${kind}, in the place of one of its id`,
      subject: null,
      options: { site, file: { kind: 'text', value: 'FILE', help: 'It as JSON (- is stdin)', required: true } },
      examples: [`${kind} save --site shop --file ${kind}.json`],
      run: (args, context) => save(kind, args, context),
    },
    {
      noun: kind,
      verb: 'show',
      summary: `Show a saved ${kind}, as a file for save has it`,
      subject,
      options: { site },
      examples: [`${kind} show ID --site shop`],
      run: (args, context) => showSaved(kind, args, context),
    },
    {
      noun: kind,
      verb: 'delete',
      summary: `Remove a saved ${kind}`,
      subject,
      options: { site },
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

const tableOf = (answer: object) => ('columns' in answer ? sqlTable(answer as SqlAnswer) : answerTable(answer));

const collectionOf = (kind: SavedKind, args: Arguments): string => pathOf('sites', args.text('site') ?? '', `${kind}s`);

const pathTo = (kind: SavedKind, args: Arguments): string => `${collectionOf(kind, args)}${pathOf(args.subject)}`;

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
