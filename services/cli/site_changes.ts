import { blockRuleText } from '#pipelines/settings/block_rules.ts';
import { type EventDefinition, readEventDefinition } from '#pipelines/settings/event_definitions.ts';
import { canonicalDomain } from '#pipelines/settings/web_names.ts';
import { type BlockRule, TAG_DEFAULTS, type TagSettings } from '#schemas/setting.ts';
import type { SiteItem } from '#services/control_api/site_shapes.ts';
import { edited, given } from './changes.ts';
import type { Arguments, Context, OptionSpec } from './command.ts';
import { readText } from './inputs.ts';
import { UsageError } from './usage_error.ts';
import { readPair } from './values.ts';

/** What can be given when a site is created and when it is changed. */
export const SITE_OPTIONS: Record<string, OptionSpec> = {
  name: { kind: 'text', value: 'TEXT', help: 'Name shown to people' },
  mode: { kind: 'text', value: 'MODE', help: 'online, or offline: anonymous only, identifiers are stripped' },
  category: { kind: 'text', value: 'CATEGORY', help: 'Business category, such as ecommerce_retail or travel' },
  country: { kind: 'text', value: 'CC', help: 'ISO code; reads national phone numbers ("" for none)' },
  clarity: { kind: 'text', value: 'ID', help: 'Clarity project id ("" for none)' },
  gtm: { kind: 'text', value: 'ID', help: 'Google Tag Manager container id ("" for none)' },
  domain: { kind: 'texts', value: 'DOMAIN', help: 'Claim a first-party domain (repeatable)' },
  block: {
    kind: 'texts',
    value: 'KIND=VALUE',
    help: 'Block rule: ip, user_agent, country, event, distinct_id or property:NAME (repeatable)',
  },
  'identify-event': {
    kind: 'texts',
    value: 'EVENT',
    help: 'Events that stitch identities, in place of the standard list',
  },
  'server-only': {
    kind: 'texts',
    value: 'EVENT',
    help: 'Events that browser keys may not send, as purchase (repeatable)',
  },
  tag: {
    kind: 'texts',
    value: 'NAME=on|off',
    help: `How the tag behaves: ${Object.keys(TAG_DEFAULTS).join(', ')} (repeatable)`,
  },
  'definitions-file': {
    kind: 'text',
    value: 'FILE',
    help: 'JSON array of event definitions, in place of all (- is stdin)',
  },
};

export const SITE_REMOVALS: Record<string, OptionSpec> = {
  'remove-domain': { kind: 'texts', value: 'DOMAIN', help: 'Give up a domain (repeatable)' },
  'browser-too': { kind: 'texts', value: 'EVENT', help: 'Events that browser keys may send again (repeatable)' },
  unblock: { kind: 'texts', value: 'KIND=VALUE', help: 'Remove a block rule (repeatable)' },
  'standard-identify-events': { kind: 'flag', help: 'Back to the standard list of identifying events' },
};

/** The fields that a new site is to have; the others begin with their defaults. Nothing is checked yet. */
export function newFields(args: Arguments, context: Context): object {
  return given({
    account_id: args.text('account'),
    name: args.text('name'),
    mode: args.text('mode'),
    business_category: args.text('category'),
    default_country: orNull(args.text('country')?.toUpperCase()),
    identify_events: identifyEvents(args),
    server_only_events: [...args.texts('server-only')],
    clarity_project_id: orNull(args.text('clarity')),
    gtm_container_id: orNull(args.text('gtm')),
    domains: domains(args, 'domain'),
    tag: tagChange(args),
    block_rules: rules(args, 'block'),
    event_definitions: definitions(args, context),
  });
}

/** The fields that a site is to have instead of its own. @throws UsageError for removing what it does not have. */
export function changedLists(before: SiteItem, args: Arguments, context: Context): object {
  return {
    ...newFields(args, context),
    domains: edited(before.domains, domains(args, 'domain'), domains(args, 'remove-domain'), (domain) => domain),
    server_only_events: edited(
      before.server_only_events,
      [...args.texts('server-only')],
      args.texts('browser-too'),
      (event) => event,
    ),
    tag: { ...before.tag, ...tagChange(args) },
    block_rules: edited(before.block_rules, rules(args, 'block'), rules(args, 'unblock'), blockRuleText),
  };
}

function orNull(text: string | undefined): string | null | undefined {
  return text === '' ? null : text;
}

function identifyEvents(args: Arguments): string[] | null | undefined {
  const events = args.texts('identify-event');
  if (args.flag('standard-identify-events')) {
    if (events.length > 0) {
      throw new UsageError('flags_conflict', '--identify-event and --standard-identify-events exclude each other');
    }
    return null;
  }
  return events.length > 0 ? events : undefined;
}

/** Undefined where nothing is to change. */
function tagChange(args: Arguments): Partial<TagSettings> | undefined {
  const entries = args.texts('tag').map((text) => {
    const [name, value] = readPair(text, 'tag');
    if (!(name in TAG_DEFAULTS)) throw new UsageError('tag_setting_unknown', `the tag has no setting ${name}`);
    if (value !== 'on' && value !== 'off') throw new UsageError('tag_setting_malformed', `--tag ${name} is on or off`);
    return [name, value === 'on'];
  });
  return entries.length === 0 ? undefined : (Object.fromEntries(entries) as Partial<TagSettings>);
}

/** Typed names are brought into their canonical form; what has none is left for the check to refuse. */
function domains(args: Arguments, option: string): string[] {
  return args.texts(option).map((text) => canonicalDomain(text) ?? text);
}

function rules(args: Arguments, option: string): BlockRule[] {
  return args.texts(option).map((text) => {
    const [left, value] = readPair(text, option);
    const [kind = '', ...property] = left.split(':');
    const name = property.length > 0 ? property.join(':') : null;
    return { kind: kind as BlockRule['kind'], value, property: name };
  });
}

function definitions(args: Arguments, context: Context): EventDefinition[] | undefined {
  const path = args.text('definitions-file');
  if (path === undefined) return undefined;
  const list = readJson(readText(context, path));
  if (!Array.isArray(list)) throw new UsageError('event_definition_malformed', `${path} is not a JSON array`);
  return list.map((item: unknown, index) => {
    const result = readEventDefinition(item);
    if (result.ok) return result.definition;
    throw new UsageError('event_definition_malformed', `definition ${index + 1}: ${result.message}`);
  });
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) throw new UsageError('event_definition_malformed', 'the file is not JSON');
    throw error;
  }
}
