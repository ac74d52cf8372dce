import { ENGAGE_KINDS, type EngageKind } from '#pipelines/engage/definition_fields.ts';
import { ENGAGE_PATHS, type EngageView } from '#services/control_api/engage_shapes.ts';
import { renderTable, renderTime } from '#services/render.ts';
import { withoutMeta } from './changes.ts';
import type { Arguments, Command, Context, OptionSpec, Outcome } from './command.ts';
import { readText } from './inputs.ts';
import { UsageError } from './usage_error.ts';
import { pathOf, readInstant } from './values.ts';

const site: OptionSpec = { kind: 'text', value: 'SITE', help: 'The site it belongs to', required: true };
const file: OptionSpec = { kind: 'text', value: 'FILE', help: 'The definition as JSON (- is stdin)', required: true };

/** The same five commands for each kind. */
export const engageCommands: Command[] = ENGAGE_KINDS.flatMap(commandsOf);

function commandsOf(kind: EngageKind): Command[] {
  const subject = { name: 'ID', help: `id of the ${kind}` };
  return [
    {
      noun: kind,
      verb: 'list',
      summary: `List the ${ENGAGE_PATHS[kind]} of a site`,
      subject: null,
      options: { site },
      examples: [`${kind} list --site shop`, `${kind} list --site shop --json`],
      run: (args, context) => listItems(kind, args, context),
    },
    {
      noun: kind,
      verb: 'create',
      summary: `Add a ${kind} to a site`,
      subject: null,
      options: { site, file },
      examples: [`${kind} create --site shop --file ${kind}.json`],
      run: (args, context) => createItem(kind, args, context),
    },
    {
      noun: kind,
      verb: 'show',
      summary: `Show a ${kind}, as a file for create and update has it`,
      subject,
      options: { site },
      examples: [`${kind} show ID --site shop`],
      run: (args, context) => showItem(kind, args, context),
    },
    {
      noun: kind,
      verb: 'update',
      summary: `Replace a ${kind}; what the file leaves out is as at first`,
      subject,
      options: { site, file },
      examples: [`${kind} update ID --site shop --file ${kind}.json`],
      run: (args, context) => updateItem(kind, args, context),
    },
    {
      noun: kind,
      verb: 'delete',
      summary: `Remove a ${kind}; its events and results stay`,
      subject,
      options: { site },
      examples: [`${kind} delete ID --site shop`],
      run: (args, context) => deleteItem(kind, args, context),
    },
  ];
}

async function listItems(kind: EngageKind, args: Arguments, { client }: Context): Promise<Outcome> {
  const items = await client.list<EngageView>(collectionOf(kind, args));
  const headings = ['ID', 'NAME', 'STATE', 'REVISION', 'PRIORITY', 'SHARE', 'BEGINS', 'ENDS'];
  const text = renderTable(headings, items.map(row), `The site has no ${ENGAGE_PATHS[kind]}.`);
  return { text, json: items.map(withoutMeta) };
}

function row(item: EngageView): string[] {
  return [
    item.id,
    item.name,
    item.enabled ? 'enabled' : 'disabled',
    String(item.revision),
    String(item.priority),
    `${item.share_percent}%`,
    item.starts_at === null ? '-' : renderTime(item.starts_at),
    item.ends_at === null ? '-' : renderTime(item.ends_at),
  ];
}

async function createItem(kind: EngageKind, args: Arguments, context: Context): Promise<Outcome> {
  const body = readDefinitionFile(args, context);
  return written(kind, await context.client.send('POST', collectionOf(kind, args), null, body), 'created');
}

async function showItem(kind: EngageKind, args: Arguments, { client }: Context): Promise<Outcome> {
  const definition = definitionOf(await client.get<EngageView>(pathTo(kind, args)));
  return { text: JSON.stringify(definition, null, 2), json: definition };
}

async function updateItem(kind: EngageKind, args: Arguments, context: Context): Promise<Outcome> {
  const body = readDefinitionFile(args, context);
  const before = await context.client.get<EngageView>(pathTo(kind, args));
  return written(kind, await context.client.send('PUT', pathTo(kind, args), before.version, body), 'changed');
}

async function deleteItem(kind: EngageKind, args: Arguments, { client }: Context): Promise<Outcome> {
  const before = await client.get<EngageView>(pathTo(kind, args));
  return written(kind, await client.send('DELETE', pathTo(kind, args), before.version), 'deleted');
}

function written(kind: EngageKind, item: EngageView, done: string): Outcome {
  return { text: `The ${kind} ${item.id} ${done} (revision ${item.revision}).`, json: withoutMeta(item) };
}

function definitionOf(item: EngageView): object {
  const { revision: _revision, ...definition } = withoutMeta(item);
  return definition;
}

const collectionOf = (kind: EngageKind, args: Arguments): string =>
  pathOf('sites', args.text('site') ?? '', ENGAGE_PATHS[kind]);

const pathTo = (kind: EngageKind, args: Arguments): string => `${collectionOf(kind, args)}${pathOf(args.subject)}`;

/** @throws UsageError when the file holds no JSON object; what is wrong within is for the service to say. */
function readDefinitionFile(args: Arguments, context: Context): object {
  const path = args.text('file') ?? '';
  const body = parsed(readText(context, path), path);
  if (typeof body === 'object' && body !== null && !Array.isArray(body)) return withTimes(body);
  throw new UsageError('engage_definition_malformed', `${path} does not hold a JSON object`);
}

function parsed(text: string, path: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    // The engine says line and column.
    throw new UsageError('engage_definition_malformed', `${path} is no JSON: ${error.message}`);
  }
}

/** With `starts_at` and `ends_at` in milliseconds, where the file has them as people write dates. */
function withTimes(body: object): object {
  const times = ['starts_at', 'ends_at'].flatMap((name): [string, number][] => {
    const value: unknown = Reflect.get(body, name);
    return typeof value === 'string' ? [[name, readInstant(value, name)]] : [];
  });
  return { ...body, ...Object.fromEntries(times) };
}
