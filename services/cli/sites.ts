import type { ChangedSite, SiteItem, StillWorks } from '#services/control_api/site_shapes.ts';
import { renderList, renderTable } from '#services/render.ts';
import { changedFields, withoutMeta } from './changes.ts';
import type { Arguments, Command, Context, Outcome } from './command.ts';
import { changedLists, newFields, SITE_OPTIONS, SITE_REMOVALS } from './site_changes.ts';
import { pathOf } from './values.ts';

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
