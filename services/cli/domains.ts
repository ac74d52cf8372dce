import type { DomainItem } from '#services/control_api/domain_shapes.ts';
import type { SiteItem } from '#services/control_api/site_shapes.ts';
import { renderTable, renderTime } from '#services/render.ts';
import type { Arguments, Command, Context, OptionSpec, Outcome } from './command.ts';
import { pathOf } from './values.ts';

const subject = { name: 'DOMAIN', help: 'such as t.shop.example' };
const site: OptionSpec = { kind: 'text', value: 'SITE', help: 'The site that has claimed it', required: true };

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
    subject,
    options: { site: { ...site, help: 'The site to claim it for' } },
    examples: ['domain claim t.shop.example --site shop'],
    run: claimDomain,
  },
  {
    noun: 'domain',
    verb: 'show',
    summary: 'Show a claimed domain, and the DNS record to set',
    subject,
    options: { site },
    examples: ['domain show t.shop.example --site shop'],
    run: showDomain,
  },
  {
    noun: 'domain',
    verb: 'verify',
    summary: 'Look for the DNS record of a domain now; exit status 1 while it is not there',
    subject,
    options: { site },
    examples: ['domain verify t.shop.example --site shop'],
    run: verifyDomain,
  },
  {
    noun: 'domain',
    verb: 'release',
    summary: 'Give up a domain',
    subject,
    options: { site },
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

const placeOf = (args: Arguments): string =>
  `${pathOf('sites', args.text('site') ?? '')}${pathOf('domains', args.subject)}`;

async function listDomains(args: Arguments, { client }: Context): Promise<Outcome> {
  const domains = await client.list<DomainItem>('/domains', { site_id: args.text('site') });
  const headings = ['DOMAIN', 'SITE', 'STATE', 'VERIFIED', 'FAILING SINCE', 'LAPSES'];
  return { text: renderTable(headings, domains.map(row), 'No domain is claimed.'), json: domains };
}

async function claimDomain(args: Arguments, { client }: Context): Promise<Outcome> {
  return described(await client.send<DomainItem>('PUT', placeOf(args), null));
}

async function showDomain(args: Arguments, { client }: Context): Promise<Outcome> {
  return described(await client.get<DomainItem>(placeOf(args)));
}

async function verifyDomain(args: Arguments, { client }: Context): Promise<Outcome> {
  const item = await client.send<DomainItem>('POST', `${placeOf(args)}/verify`, null);
  return { ...described(item), isPartial: item.state !== 'verified' };
}

async function releaseDomain(args: Arguments, { client }: Context): Promise<Outcome> {
  const item = await client.send<DomainItem>('DELETE', placeOf(args), null);
  return { text: `Domain ${item.domain} is given up.`, json: item };
}

async function choosePrefix(args: Arguments, { client }: Context): Promise<Outcome> {
  const method = args.flag('remove') ? 'DELETE' : 'PUT';
  const path = `${pathOf('sites', args.subject)}/loader-prefix`;
  const { site_id, loader_prefix } = await client.send<SiteItem>(method, path, null);
  const said = loader_prefix === null ? 'has no prefix.' : `has the prefix /${loader_prefix}.`;
  return { text: `Site ${site_id} ${said}`, json: { site_id, loader_prefix } };
}

function described(item: DomainItem): Outcome {
  const { domain, site_id, state, records } = item;
  const lines = [`${domain} of site ${site_id}: ${state}.`];
  if (state !== 'verified') lines.push('', SAID[state], '', recordTable(records), '', addressHint(item));
  return { text: lines.join('\n'), json: item };
}

const SAID = {
  pending: 'It is served once one of these DNS records is found; they are looked for regularly, or by domain verify:',
  failing: 'Its DNS record is gone. It is served for a while still; set one of these again:',
  lapsed: 'Its DNS record is gone for too long, and it is served no more. Set one of these again:',
} as const;

/** What proves a domain does not bring its traffic, but for an alias. */
function addressHint({ domain, records: { cname } }: DomainItem): string {
  const unless = cname === null ? '' : 'The CNAME brings the traffic too. With the TXT record: ';
  return `${unless}${domain} itself has to lead to the edge, by an A, AAAA or CNAME record to the address that the operator names.`;
}

function recordTable({ txt, cname }: DomainItem['records']): string {
  const rows = [['TXT', txt.name, txt.value], ...(cname === null ? [] : [['CNAME', cname.name, cname.value]])];
  return renderTable(['TYPE', 'NAME', 'VALUE'], rows, '');
}

function row({ domain, site_id, state, verified_at, failing_since, lapses_at }: DomainItem): string[] {
  return [domain, site_id, state, ...[verified_at, failing_since, lapses_at].map(timeOf)];
}

const timeOf = (atMs: number | null): string => (atMs === null ? '-' : renderTime(atMs));
