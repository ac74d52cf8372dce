// Commands of sites and their domains.
import { canonicalDomain } from '#pipelines/settings/domains.ts';
import { type EventDefinition, readEventDefinition } from '#pipelines/settings/event_definitions.ts';
import { blockRuleText } from '#pipelines/settings/validate.ts';
import { type BlockRule, TAG_DEFAULTS, type TagSettings } from '#schemas/setting.ts';
import { pathOf } from '#services/control_api/client.ts';
import type { ChangedSite, DomainItem, SiteItem, StillWorks } from '#services/control_api/sites.ts';
import { renderList, renderTable } from '#services/stage/terminal.ts';
import {
  type Arguments,
  type Command,
  type Context,
  change,
  done,
  listCommand,
  type Outcome,
  option,
  pathInSite,
  repeatableOption,
  requiredOption,
  UsageError,
} from './command.ts';
import { changedFields, edited, given, optional, readJson, readPair, readText } from './read.ts';

const subject = 'its id: lower-case letters, digits, - and _';

/** What can be given when a site is created and when it is changed. */
const SITE_OPTIONS = [
  option('name <TEXT>', 'Name shown to people'),
  option('mode <MODE>', 'online, or offline: anonymous only, identifiers are stripped'),
  option('category <CATEGORY>', 'Business category, such as ecommerce_retail or travel'),
  option('country <CC>', 'ISO code; reads national phone numbers ("" for none)'),
  option('clarity <ID>', 'Clarity project id ("" for none)'),
  option('gtm <ID>', 'Google Tag Manager container id ("" for none)'),
  repeatableOption('domain <DOMAIN>', 'Claim a first-party domain'),
  repeatableOption('block <KIND=VALUE>', 'Block rule: ip, user_agent, country, event, distinct_id or property:NAME'),
  repeatableOption('identify-event <EVENT>', 'Events that stitch identities, in place of the standard list'),
  repeatableOption('server-only <EVENT>', 'Events that browser keys may not send, as purchase'),
  repeatableOption('tag <NAME=on|off>', `How the tag behaves: ${Object.keys(TAG_DEFAULTS).join(', ')}`),
  option('definitions-file <FILE>', 'JSON array of event definitions, in place of all (- is stdin)'),
];

export const siteCommands: Command[] = [
  listCommand<SiteItem>({
    noun: 'site',
    summary: 'List sites',
    path: '/sites',
    options: [option('account <ACCOUNT>', 'Only sites of this account')],
    filters: { account: 'account_id' },
    columns: {
      SITE: 'site_id',
      ACCOUNT: 'account_id',
      NAME: 'name',
      MODE: 'mode',
      CATEGORY: 'business_category',
      COUNTRY: 'default_country',
      DOMAINS: 'domains',
      BLOCKS: ({ block_rules }) => block_rules.length,
      DEFINITIONS: ({ event_definitions }) => event_definitions.length,
    },
    whenEmpty: 'There are no sites.',
  }),
  {
    usage: 'site create <SITE>',
    summary: 'Create a site',
    subject,
    options: [requiredOption('account <ACCOUNT>', 'The account it belongs to'), ...SITE_OPTIONS],
    examples: [
      'site create shop --account acme --category ecommerce_retail --country BE',
      'site create travel --account acme --mode offline --domain t.travel.example --block ip=203.0.113.0/24',
    ],
    async run(args, context) {
      const body = { site_id: args.subject, ...newFields(args, context) };
      const site = await context.client.send<SiteItem>('POST', '/sites', null, body);
      return done(`Site ${site.site_id} created.`, site);
    },
  },
  {
    usage: 'site set <SITE>',
    summary: 'Change a site',
    subject,
    options: [
      option('account <ACCOUNT>', 'Move it to this account'),
      repeatableOption('end-access <KIND>', 'Revoke access given in the site itself: grants, tokens, keys, analysts'),
      ...SITE_OPTIONS,
      repeatableOption('remove-domain <DOMAIN>', 'Release a domain'),
      repeatableOption('browser-too <EVENT>', 'Events that browser keys may send again'),
      repeatableOption('unblock <KIND=VALUE>', 'Remove a block rule'),
      option('standard-identify-events', 'Back to the standard list of identifying events'),
    ],
    examples: [
      'site set shop --mode offline',
      'site set shop --account rival --end-access grants --end-access tokens --end-access analysts',
      'site set shop --domain t.shop.example --remove-domain old.shop.example',
      'site set shop --block property:plan=internal --unblock user_agent=BadBot',
      'site set shop --tag consent_required=on --tag inventory=off',
      'site set shop --definitions-file events.json',
    ],
    async run(args, context) {
      const end_access = optional(args.texts('end-access'));
      const site = await change<ChangedSite>(context.client, pathOf('sites', args.subject), (before) =>
        changedFields(before, given({ ...changedLists(before, args, context), end_access })),
      );
      const lines = site.still_works === undefined ? [] : accessLines(site.still_works);
      return done([`Site ${site.site_id} changed.`, ...lines].join('\n'), site);
    },
  },
];

function accessLines({ grants, tokens, keys, analysts }: StillWorks): string[] {
  const lines = [
    ['Users', grants.map(({ user_id, role }) => `${user_id} (${role})`)],
    ['Tokens', tokens.map(({ label }) => label)],
    ['Keys', keys.map(({ shown_prefix, label }) => `${shown_prefix}${label === '' ? '' : ` (${label})`}`)],
    ['ClickHouse users', analysts?.map(({ analyst_id }) => analyst_id) ?? ['ClickHouse does not answer']],
  ] as const;
  return [
    'Access given in the site itself that still works:',
    ...lines.map(([of, names]) => `${of}: ${renderList(names)}`),
  ];
}

/** The fields that a new site is to have; the others begin with their defaults. Nothing is checked yet. */
function newFields(args: Arguments, context: Context): object {
  return given({
    account_id: args.text('account'),
    name: args.text('name'),
    mode: args.text('mode'),
    business_category: args.text('category'),
    default_country: orNull(args.text('country')?.toUpperCase()),
    identify_events: identifyEvents(args),
    server_only_events: args.texts('server-only'),
    clarity_project_id: orNull(args.text('clarity')),
    gtm_container_id: orNull(args.text('gtm')),
    domains: domains(args, 'domain'),
    tag: tagChange(args),
    block_rules: rules(args, 'block'),
    event_definitions: definitions(args, context),
  });
}

/** The fields that a site is to have instead of its own. @throws UsageError for removing what it does not have. */
function changedLists(before: SiteItem, args: Arguments, context: Context): object {
  return {
    ...newFields(args, context),
    domains: edited(before.domains, domains(args, 'domain'), domains(args, 'remove-domain')),
    server_only_events: edited(before.server_only_events, args.texts('server-only'), args.texts('browser-too')),
    tag: { ...before.tag, ...tagChange(args) },
    block_rules: edited(before.block_rules, rules(args, 'block'), rules(args, 'unblock'), blockRuleText),
  };
}

function orNull(text: string | undefined): string | null | undefined {
  return text === '' ? null : text;
}

function identifyEvents(args: Arguments): string[] | null | undefined {
  const events = optional(args.texts('identify-event'));
  if (!args.flag('standard-identify-events')) return events;
  if (events === undefined) return null;
  throw new UsageError('flags_conflict', '--identify-event and --standard-identify-events exclude each other');
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
  const list = readJson(readText(context, path), 'event_definition_malformed', path);
  if (!Array.isArray(list)) throw new UsageError('event_definition_malformed', `${path} is not a JSON array`);
  return list.map((item: unknown, index) => {
    const result = readEventDefinition(item);
    if (result.ok) return result.definition;
    throw new UsageError('event_definition_malformed', `definition ${index + 1}: ${result.message}`);
  });
}

const claimedBy = requiredOption('site <SITE>', 'The site that has claimed it');
const domainSubject = 'such as t.shop.example';
const domainPath = (args: Arguments): string => pathInSite(args, 'domains', args.subject);

const SAID = {
  pending: 'It is served once one of these DNS records is found; they are checked regularly, and by domain verify:',
  failing: 'Its DNS record is missing. It is still served for a while; set one of these again:',
  lapsed: 'Its DNS record was missing for too long, and it is no longer served. Set one of these again:',
} as const;

export const domainCommands: Command[] = [
  listCommand<DomainItem>({
    noun: 'domain',
    summary: 'List claimed domains, and whether they are verified',
    path: '/domains',
    options: [option('site <SITE>', 'Only domains of this site')],
    filters: { site: 'site_id' },
    columns: {
      DOMAIN: 'domain',
      SITE: 'site_id',
      STATE: 'state',
      VERIFIED: 'verified_at',
      'FAILING SINCE': 'failing_since',
      LAPSES: 'lapses_at',
    },
    whenEmpty: 'No domains are claimed.',
  }),
  {
    usage: 'domain claim <DOMAIN>',
    summary: 'Claim a first-party domain, and show the DNS record to set',
    subject: domainSubject,
    options: [requiredOption('site <SITE>', 'The site to claim it for')],
    examples: ['domain claim t.shop.example --site shop'],
    run: async (args, { client }) => domainText(await client.send<DomainItem>('PUT', domainPath(args), null)),
  },
  {
    usage: 'domain show <DOMAIN>',
    summary: 'Show a claimed domain, and the DNS record to set',
    subject: domainSubject,
    options: [claimedBy],
    examples: ['domain show t.shop.example --site shop'],
    run: async (args, { client }) => domainText(await client.get<DomainItem>(domainPath(args))),
  },
  {
    usage: 'domain verify <DOMAIN>',
    summary: 'Check the DNS record of a domain now; exit status 1 while it is missing',
    subject: domainSubject,
    options: [claimedBy],
    examples: ['domain verify t.shop.example --site shop'],
    async run(args, { client }) {
      const item = await client.send<DomainItem>('POST', `${domainPath(args)}/verify`, null);
      return { ...domainText(item), isPartial: item.state !== 'verified' };
    },
  },
  {
    usage: 'domain release <DOMAIN>',
    summary: 'Release a domain',
    subject: domainSubject,
    options: [claimedBy],
    examples: ['domain release t.shop.example --site shop'],
    async run(args, { client }) {
      const item = await client.send<DomainItem>('DELETE', domainPath(args), null);
      return done(`Domain ${item.domain} released.`, item);
    },
  },
  {
    usage: 'domain prefix <SITE>',
    summary:
      "Rotate the random folder of the site's domains under which vendors' scripts and collectors are served too",
    options: [option('remove', 'Remove the folder')],
    examples: ['domain prefix shop', 'domain prefix shop --remove'],
    async run(args, { client }) {
      const path = pathOf('sites', args.subject, 'loader-prefix');
      const method = args.flag('remove') ? 'DELETE' : 'PUT';
      const { site_id, loader_prefix } = await client.send<SiteItem>(method, path, null);
      const said = loader_prefix === null ? 'has no prefix.' : `has the prefix /${loader_prefix}.`;
      return { text: `Site ${site_id} ${said}`, json: { site_id, loader_prefix } };
    },
  },
];

function domainText(item: DomainItem): Outcome {
  const { domain, site_id, state, records } = item;
  const lines = [`${domain} of site ${site_id}: ${state}.`];
  if (state !== 'verified') lines.push('', SAID[state], '', recordTable(records), '', addressHint(item));
  return { text: lines.join('\n'), json: item };
}

/** What proves a domain does not bring its traffic, but for an alias. */
function addressHint({ domain, records: { cname } }: DomainItem): string {
  const unless = cname === null ? '' : 'The CNAME brings the traffic too. With the TXT record: ';
  return `${unless}${domain} itself has to lead to the edge, by an A, AAAA or CNAME record to the address that the operator names.`;
}

function recordTable({ txt, cname }: DomainItem['records']): string {
  const rows = [['TXT', txt.name, txt.value], ...(cname === null ? [] : [['CNAME', cname.name, cname.value]])];
  return renderTable(['TYPE', 'NAME', 'VALUE'], rows, '');
}
