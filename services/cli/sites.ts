// Commands of sites, their domains, and how their tags and events do.

import { canonicalAllowedOrigin, canonicalDomain } from '#pipelines/settings/domains.ts';
import { blockRuleText } from '#pipelines/settings/validate.ts';
import { type BlockRule, PAGE_DEFAULTS, type PageRules, TAG_DEFAULTS, type TagSettings } from '#schemas/setting.ts';
import type {
  DefinitionHealth,
  RejectionSampleItem,
  RejectionsItem,
  TagHealthItem,
} from '#services/control_api/operations.ts';
import type { ChangedSite, DomainItem, PagePreview, SiteItem, StillWorks } from '#services/control_api/sites.ts';
import { renderList, renderTable, renderTime } from '#services/stage/terminal.ts';
import {
  type Arguments,
  type Commands,
  type Context,
  change,
  done,
  list,
  type Outcome,
  option,
  pathIn,
  pathInSite,
  repeatableOption,
  requiredOption,
  send,
  show,
  table,
  UsageError,
} from './command.ts';
import { changedFields, edited, readCount, readJson, readMoment, readPair, readText } from './read.ts';

const subject = 'its id: lower-case letters, digits, - and _';
/** @throws UsageError */
const readDays = (text: string, option: string): number | null => (text === '' ? null : readCount(text, option));

const textOrNull = (text: string): string | null => (text === '' ? null : text);
/** Typed names are brought into their canonical form; what has none is left for the service to refuse. */
const readDomain = (text: string): string => canonicalDomain(text) ?? text;

const readOrigin = (text: string): string => canonicalAllowedOrigin(text) ?? text;

const PAGE_SWITCHES = Object.entries(PAGE_DEFAULTS).flatMap(([name, value]) => (value === false ? [name] : []));

const PAGE_OPTIONS = [
  repeatableOption('pages <NAME=on|off>', `Which addresses are one page: ${PAGE_SWITCHES.join(', ')}`),
  repeatableOption('page-parameter <NAME>', 'Parameters that are part of a page, in place of all ("" for none)'),
  repeatableOption('page-rule <PATTERN>', 'Patterns of paths such as /users/:id, in place of all ("" for none)'),
];

/** What can be given when a site is created and when it is changed. */
const SITE_OPTIONS = [
  option('name <TEXT>', 'Name shown to people', 'name'),
  option('mode <MODE>', 'online, or offline: anonymous only, identifiers are stripped', 'mode'),
  option('category <CATEGORY>', 'Business category, such as ecommerce_retail or travel', 'business_category'),
  option('country <CC>', 'ISO code; reads national phone numbers ("" for none)', 'default_country', (text) =>
    textOrNull(text.toUpperCase()),
  ),
  option('clarity <ID>', 'Clarity project id ("" for none)', 'clarity_project_id', textOrNull),
  option('gtm <ID>', 'Google Tag Manager container id ("" for none)', 'gtm_container_id', textOrNull),
  repeatableOption('domain <DOMAIN>', 'Claim a first-party domain', 'domains', readDomain),
  repeatableOption(
    'embed-origin <ORIGIN>',
    'Let its pages have shared links in a frame, as https://intranet.example',
    'embed_origins',
    readOrigin,
  ),
  repeatableOption(
    'block <KIND=VALUE>',
    'Block rule: ip, user_agent, country, event, distinct_id or property:NAME',
    'block_rules',
    readRule,
  ),
  repeatableOption('identify-event <EVENT>', 'Events that stitch identities, in place of the standard list'),
  repeatableOption('server-only <EVENT>', 'Events that browser keys may not send, as purchase', 'server_only_events'),
  repeatableOption('tag <NAME=on|off>', `How the tag behaves: ${Object.keys(TAG_DEFAULTS).join(', ')}`),
  repeatableOption(
    'consent-default <COUNTRY=WORD>',
    'granted or denied, where events say nothing of consent: DE=denied, EEA=denied, else=granted ("" to forget: DE=)',
  ),
  option(
    'event-days <DAYS>',
    'Days that events are kept, fewer than by default ("" for the default)',
    'event_days',
    readDays,
  ),
  option('outcome-days <DAYS>', 'Days that outcomes of deliveries are kept, likewise', 'outcome_days', readDays),
  option(
    'zone <ZONE>',
    'Time zone whose days are counted, such as Europe/Berlin ("" for UTC)',
    'time_zone',
    textOrNull,
  ),
  option('week-start <DAY>', 'monday, saturday or sunday ("" for monday)', 'week_start', textOrNull),
  option(
    'person-days <DAYS>',
    'Days after their last event that persons are kept, from 30; forgetting cannot be undone ("" for the default: until erased)',
    'person_days',
    readDays,
  ),
  option('visitor-places <DETAIL>', 'city, country or none ("" for city)', 'visitor_places', textOrNull),
  option(
    'currency <CODE>',
    'Currency that revenue is told in, as EUR ("" for those that were sent)',
    'currency',
    textOrNull,
  ),
  option('visitor-addresses <PART>', 'whole or cut ("" for whole)', 'visitor_addresses', textOrNull),
  ...PAGE_OPTIONS,
  option('definitions-file <FILE>', 'JSON array of event definitions, in place of all (- is stdin)'),
];

export const siteCommands: Commands = {
  'site list': list<SiteItem>({
    summary: 'List sites',
    path: '/sites',
    options: [option('account <ACCOUNT>', 'Only sites of this account', 'account_id')],
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
  'site create <SITE>': {
    summary: 'Create a site',
    subject,
    options: [requiredOption('account <ACCOUNT>', 'The account it belongs to', 'account_id'), ...SITE_OPTIONS],
    examples: [
      'site create shop --account acme --category ecommerce_retail --country BE',
      'site create travel --account acme --mode offline --domain t.travel.example --block ip=203.0.113.0/24',
    ],
    run: send<SiteItem>(
      'POST',
      () => '/sites',
      (site) => done(`Site ${site.site_id} created.`, site),
      (args, context) => ({ site_id: args.subject, ...otherFields(args, context) }),
    ),
  },
  'site set <SITE>': {
    summary: 'Change a site',
    subject,
    options: [
      option('account <ACCOUNT>', 'Move it to this account', 'account_id'),
      repeatableOption(
        'end-access <KIND>',
        'Revoke access given in the site itself: grants, tokens, keys, analysts',
        'end_access',
      ),
      ...SITE_OPTIONS,
      repeatableOption('remove-domain <DOMAIN>', 'Release a domain'),
      repeatableOption('remove-embed-origin <ORIGIN>', 'Let its pages have no shared links any more'),
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
      const site = await change<ChangedSite>(context.client, pathIn('sites')(args), (before) =>
        changedFields(before, { ...args.fields(), ...otherFields(args, context), ...editedLists(before, args) }),
      );
      const lines = site.still_works === undefined ? [] : accessLines(site.still_works);
      return done([`Site ${site.site_id} changed.`, ...lines], site);
    },
  },
  'site pages <SITE>': {
    summary:
      'Show what rules, its own with those given in their place, make of the pages of its last day; nothing changes',
    subject,
    options: [...PAGE_OPTIONS, option('limit <N>', 'How many pages', 'limit', readCount)],
    examples: ['site pages shop --pages shorten_ids=on --page-rule "/blog/*"'],
    async run(args, context) {
      const body = { ...args.fields(), pages: pagesChange(args) };
      const preview = await context.client.send<PagePreview>(
        'POST',
        pathIn('sites', 'pages/preview')(args),
        null,
        body,
      );
      return shownPages(preview);
    },
  },
  'site rejections <SITE>': {
    summary: 'Show rejected events and refused requests of a site, by reason',
    options: [
      option('from <WHEN>', 'From when on, as 2027-01-31 or 12h (so long ago); 7d without it', 'from', readMoment),
      option('to <WHEN>', 'Until when; now without it', 'to', readMoment),
      option('samples', 'Also the newest samples'),
    ],
    examples: ['site rejections shop', 'site rejections shop --from 12h --samples', 'site rejections shop --json'],
    run: show<RejectionsItem>(pathIn('sites', 'refusals'), shownRefusals),
  },
};

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

/** Fields that are more than one option's text. */
function otherFields(args: Arguments, context: Context): Record<string, unknown> {
  return {
    identify_events: identifyEvents(args),
    tag: tagChange(args),
    pages: pagesChange(args),
    consent_defaults: consentDefaults(args, []),
    event_definitions: definitions(args, context),
  };
}

/** What a site is to have instead of its own. @throws UsageError for removing what it does not have. */
function editedLists(before: SiteItem, args: Arguments): object {
  const { domains = [], embed_origins = [], block_rules = [] } = args.fields() as Partial<SiteItem>;
  return {
    domains: edited(before.domains, domains, args.texts('remove-domain').map(readDomain)),
    embed_origins: edited(before.embed_origins, embed_origins, args.texts('remove-embed-origin').map(readOrigin)),
    server_only_events: edited(before.server_only_events, args.texts('server-only'), args.texts('browser-too')),
    tag: { ...before.tag, ...tagChange(args) },
    pages: { ...before.pages, ...pagesChange(args) },
    consent_defaults: consentDefaults(args, before.consent_defaults) ?? before.consent_defaults,
    block_rules: edited(
      before.block_rules,
      block_rules,
      args.texts('unblock').map((text) => readRule(text, 'unblock')),
      blockRuleText,
    ),
  };
}

function identifyEvents(args: Arguments): string[] | null | undefined {
  const events = args.flag('identify-event') ? args.texts('identify-event') : undefined;
  if (!args.flag('standard-identify-events')) return events;
  if (events === undefined) return null;
  throw new UsageError('flags_conflict', '--identify-event and --standard-identify-events exclude each other');
}

const EVERY_OTHER = 'else';

/** Undefined where nothing is to change. @throws UsageError */
function consentDefaults(
  args: Arguments,
  before: SiteItem['consent_defaults'],
): SiteItem['consent_defaults'] | undefined {
  const texts = args.texts('consent-default');
  if (texts.length === 0) return undefined;
  const of = new Map(before.map(({ country, consent }) => [country, consent]));
  for (const text of texts) {
    const [name, consent] = readPair(text, 'consent-default');
    if (consent !== '' && consent !== 'granted' && consent !== 'denied') {
      throw new UsageError('consent_default_malformed', `--consent-default ${text} says neither granted nor denied`);
    }
    const country = name.toLowerCase() === EVERY_OTHER ? null : name.toUpperCase();
    if (consent === '') of.delete(country);
    else of.set(country, consent);
  }
  return [...of].map(([country, consent]) => ({ country, consent }));
}

/** Undefined where nothing is to change. */
function tagChange(args: Arguments): Partial<TagSettings> | undefined {
  const tag = switches(args, 'tag', Object.keys(TAG_DEFAULTS), 'tag_setting');
  return tag === undefined ? undefined : (tag as Partial<TagSettings>);
}

/** Likewise. */
function pagesChange(args: Arguments): Partial<PageRules> | undefined {
  const lists = { parameters: args.texts('page-parameter'), rules: args.texts('page-rule') };
  const given = Object.entries(lists).filter(([, texts]) => texts.length > 0);
  const turned = switches(args, 'pages', PAGE_SWITCHES, 'page_setting');
  if (turned === undefined && given.length === 0) return undefined;
  return {
    ...turned,
    ...Object.fromEntries(given.map(([name, texts]) => [name, texts.filter((text) => text !== '')])),
  };
}

/** What NAME=on and NAME=off say; undefined where there are none. @throws UsageError */
function switches(
  args: Arguments,
  option: string,
  names: readonly string[],
  code: 'tag_setting' | 'page_setting',
): Record<string, boolean> | undefined {
  const entries = args.texts(option).map((text): [string, boolean] => {
    const [name, value] = readPair(text, option);
    if (!names.includes(name)) throw new UsageError(`${code}_unknown`, `--${option} has no ${name}`);
    if (value !== 'on' && value !== 'off')
      throw new UsageError(`${code}_malformed`, `--${option} ${name} is on or off`);
    return [name, value === 'on'];
  });
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

function readRule(text: string, name: string): BlockRule {
  const [left, value] = readPair(text, name);
  const [kind = '', ...property] = left.split(':');
  return { kind: kind as BlockRule['kind'], value, property: property.length > 0 ? property.join(':') : null };
}

function definitions(args: Arguments, context: Context): unknown[] | undefined {
  const path = args.text('definitions-file');
  if (path === undefined) return undefined;
  const items = readJson(readText(context, path), 'event_definition_malformed', path);
  if (!Array.isArray(items)) throw new UsageError('event_definition_malformed', `${path} is not a JSON array`);
  return items;
}

function shownPages(preview: PagePreview): Outcome {
  const { items, views, pages_before, pages_after } = preview;
  const rows = table<PagePreview['items'][number]>(
    {
      PAGE: 'page',
      VIEWS: 'views',
      FROM: ({ is_changed, source_pages, sources }) =>
        is_changed
          ? [...sources.map(({ page }) => page), ...(source_pages > sources.length ? ['…'] : [])].join(' ')
          : '',
    },
    items,
    'There were no page views in the last day.',
  );
  return done(
    `${rows}\n\n${views} page views: ${pages_before} pages without rules, ${pages_after} with them.`,
    preview,
  );
}

function shownRefusals(rejections: RejectionsItem, args: Arguments): Outcome {
  const { totals, samples, known_since, from, to } = rejections;
  const since = known_since === null ? 'not known' : renderTime(known_since);
  const parts = [
    table({ KIND: 'kind', CODE: 'code', COUNT: 'count' }, totals, 'Everything was accepted.'),
    `From ${renderTime(from)} to ${renderTime(to)}; counted since: ${since}.`,
    ...(args.flag('samples') ? [samplesTable(samples)] : []),
  ];
  return done(parts.join('\n\n'), rejections);
}

function samplesTable(samples: RejectionSampleItem[] | null): string {
  if (samples === null) return 'Samples need the permission query.events.';
  return table<RejectionSampleItem>(
    {
      AT: ({ at }) => renderTime(at),
      KIND: 'kind',
      CODE: 'code',
      EVENT: 'event',
      INDEX: 'index',
      CALLER: 'caller',
      KEY: ({ key }) => key?.shown_prefix ?? key?.key_id,
      FIELDS: ({ fields }) => fields.join(' '),
    },
    samples,
    'There are no samples.',
  );
}

const claimedBy = requiredOption('site <SITE>', 'The site that has claimed it');
const domainSubject = 'such as t.shop.example';
const domainPath = (args: Arguments): string => pathInSite(args, 'domains', args.subject);

const SAID = {
  pending: 'It is served once one of these DNS records is found; they are checked regularly, and by domain verify:',
  failing: 'Its DNS record is missing. It is still served for a while; set one of these again:',
  lapsed: 'Its DNS record was missing for too long, and it is no longer served. Set one of these again:',
} as const;

export const domainCommands: Commands = {
  'domain list': list<DomainItem>({
    summary: 'List claimed domains, and whether they are verified',
    path: '/domains',
    options: [option('site <SITE>', 'Only domains of this site', 'site_id')],
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
  'domain claim <DOMAIN>': {
    summary: 'Claim a first-party domain, and show the DNS record to set',
    subject: domainSubject,
    options: [requiredOption('site <SITE>', 'The site to claim it for')],
    examples: ['domain claim t.shop.example --site shop'],
    run: send<DomainItem>('PUT', domainPath, shownDomain),
  },
  'domain show <DOMAIN>': {
    summary: 'Show a claimed domain, and the DNS record to set',
    subject: domainSubject,
    options: [claimedBy],
    examples: ['domain show t.shop.example --site shop'],
    run: show<DomainItem>(domainPath, shownDomain),
  },
  'domain verify <DOMAIN>': {
    summary: 'Check the DNS record of a domain now; exit status 1 while it is missing',
    subject: domainSubject,
    options: [claimedBy],
    examples: ['domain verify t.shop.example --site shop'],
    run: send<DomainItem>(
      'POST',
      (args) => `${domainPath(args)}/verify`,
      (item) => ({ ...shownDomain(item), isPartial: item.state !== 'verified' }),
    ),
  },
  'domain release <DOMAIN>': {
    summary: 'Release a domain',
    subject: domainSubject,
    options: [claimedBy],
    examples: ['domain release t.shop.example --site shop'],
    run: send<DomainItem>('DELETE', domainPath, (item) => done(`Domain ${item.domain} released.`, item)),
  },
  'domain prefix <SITE>': {
    summary:
      "Rotate the random folder of the site's domains under which vendors' scripts and collectors are served too",
    options: [option('remove', 'Remove the folder')],
    examples: ['domain prefix shop', 'domain prefix shop --remove'],
    async run(args, { client }) {
      const method = args.flag('remove') ? 'DELETE' : 'PUT';
      const path = pathIn('sites', 'loader-prefix')(args);
      const { site_id, loader_prefix } = await client.send<SiteItem>(method, path, null);
      const said = loader_prefix === null ? 'has no prefix.' : `has the prefix /${loader_prefix}.`;
      return done(`Site ${site_id} ${said}`, { site_id, loader_prefix });
    },
  },
};

function shownDomain(item: DomainItem): Outcome {
  const { domain, site_id, state, records } = item;
  const { txt, cname } = records;
  const lines = [`${domain} of site ${site_id}: ${state}.`];
  const rows = [['TXT', txt.name, txt.value], ...(cname === null ? [] : [['CNAME', cname.name, cname.value]])];
  // What proves a domain does not bring its traffic, but for an alias.
  const unless = cname === null ? '' : 'The CNAME brings the traffic too. With the TXT record: ';
  const hint = `${unless}${domain} itself has to lead to the edge, by an A, AAAA or CNAME record to the address that the operator names.`;
  if (state !== 'verified') lines.push('', SAID[state], '', renderTable(['TYPE', 'NAME', 'VALUE'], rows, ''), '', hint);
  return done(lines, item);
}

export const tagCommands: Commands = {
  'tag health': {
    summary: "Show the health of a site's browser tag",
    options: [requiredOption('site <SITE>', 'The site'), option('pages', 'Also the pages that sent events last')],
    examples: ['tag health --site shop', 'tag health --site shop --pages', 'tag health --site shop --json'],
    run: show<TagHealthItem>((args) => pathInSite(args, 'tag-health'), shownTagHealth),
  },
};

function shownTagHealth(health: TagHealthItem, args: Arguments): Outcome {
  const { pages, reported, definitions } = health;
  const counts = Object.entries(reported).map(([name, count]) => `${name} ${count}`);
  const parts = [
    table<TagHealthItem>(
      {
        STATE: 'state',
        'LAST EVENT': 'last_event_at',
        'LAST HOUR': ({ last_hour }) => last_hour.now,
        USUAL: ({ last_hour }) => last_hour.usual,
        'LAST DAY': ({ last_day }) => last_day.now,
        'USUAL DAY': ({ last_day }) => last_day.usual,
        SINCE: 'known_since',
      },
      [health],
    ),
    table<DefinitionHealth>(
      {
        DEFINITION: 'id',
        NAME: 'name',
        STATE: 'state',
        FIRED: 'fired',
        'LAST FIRED': 'last_fired_at',
        'USUAL GAP': ({ usual_gap_ms: gapMs }) => (gapMs === null ? null : `${(gapMs / 1000).toFixed(0)} s`),
      },
      definitions,
      'No event definitions are enabled.',
    ),
    `Pages that sent events: ${pages.length}. Reported by browsers in 7 days: ${counts.join(', ')}.`,
    ...(args.flag('pages')
      ? [table({ PAGE: 'page', 'LAST EVENT': 'last_event_at' }, pages, 'No pages are known.')]
      : []),
  ];
  return done(parts.join('\n\n'), health);
}
