// Commands of sites and their domains.
import { canonicalDomain } from '#pipelines/settings/domains.ts';
import { type EventDefinition, readEventDefinition } from '#pipelines/settings/event_definitions.ts';
import { blockRuleText } from '#pipelines/settings/validate.ts';
import { type BlockRule, TAG_DEFAULTS, type TagSettings } from '#schemas/setting.ts';
import type { ChangedSite, DomainItem, SiteItem, StillWorks } from '#services/control_api/sites.ts';
import { renderList, renderTable, renderTime } from '#services/stage/terminal.ts';
import {
  type Arguments,
  type Command,
  type Context,
  changedFields,
  edited,
  given,
  type OptionSpec,
  type Outcome,
  pathOf,
  readPair,
  readText,
  UsageError,
  withoutMeta,
} from './command.ts';

const subject = { name: 'SITE', help: 'its id: lower-case letters, digits, - and _' };

/** What can be given when a site is created and when it is changed. */
const SITE_OPTIONS: Record<string, OptionSpec> = {
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

const SITE_REMOVALS: Record<string, OptionSpec> = {
  'remove-domain': { kind: 'texts', value: 'DOMAIN', help: 'Give up a domain (repeatable)' },
  'browser-too': { kind: 'texts', value: 'EVENT', help: 'Events that browser keys may send again (repeatable)' },
  unblock: { kind: 'texts', value: 'KIND=VALUE', help: 'Remove a block rule (repeatable)' },
  'standard-identify-events': { kind: 'flag', help: 'Back to the standard list of identifying events' },
};

export const siteCommands: Command[] = [
  {
    noun: 'site',
    verb: 'list',
    summary: 'List sites',
    subject: null,
    options: { account: { kind: 'text', value: 'ACCOUNT', help: 'Only sites of this account' } },
    examples: ['site list', 'site list --account acme --json'],
    run: listSites,
  },
  {
    noun: 'site',
    verb: 'create',
    summary: 'Create a site',
    subject,
    options: {
      account: { kind: 'text', value: 'ACCOUNT', help: 'The account it belongs to', required: true },
      ...SITE_OPTIONS,
    },
    examples: [
      'site create shop --account acme --category ecommerce_retail --country BE',
      'site create travel --account acme --mode offline --domain t.travel.example --block ip=203.0.113.0/24',
    ],
    run: createSite,
  },
  {
    noun: 'site',
    verb: 'set',
    summary: 'Change a site',
    subject,
    options: {
      account: { kind: 'text', value: 'ACCOUNT', help: 'Move it to this account' },
      'end-access': {
        kind: 'texts',
        value: 'KIND',
        help: 'End what was given in the site itself: grants, tokens, keys, analysts (repeatable)',
      },
      ...SITE_OPTIONS,
      ...SITE_REMOVALS,
    },
    examples: [
      'site set shop --mode offline',
      'site set shop --account rival --end-access grants --end-access tokens --end-access analysts',
      'site set shop --domain t.shop.example --remove-domain old.shop.example',
      'site set shop --block property:plan=internal --unblock user_agent=BadBot',
      'site set shop --tag consent_required=on --tag inventory=off',
      'site set shop --definitions-file events.json',
    ],
    run: setSite,
  },
];

async function createSite(args: Arguments, context: Context): Promise<Outcome> {
  const site = { site_id: args.subject, ...newFields(args, context) };
  return written(await context.client.send('POST', '/sites', null, site), 'created');
}

async function setSite(args: Arguments, context: Context): Promise<Outcome> {
  const path = pathOf('sites', args.subject);
  const before = await context.client.get<SiteItem>(path);
  const kinds = args.texts('end-access');
  const fields = { ...changedLists(before, args, context), end_access: kinds.length === 0 ? undefined : [...kinds] };
  const change = changedFields(before, fields);
  const site = await context.client.send<ChangedSite>('PATCH', path, before.version, change);
  const done = written(site, 'changed');
  return site.still_works === undefined
    ? done
    : { ...done, text: [done.text, ...accessLines(site.still_works)].join('\n') };
}

function accessLines({ grants, tokens, keys, analysts }: StillWorks): string[] {
  const lines = [
    ['Users', grants.map(({ user_id, role }) => `${user_id} (${role})`)],
    ['Tokens', tokens.map(({ label }) => label)],
    ['Keys', keys.map(({ shown_prefix, label }) => `${shown_prefix}${label === '' ? '' : ` (${label})`}`)],
    ['Users of ClickHouse', analysts?.map(({ analyst_id }) => analyst_id) ?? ['ClickHouse does not answer']],
  ] as const;
  return [
    'What was given in the site itself and still works:',
    ...lines.map(([of, names]) => `${of}: ${renderList(names)}`),
  ];
}

function written(site: SiteItem, done: string): Outcome {
  return { text: `Site ${site.site_id} ${done}.`, json: withoutMeta(site) };
}

async function listSites(args: Arguments, { client }: Context): Promise<Outcome> {
  const sites = await client.list<SiteItem>('/sites', { account_id: args.text('account') });
  const headings = ['SITE', 'ACCOUNT', 'NAME', 'MODE', 'CATEGORY', 'COUNTRY', 'DOMAINS', 'BLOCKS', 'DEFINITIONS'];
  return { text: renderTable(headings, sites.map(row), 'There are no sites.'), json: sites.map(withoutMeta) };
}

function row(site: SiteItem): string[] {
  return [
    site.site_id,
    site.account_id,
    site.name,
    site.mode,
    site.business_category,
    site.default_country ?? '-',
    renderList(site.domains),
    String(site.block_rules.length),
    String(site.event_definitions.length),
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
function changedLists(before: SiteItem, args: Arguments, context: Context): object {
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

const domainSubject = { name: 'DOMAIN', help: 'such as t.shop.example' };
const siteOption: OptionSpec = { kind: 'text', value: 'SITE', help: 'The site that has claimed it', required: true };

const domainPath = (args: Arguments): string =>
  `${pathOf('sites', args.text('site') ?? '')}${pathOf('domains', args.subject)}`;

const SAID = {
  pending: 'It is served once one of these DNS records is found; they are looked for regularly, or by domain verify:',
  failing: 'Its DNS record is gone. It is served for a while still; set one of these again:',
  lapsed: 'Its DNS record is gone for too long, and it is served no more. Set one of these again:',
} as const;

const timeOf = (atMs: number | null): string => (atMs === null ? '-' : renderTime(atMs));

export const domainCommands: Command[] = [
  {
    noun: 'domain',
    verb: 'list',
    summary: 'List claimed domains, and whether they are verified',
    subject: null,
    options: { site: { kind: 'text', value: 'SITE', help: 'Only domains of this site' } },
    examples: ['domain list', 'domain list --site shop --json'],
    run: listDomains,
  },
  {
    noun: 'domain',
    verb: 'claim',
    summary: 'Claim a first-party domain, and show the DNS record to set',
    subject: domainSubject,
    options: { site: { ...siteOption, help: 'The site to claim it for' } },
    examples: ['domain claim t.shop.example --site shop'],
    run: claimDomain,
  },
  {
    noun: 'domain',
    verb: 'show',
    summary: 'Show a claimed domain, and the DNS record to set',
    subject: domainSubject,
    options: { site: siteOption },
    examples: ['domain show t.shop.example --site shop'],
    run: showDomain,
  },
  {
    noun: 'domain',
    verb: 'verify',
    summary: 'Look for the DNS record of a domain now; exit status 1 while it is not there',
    subject: domainSubject,
    options: { site: siteOption },
    examples: ['domain verify t.shop.example --site shop'],
    run: verifyDomain,
  },
  {
    noun: 'domain',
    verb: 'release',
    summary: 'Give up a domain',
    subject: domainSubject,
    options: { site: siteOption },
    examples: ['domain release t.shop.example --site shop'],
    run: releaseDomain,
  },
  {
    noun: 'domain',
    verb: 'prefix',
    summary: "Have vendors' scripts and collectors under another random folder too",
    subject: { name: 'SITE', help: 'the site whose domains get it' },
    options: { remove: { kind: 'flag', help: 'Have no such folder any more' } },
    examples: ['domain prefix shop', 'domain prefix shop --remove'],
    run: choosePrefix,
  },
];

async function listDomains(args: Arguments, { client }: Context): Promise<Outcome> {
  const domains = await client.list<DomainItem>('/domains', { site_id: args.text('site') });
  const headings = ['DOMAIN', 'SITE', 'STATE', 'VERIFIED', 'FAILING SINCE', 'LAPSES'];
  return { text: renderTable(headings, domains.map(domainRow), 'No domain is claimed.'), json: domains };
}

async function claimDomain(args: Arguments, { client }: Context): Promise<Outcome> {
  return domainText(await client.send<DomainItem>('PUT', domainPath(args), null));
}

async function showDomain(args: Arguments, { client }: Context): Promise<Outcome> {
  return domainText(await client.get<DomainItem>(domainPath(args)));
}

async function verifyDomain(args: Arguments, { client }: Context): Promise<Outcome> {
  const item = await client.send<DomainItem>('POST', `${domainPath(args)}/verify`, null);
  return { ...domainText(item), isPartial: item.state !== 'verified' };
}

async function releaseDomain(args: Arguments, { client }: Context): Promise<Outcome> {
  const item = await client.send<DomainItem>('DELETE', domainPath(args), null);
  return { text: `Domain ${item.domain} is given up.`, json: item };
}

async function choosePrefix(args: Arguments, { client }: Context): Promise<Outcome> {
  const method = args.flag('remove') ? 'DELETE' : 'PUT';
  const path = `${pathOf('sites', args.subject)}/loader-prefix`;
  const { site_id, loader_prefix } = await client.send<SiteItem>(method, path, null);
  const said = loader_prefix === null ? 'has no prefix.' : `has the prefix /${loader_prefix}.`;
  return { text: `Site ${site_id} ${said}`, json: { site_id, loader_prefix } };
}

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

function domainRow({ domain, site_id, state, verified_at, failing_since, lapses_at }: DomainItem): string[] {
  return [domain, site_id, state, ...[verified_at, failing_since, lapses_at].map(timeOf)];
}
