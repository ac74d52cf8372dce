import { blockRuleText } from '#pipelines/settings/block_rules.ts';
import { readEventDefinition } from '#pipelines/settings/event_definitions.ts';
import { canonicalDomain } from '#pipelines/settings/web_names.ts';
import type { SiteMode } from '#schemas/event.ts';
import type { BlockRule, Site } from '#schemas/setting.ts';
import type { Arguments } from './arguments.ts';
import { edited } from './changes.ts';
import type { Context, OptionSpec } from './command.ts';
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
  'definitions-file': {
    kind: 'text',
    value: 'FILE',
    help: 'JSON array of event definitions, in place of all (- is stdin)',
  },
};

export const SITE_REMOVALS: Record<string, OptionSpec> = {
  'remove-domain': { kind: 'texts', value: 'DOMAIN', help: 'Give up a domain (repeatable)' },
  unblock: { kind: 'texts', value: 'KIND=VALUE', help: 'Remove a block rule (repeatable)' },
  'standard-identify-events': { kind: 'flag', help: 'Back to the standard list of identifying events' },
};

/** The site as the arguments ask for it, not yet checked. */
export function changedSite(site: Site, args: Arguments, context: Context): Site {
  return {
    site_id: site.site_id,
    account_id: args.text('account') ?? site.account_id,
    name: args.text('name') ?? site.name,
    // Whether the words are among those allowed is for the check of the whole site to say.
    mode: (args.text('mode') as SiteMode | undefined) ?? site.mode,
    business_category: args.text('category') ?? site.business_category,
    default_country: orNull(args.text('country')?.toUpperCase(), site.default_country),
    identify_events: identifyEvents(site, args),
    clarity_project_id: orNull(args.text('clarity'), site.clarity_project_id),
    gtm_container_id: orNull(args.text('gtm'), site.gtm_container_id),
    domains: edited(site.domains, domains(args, 'domain'), domains(args, 'remove-domain'), (domain) => domain),
    block_rules: edited(site.block_rules, rules(args, 'block'), rules(args, 'unblock'), blockRuleText),
    event_definitions: definitions(site, args, context),
  };
}

function orNull(given: string | undefined, before: string | null): string | null {
  if (given === undefined) return before;
  return given === '' ? null : given;
}

function identifyEvents(site: Site, args: Arguments): string[] | null {
  const given = args.texts('identify-event');
  if (args.flag('standard-identify-events')) {
    if (given.length > 0) {
      throw new UsageError('flags_conflict', '--identify-event and --standard-identify-events exclude each other');
    }
    return null;
  }
  return given.length > 0 ? given : site.identify_events;
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

function definitions(site: Site, args: Arguments, context: Context): string[] {
  const path = args.text('definitions-file');
  if (path === undefined) return site.event_definitions;
  const list = readJson(readText(context, path));
  if (!Array.isArray(list)) throw new UsageError('event_definition_malformed', `${path} is not a JSON array`);
  return list.map((item: unknown, index) => {
    const result = readEventDefinition(item);
    if (result.ok) return JSON.stringify(result.definition);
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
