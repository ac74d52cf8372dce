// Commands of destinations, and how they do.
import { isDeepStrictEqual } from 'node:util';
import { randomSigningSecret } from '#pipelines/settings/secrets.ts';
import type {
  DestinationItem,
  HealthItem,
  PreviewAnswer,
  PreviewItem,
  RuleItem,
} from '#services/control_api/destinations.ts';
import { renderTime } from '#services/stage/terminal.ts';
import {
  type Arguments,
  type Columns,
  type Command,
  type Commands,
  type Context,
  change,
  done,
  doneOnce,
  list,
  type Outcome,
  option,
  pathInSite,
  remove,
  repeatableOption,
  send,
  siteOption,
  table,
  UsageError,
  withoutMeta,
} from './command.ts';
import { readCount, readJson, readPair, readText, unchanged } from './read.ts';

const subject = 'its id: the kind, such as meta or webhook, or another of a kind, as webhook-crm';

const rulesOption = option('rules <FILE>', 'Its rules, a list in JSON read from a file; an empty one removes them');

/** What can be given when a destination is created and when it is changed. */
const SETTINGS = [
  repeatableOption('set <NAME=VALUE>', 'A setting'),
  repeatableOption('secret <NAME=VALUE>', 'A secret; shells keep what is typed, so prefer the next two'),
  repeatableOption('secret-file <NAME=FILE>', 'A secret, read from a file'),
  option('secret-stdin <NAME>', 'A secret, read from standard input'),
  option('generate <NAME>', 'A signing secret of a webhook, made here and shown once'),
  rulesOption,
];

export const destinationCommands: Commands = {
  'destination list': list<DestinationItem>({
    summary: 'List destinations; of secrets, only the names',
    path: '/destinations',
    options: [option('site <SITE>', 'Only destinations of this site', 'site_id')],
    columns: {
      SITE: 'site_id',
      DESTINATION: 'name',
      STATE: ({ enabled }) => (enabled ? 'enabled' : 'disabled'),
      SETTINGS: ({ settings }) => Object.entries(settings).map(([name, value]) => `${name}=${value}`),
      SECRETS: 'secrets',
    },
    whenEmpty: 'There are no destinations.',
  }),
  'destination create <NAME>': {
    summary: 'Add a destination to a site',
    subject,
    options: [siteOption, ...SETTINGS, option('disabled', 'Create it without sending to it yet')],
    examples: [
      'destination create meta --site shop --set pixel_id=1234567890 --secret-file access_token=token.txt',
      'destination create webhook-crm --site shop --set url=https://crm.example/hook --secret-stdin secret < secret.txt',
    ],
    async run(args, context) {
      const { generated, ...given } = givenSettings(args, context);
      const body = { name: args.subject, enabled: !args.flag('disabled'), ...given };
      return told(
        await context.client.send('POST', pathInSite(args, 'destinations'), null, body),
        'created',
        generated,
      );
    },
  },
  'destination set <NAME>': {
    summary: 'Change the settings or secrets of a destination',
    subject,
    options: [siteOption, ...SETTINGS, repeatableOption('unset <NAME>', 'Remove a setting or secret')],
    examples: [
      'destination set meta --site shop --set version=v25.0 --unset test_event_code',
      'destination set meta --site shop --secret-file access_token=token.txt',
    ],
    async run(args, context) {
      const { generated, ...given } = givenSettings(args, context);
      const changed = await change<DestinationItem>(context.client, pathTo(args), (before) =>
        changedSettings(before, args, given),
      );
      return told(changed, 'changed', generated);
    },
  },
  'destination rules <NAME>': {
    summary: 'Show what the rules of a destination make of events; change them with destination set --rules',
    subject,
    options: [siteOption],
    examples: ['destination rules webhook --site shop', 'destination rules webhook --site shop --json'],
    async run(args, { client }) {
      const { rules } = await client.get<DestinationItem>(pathTo(args));
      return { text: table(RULE_COLUMNS, rules, 'It has no rules: every event is sent as it is.'), json: rules };
    },
  },
  'destination preview <NAME>': {
    summary: "Show what its rules, or others, would make of the site's newest events; nothing is sent",
    subject,
    options: [siteOption, rulesOption, option('limit <N>', 'How many events', 'limit', readCount)],
    examples: ['destination preview webhook --site shop --rules rules.json --limit 50'],
    async run(args, context) {
      const body = { ...args.fields(), ...givenRules(args, context) };
      const path = pathInSite(args, 'destinations', args.subject, 'rules', 'preview');
      const { items } = await context.client.send<PreviewAnswer>('POST', path, null, body);
      return { text: table(PREVIEW_COLUMNS, items, 'There were no events in the last seven days.'), json: items };
    },
  },
  'destination enable <NAME>': switchCommand('enable', 'Send to a destination again', true),
  'destination disable <NAME>': switchCommand('disable', 'Stop sending to a destination, and keep its settings', false),
  'destination retry <NAME>': {
    summary: 'Try what waits for a destination again now, as after a repair',
    subject,
    options: [siteOption],
    examples: ['destination retry webhook --site shop'],
    run: send<DestinationItem>(
      'POST',
      (args) => pathInSite(args, 'destinations', args.subject, 'retry'),
      ({ name, site_id }) => done(`What waits for destination ${name} of site ${site_id} is tried again now.`, {}),
      () => ({}),
    ),
  },
  'destination delete <NAME>': {
    summary: 'Remove a destination with its settings and secrets',
    subject,
    options: [siteOption],
    examples: ['destination delete meta --site shop'],
    run: async (args, { client }) => told(await remove(client, pathTo(args)), 'deleted'),
  },
  'destination health': list<HealthItem>({
    summary: 'Show the health of destinations over the last 24 hours',
    path: '/delivery-health',
    isWhole: true,
    options: [
      option('site <SITE>', 'Only this site', 'site_id'),
      option('destination <NAME>', 'Only destinations with this id', 'destination'),
    ],
    examples: ['destination health', 'destination health --destination meta --json'],
    columns: {
      SITE: 'site_id',
      DESTINATION: 'destination',
      STATE: ({ state, reason }) => (reason === '' ? state : `${state} (${reason})`),
      DELIVERED: 'delivered',
      WAITING: 'waiting',
      DEAD: 'dead',
      SKIPPED: ({ skipped }) => Object.entries(skipped).map(([reason, count]) => `${reason}=${count}`),
      'AGE P99': ({ delivered, age_ms }) => (delivered === 0 ? null : `${(age_ms.p99 / 1000).toFixed(1)} s`),
      'LAST DELIVERED': ({ delivered_at }) => renderTime(delivered_at),
      'LAST FAILURE': ({ failed_at, failed_reason }) =>
        failed_at === null ? null : `${renderTime(failed_at)} ${failed_reason}`,
    },
    whenEmpty: 'Nothing was delivered in the last 24 hours.',
  }),
};

const RULE_COLUMNS: Columns<RuleItem> = {
  EVENTS: ({ events }) => (events.length === 0 ? '*' : events),
  SENT: ({ send }) => (send ? 'yes' : 'no'),
  AS: 'rename_to',
  WITHOUT: 'drop_properties',
};
const PREVIEW_COLUMNS: Columns<PreviewItem> = {
  RECEIVED: ({ received_at }) => renderTime(received_at),
  EVENT: 'event',
  'SENT AS': 'sent_as',
  SKIPPED: 'skipped',
  RULE: ({ rule }) => (rule === null ? null : rule + 1),
  WITHOUT: 'dropped',
};

const pathTo = (args: Arguments): string => pathInSite(args, 'destinations', args.subject);

function told(destination: DestinationItem, what: string, generated: string | null = null): Outcome {
  const title = `Destination ${destination.name} of site ${destination.site_id} ${what}.`;
  return generated === null ? done(title, destination) : doneOnce(title, generated, withoutMeta(destination));
}

function switchCommand(verb: string, summary: string, enabled: boolean): Command {
  return {
    summary,
    subject,
    options: [siteOption],
    examples: [`destination ${verb} meta --site shop`],
    async run(args, { client }) {
      const destination = await change<DestinationItem>(client, pathTo(args), (before) => {
        if (before.enabled === enabled) throw unchanged();
        return { enabled };
      });
      return told(destination, `${verb}d`);
    },
  };
}

function givenSettings(args: Arguments, context: Context) {
  const settings = args.texts('set').map((text) => readPair(text, 'set'));
  const named = args.text('generate');
  const generated = named === undefined ? null : randomSigningSecret(context.randomBytes);
  const secrets = givenSecrets(args, context, generated === null ? [] : [[named ?? '', generated]]);
  return { settings: uniquePairs(settings, 'set'), secrets, ...givenRules(args, context), generated };
}

/** @throws UsageError when the file holds no JSON; what is wrong within is for the service to say. */
function givenRules(args: Arguments, context: Context): { rules?: unknown } {
  const path = args.text('rules');
  return path === undefined ? {} : { rules: readJson(readText(context, path), 'rules_malformed', path) };
}

/**
 * What is to be set and, by null, removed. A secret that is given again counts as changed: nobody can say whether it is.
 *
 * @throws UsageError for removing what is not there, and when nothing would change.
 */
function changedSettings(
  before: DestinationItem,
  args: Arguments,
  { settings, secrets, ...rest }: Omit<ReturnType<typeof givenSettings>, 'generated'>,
): object {
  const removed = args.texts('unset');
  const present = [...Object.keys(before.settings), ...before.secrets];
  const absent = removed.find((name) => !present.includes(name));
  if (absent !== undefined) throw new UsageError('not_there', `${absent} is not set, so it cannot be removed`);
  const isChanged = Object.entries(settings).some(([name, value]) => before.settings[name] !== value);
  const hasRules = 'rules' in rest && !isDeepStrictEqual(rest.rules, before.rules);
  if (!isChanged && !hasRules && removed.length === 0 && Object.keys(secrets).length === 0) throw unchanged();
  const nulls = (names: string[]) =>
    Object.fromEntries(removed.filter((name) => names.includes(name)).map((name) => [name, null]));
  return {
    settings: { ...nulls(Object.keys(before.settings)), ...settings },
    secrets: { ...nulls(before.secrets), ...secrets },
    ...rest,
  };
}

/** @throws UsageError when a secret is given twice, in whatever way: which one counts would be a guess. */
function givenSecrets(args: Arguments, context: Context, generated: [string, string][]): Record<string, string> {
  const typed = args.texts('secret').map((text) => readPair(text, 'secret'));
  const files = args.texts('secret-file').map((text) => {
    const [name, path] = readPair(text, 'secret-file');
    return [name, withoutLineEnd(readText(context, path))] as const;
  });
  const piped = args.text('secret-stdin');
  const stdin = piped === undefined ? [] : [[piped, withoutLineEnd(context.readStdin())] as const];
  return uniquePairs([...typed, ...files, ...stdin, ...generated], 'secret');
}

/** Editors and echo end a file with a line break that is no part of the secret. */
function withoutLineEnd(text: string): string {
  return text.replace(/\r?\n$/, '');
}

function uniquePairs(entries: (readonly [string, string])[], what: string): Record<string, string> {
  const names = entries.map(([name]) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new UsageError('pair_repeated', `the ${what} ${twice} is given twice`);
  return Object.fromEntries(entries);
}
