import { siteProblems } from '#pipelines/settings/validate_site.ts';
import type { Site } from '#schemas/setting.ts';
import type { Arguments } from './arguments.ts';
import { known, refuseExisting, refuseProblems, refuseUnchanged, writeOf } from './changes.ts';
import type { Command, Context, Outcome } from './command.ts';
import { renderList, renderTable } from './render.ts';
import { changedSite, SITE_OPTIONS, SITE_REMOVALS } from './site_changes.ts';

const subject = { name: 'SITE', help: 'its id: lower-case letters, digits, - and _' };

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
      ...SITE_OPTIONS,
      ...SITE_REMOVALS,
    },
    examples: [
      'site set shop --mode offline',
      'site set shop --domain t.shop.example --remove-domain old.shop.example',
      'site set shop --block property:plan=internal --unblock user_agent=BadBot',
      'site set shop --definitions-file events.json',
    ],
    run: setSite,
  },
];

function createSite(args: Arguments, context: Context): Outcome {
  refuseExisting(context.table.site(args.subject), 'site', args.subject);
  return written(changedSite(blankSite(args.subject), args, context), context, 'created');
}

function setSite(args: Arguments, context: Context): Outcome {
  const before = known(context.table.site(args.subject), 'site', args.subject);
  const after = changedSite(before, args, context);
  refuseUnchanged(before, after);
  return written(after, context, 'changed');
}

function blankSite(siteId: string): Site {
  return {
    site_id: siteId,
    account_id: '',
    name: siteId,
    mode: 'online',
    business_category: 'other',
    default_country: null,
    identify_events: null,
    clarity_project_id: null,
    gtm_container_id: null,
    domains: [],
    block_rules: [],
    event_definitions: [],
  };
}

function written(site: Site, context: Context, done: string): Outcome {
  refuseProblems(siteProblems(site, context.table));
  return { writes: [writeOf(context, { site })], text: `Site ${site.site_id} ${done}.`, json: shown(site) };
}

function listSites(args: Arguments, { table }: Context): Outcome {
  const accountId = args.text('account');
  if (accountId !== undefined) known(table.account(accountId), 'account', accountId);
  const sites = table.sites().filter((site) => accountId === undefined || site.account_id === accountId);
  const headings = ['SITE', 'ACCOUNT', 'NAME', 'MODE', 'CATEGORY', 'COUNTRY', 'DOMAINS', 'BLOCKS', 'DEFINITIONS'];
  return { writes: [], text: renderTable(headings, sites.map(row), 'There are no sites.'), json: sites.map(shown) };
}

function row(site: Site): string[] {
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

function shown(site: Site): object {
  return { ...site, event_definitions: site.event_definitions.map((text): unknown => JSON.parse(text)) };
}
