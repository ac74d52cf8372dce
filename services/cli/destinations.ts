import { destinationKey } from '#pipelines/settings/address.ts';
import type { Destination } from '#schemas/setting.ts';
import type { Arguments } from './arguments.ts';
import { known, refuseExisting, refuseUnchanged, writeOf } from './changes.ts';
import type { Command, Context, OptionSpec, Outcome } from './command.ts';
import { changedDestination, DESTINATION_OPTIONS, DESTINATION_REMOVALS } from './destination_changes.ts';
import { renderList, renderTable } from './render.ts';

const subject = { name: 'NAME', help: 'the kind of destination, such as meta or webhook' };
const site: OptionSpec = { kind: 'text', value: 'SITE', help: 'The site it belongs to', required: true };
const disabled: OptionSpec = { kind: 'flag', help: 'Create it without sending to it yet' };

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
    run(args, context) {
      const before = find(args, context);
      const after = { ...before, enabled };
      refuseUnchanged(before, after);
      return written(after, context, `${verb}d`);
    },
  };
}

function createDestination(args: Arguments, context: Context): Outcome {
  const siteId = args.text('site') ?? '';
  known(context.table.site(siteId), 'site', siteId);
  refuseExisting(context.table.destination(siteId, args.subject), 'destination', `${args.subject} of site ${siteId}`);
  const blank = { site_id: siteId, name: args.subject, enabled: !args.flag('disabled'), settings: {}, secrets: {} };
  return written(changedDestination(blank, args, context), context, 'created');
}

function setDestination(args: Arguments, context: Context): Outcome {
  const before = find(args, context);
  const after = changedDestination(before, args, context);
  refuseUnchanged(before, after);
  return written(after, context, 'changed');
}

function deleteDestination(args: Arguments, context: Context): Outcome {
  const destination = find(args, context);
  const key = destinationKey(destination.site_id, destination.name);
  return { writes: [{ key, setting: null }], text: `${titleOf(destination)} deleted.`, json: shown(destination) };
}

function find(args: Arguments, { table }: Context): Destination {
  const siteId = args.text('site') ?? '';
  known(table.site(siteId), 'site', siteId);
  return known(table.destination(siteId, args.subject), 'destination', `${args.subject} of site ${siteId}`);
}

function written(destination: Destination, context: Context, done: string): Outcome {
  const text = `${titleOf(destination)} ${done}.`;
  return { writes: [writeOf(context, { destination })], text, json: shown(destination) };
}

const titleOf = ({ name, site_id }: Destination): string => `Destination ${name} of site ${site_id}`;

function listDestinations(args: Arguments, { table }: Context): Outcome {
  const siteId = args.text('site');
  if (siteId !== undefined) known(table.site(siteId), 'site', siteId);
  const destinations = table.destinations().filter((item) => siteId === undefined || item.site_id === siteId);
  const headings = ['SITE', 'DESTINATION', 'STATE', 'SETTINGS', 'SECRETS'];
  const text = renderTable(headings, destinations.map(row), 'There are no destinations.');
  return { writes: [], text, json: destinations.map(shown) };
}

function row(destination: Destination): string[] {
  const settings = Object.entries(destination.settings).map(([name, value]) => `${name}=${value}`);
  return [
    destination.site_id,
    destination.name,
    destination.enabled ? 'enabled' : 'disabled',
    renderList(settings),
    renderList(Object.keys(destination.secrets)),
  ];
}

/** A destination without the values of its secrets, not even sealed. */
function shown(destination: Destination): object {
  return { ...destination, secrets: Object.keys(destination.secrets) };
}
