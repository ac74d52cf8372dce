import type { DestinationItem } from '#services/control_api/destination_shapes.ts';
import { renderList, renderTable } from '#services/render.ts';
import { unchanged, withoutMeta } from './changes.ts';
import type { Arguments, Command, Context, OptionSpec, Outcome } from './command.ts';
import { changedSettings, DESTINATION_OPTIONS, DESTINATION_REMOVALS, givenSettings } from './destination_changes.ts';
import { pathOf } from './values.ts';

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
