// Commands of destinations.
import type { DestinationItem } from '#services/control_api/destinations.ts';
import { renderList, renderTable } from '#services/stage/terminal.ts';
import {
  type Arguments,
  type Command,
  type Context,
  type OptionSpec,
  type Outcome,
  pathOf,
  readPair,
  readText,
  UsageError,
  unchanged,
  withoutMeta,
} from './command.ts';

const subject = { name: 'NAME', help: 'the kind of destination, such as meta or webhook' };
const site: OptionSpec = { kind: 'text', value: 'SITE', help: 'The site it belongs to', required: true };
const disabled: OptionSpec = { kind: 'flag', help: 'Create it without sending to it yet' };

/** What can be given when a destination is created and when it is changed. */
const DESTINATION_OPTIONS: Record<string, OptionSpec> = {
  set: { kind: 'texts', value: 'NAME=VALUE', help: 'A setting (repeatable)' },
  secret: { kind: 'texts', value: 'NAME=VALUE', help: 'A secret; shells keep what is typed, so prefer the next two' },
  'secret-file': { kind: 'texts', value: 'NAME=FILE', help: 'A secret, read from a file (repeatable)' },
  'secret-stdin': { kind: 'text', value: 'NAME', help: 'A secret, read from standard input' },
};

const DESTINATION_REMOVALS: Record<string, OptionSpec> = {
  unset: { kind: 'texts', value: 'NAME', help: 'Remove a setting or secret (repeatable)' },
};

export const destinationCommands: Command[] = [
  {
    noun: 'destination',
    verb: 'list',
    summary: 'List destinations; of secrets, only the names',
    subject: null,
    options: { site: { kind: 'text', value: 'SITE', help: 'Only destinations of this site' } },
    examples: ['destination list', 'destination list --site shop --json'],
    run: listDestinations,
  },
  {
    noun: 'destination',
    verb: 'create',
    summary: 'Send the events of a site to a destination',
    subject,
    options: { site, ...DESTINATION_OPTIONS, disabled },
    examples: [
      'destination create meta --site shop --set pixel_id=1234567890 --secret-file access_token=token.txt',
      'destination create webhook --site shop --set url=https://crm.example/hook --secret-stdin secret < secret.txt',
    ],
    run: createDestination,
  },
  {
    noun: 'destination',
    verb: 'set',
    summary: 'Change the settings or secrets of a destination',
    subject,
    options: { site, ...DESTINATION_OPTIONS, ...DESTINATION_REMOVALS },
    examples: [
      'destination set meta --site shop --set version=v25.0 --unset test_event_code',
      'destination set meta --site shop --secret-file access_token=token.txt',
    ],
    run: setDestination,
  },
  switchCommand('enable', 'Send to a destination again', true),
  switchCommand('disable', 'Stop sending to a destination, and keep its settings', false),
  {
    noun: 'destination',
    verb: 'delete',
    summary: 'Remove a destination with its settings and secrets',
    subject,
    options: { site },
    examples: ['destination delete meta --site shop'],
    run: deleteDestination,
  },
];

function switchCommand(verb: string, summary: string, enabled: boolean): Command {
  return {
    noun: 'destination',
    verb,
    summary,
    subject,
    options: { site },
    examples: [`destination ${verb} meta --site shop`],
    async run(args, { client }) {
      const before = await client.get<DestinationItem>(pathTo(args));
      if (before.enabled === enabled) throw unchanged();
      return written(await client.send('PATCH', pathTo(args), before.version, { enabled }), `${verb}d`);
    },
  };
}

async function createDestination(args: Arguments, context: Context): Promise<Outcome> {
  const body = { name: args.subject, enabled: !args.flag('disabled'), ...givenSettings(args, context) };
  const path = `${pathOf('sites', args.text('site') ?? '')}/destinations`;
  return written(await context.client.send('POST', path, null, body), 'created');
}

async function setDestination(args: Arguments, context: Context): Promise<Outcome> {
  const before = await context.client.get<DestinationItem>(pathTo(args));
  const change = changedSettings(before, args, context);
  return written(await context.client.send('PATCH', pathTo(args), before.version, change), 'changed');
}

async function deleteDestination(args: Arguments, { client }: Context): Promise<Outcome> {
  const before = await client.get<DestinationItem>(pathTo(args));
  return written(await client.send('DELETE', pathTo(args), before.version), 'deleted');
}

function pathTo(args: Arguments): string {
  return pathOf('sites', args.text('site') ?? '', 'destinations', args.subject);
}

function written(destination: DestinationItem, done: string): Outcome {
  const text = `Destination ${destination.name} of site ${destination.site_id} ${done}.`;
  return { text, json: withoutMeta(destination) };
}

async function listDestinations(args: Arguments, { client }: Context): Promise<Outcome> {
  const destinations = await client.list<DestinationItem>('/destinations', { site_id: args.text('site') });
  const headings = ['SITE', 'DESTINATION', 'STATE', 'SETTINGS', 'SECRETS'];
  const text = renderTable(headings, destinations.map(row), 'There are no destinations.');
  return { text, json: destinations.map(withoutMeta) };
}

function row(destination: DestinationItem): string[] {
  const settings = Object.entries(destination.settings).map(([name, value]) => `${name}=${value}`);
  return [
    destination.site_id,
    destination.name,
    destination.enabled ? 'enabled' : 'disabled',
    renderList(settings),
    renderList(destination.secrets),
  ];
}

/** Settings and secrets that were given. */
function givenSettings(args: Arguments, context: Context) {
  return { settings: pairs(args.texts('set'), 'set'), secrets: givenSecrets(args, context) };
}

/**
 * What is to be set and, by null, removed. A secret that is given again counts as changed: nobody can say whether it is.
 *
 * @throws UsageError for removing what is not there, and when nothing would change.
 */
function changedSettings(before: DestinationItem, args: Arguments, context: Context): object {
  const removed = args.texts('unset');
  refuseAbsent(before, removed);
  const { settings, secrets } = givenSettings(args, context);
  const isChanged = Object.entries(settings).some(([name, value]) => before.settings[name] !== value);
  if (!isChanged && removed.length === 0 && Object.keys(secrets).length === 0) throw unchanged();
  const nulls = (names: string[]) =>
    Object.fromEntries(removed.filter((name) => names.includes(name)).map((name) => [name, null]));
  return {
    settings: { ...nulls(Object.keys(before.settings)), ...settings },
    secrets: { ...nulls(before.secrets), ...secrets },
  };
}

/** @throws UsageError when a secret is given twice, in whatever way: which one counts would be a guess. */
function givenSecrets(args: Arguments, context: Context): Record<string, string> {
  const typed = args.texts('secret').map((text) => readPair(text, 'secret'));
  const files = args.texts('secret-file').map((text) => {
    const [name, path] = readPair(text, 'secret-file');
    return [name, withoutLineEnd(readText(context, path))] as const;
  });
  const piped = args.text('secret-stdin');
  const stdin = piped === undefined ? [] : [[piped, withoutLineEnd(context.readStdin())] as const];
  return uniquePairs([...typed, ...files, ...stdin], 'secret');
}

/** Editors and echo end a file with a line break that is no part of the secret. */
function withoutLineEnd(text: string): string {
  return text.replace(/\r?\n$/, '');
}

function pairs(texts: string[], option: string): Record<string, string> {
  return uniquePairs(
    texts.map((text) => readPair(text, option)),
    option,
  );
}

function uniquePairs(entries: (readonly [string, string])[], option: string): Record<string, string> {
  const names = entries.map(([name]) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new UsageError('pair_repeated', `the ${option} ${twice} is given twice`);
  return Object.fromEntries(entries);
}

function refuseAbsent(before: DestinationItem, removed: readonly string[]): void {
  const there = [...Object.keys(before.settings), ...before.secrets];
  const absent = removed.find((name) => !there.includes(name));
  if (absent !== undefined) throw new UsageError('not_there', `${absent} is not set, so it cannot be removed`);
}
