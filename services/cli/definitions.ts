// Commands of what a site keeps as definitions in JSON: surveys, promos, forms, saved queries and boards of them.
import { ENGAGE_PATHS, type EngageView } from '#services/control_api/engage.ts';
import type { SavedView } from '#services/control_api/queries.ts';
import {
  type Arguments,
  type Columns,
  type Command,
  done,
  listCommand,
  pathInSite,
  remove,
  requiredOption,
  siteOption,
  UsageError,
  withoutMeta,
} from './command.ts';
import { instantOf, readObject, readText } from './read.ts';

const ENGAGE_COLUMNS: Columns<EngageView> = {
  ID: 'id',
  NAME: 'name',
  STATE: ({ enabled }) => (enabled ? 'enabled' : 'disabled'),
  REVISION: 'revision',
  PRIORITY: 'priority',
  SHARE: ({ share_percent }) => `${share_percent}%`,
  BEGINS: 'starts_at',
  ENDS: 'ends_at',
};
const SAVED_COLUMNS: Columns<SavedView> = { ID: 'id', NAME: 'name', OWNER: 'owner', REVISION: 'revision' };

export const definitionCommands: Command[] = [
  ...commandsOf<EngageView>('survey', ENGAGE_PATHS.survey, ENGAGE_COLUMNS),
  ...commandsOf<EngageView>('promo', ENGAGE_PATHS.promo, ENGAGE_COLUMNS),
  ...commandsOf<EngageView>('form', ENGAGE_PATHS.form, ENGAGE_COLUMNS),
  ...commandsOf<SavedView>('question', 'questions', SAVED_COLUMNS),
  ...commandsOf<SavedView>('board', 'boards', SAVED_COLUMNS),
];

/** The same commands for each kind. */
function commandsOf<View extends EngageView | SavedView>(
  kind: string,
  collection: string,
  columns: Columns<View>,
): Command[] {
  const subject = `id of the ${kind}`;
  const pathTo = (args: Arguments): string => pathInSite(args, collection, args.subject);
  return [
    listCommand<View>({
      noun: kind,
      summary: `List the ${collection} of a site`,
      path: (args) => pathInSite(args, collection),
      options: [siteOption],
      columns,
      whenEmpty: `The site has no ${collection}.`,
      examples: [`${kind} list --site shop`, `${kind} list --site shop --json`],
    }),
    {
      usage: `${kind} save`,
      summary: `Add a ${kind} to a site, or replace the one of its id; what the file leaves out has its default`,
      options: [siteOption, requiredOption('file <FILE>', 'The definition as JSON (- is stdin)')],
      examples: [`${kind} save --site shop --file ${kind}.json`],
      async run(args, { client, ...context }) {
        const path = args.required('file');
        const body = withTimes(readObject(readText(context, path), 'definition_malformed', path));
        const at = typeof body['id'] === 'string' ? pathInSite(args, collection, body['id']) : null;
        const before = at === null ? undefined : await client.find<View>(at);
        const item =
          at === null || before === undefined
            ? await client.send<View>('POST', pathInSite(args, collection), null, body)
            : await client.send<View>('PUT', at, before.version, body);
        return done(`The ${kind} ${item.id} saved (revision ${item.revision}).`, item);
      },
    },
    {
      usage: `${kind} show <ID>`,
      summary: `Show a ${kind}, as a file for save has it`,
      subject,
      options: [siteOption],
      examples: [`${kind} show ID --site shop`],
      async run(args, { client }) {
        const { revision: _revision, ...definition } = withoutMeta(await client.get<SavedView>(pathTo(args)));
        return { text: JSON.stringify(definition, null, 2), json: definition };
      },
    },
    {
      usage: `${kind} delete <ID>`,
      summary: `Delete a ${kind}; events and results stay`,
      subject,
      options: [siteOption],
      examples: [`${kind} delete ID --site shop`],
      async run(args, { client }) {
        const item = await remove<View>(client, pathTo(args));
        return done(`The ${kind} ${item.id} deleted.`, item);
      },
    },
  ];
}

/** With `starts_at` and `ends_at` in milliseconds, where the file has them as people write dates. */
function withTimes(body: Record<string, unknown>): Record<string, unknown> {
  const times = ['starts_at', 'ends_at'].flatMap((field) => {
    const value = body[field];
    return typeof value === 'string' ? [[field, readInstant(value, field)] as const] : [];
  });
  return { ...body, ...Object.fromEntries(times) };
}

function readInstant(text: string, field: string): number {
  const instantMs = instantOf(text);
  if (instantMs !== null) return instantMs;
  const forms = 'a date (2027-01-31) nor a time with its offset (2027-01-31T08:00Z)';
  throw new UsageError('moment_malformed', `${field} is neither ${forms}`);
}
