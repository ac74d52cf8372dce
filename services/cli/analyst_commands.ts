import type { AnalystItem, AnalystsAnswer, MadeAnalyst } from '#services/control_api/analyst_shapes.ts';
import { renderTable, renderTime } from '#services/render.ts';
import { given } from './changes.ts';
import type { Arguments, Command, Context, Outcome } from './command.ts';
import { UsageError } from './usage_error.ts';
import { pathOf, readExpiry } from './values.ts';

const subject = { name: 'ANALYST', help: 'an id of up to 32 of a-z, 0-9 and -' };

/** Users of ClickHouse that people read their sites with, by tools of their own. */
export const analystUserCommands: Command[] = [
  {
    noun: 'analyst',
    verb: 'list',
    summary: 'List the users of ClickHouse that read sites',
    subject: null,
    options: {},
    examples: ['analyst list', 'analyst list --json'],
    run: listAnalysts,
  },
  {
    noun: 'analyst',
    verb: 'add',
    summary: 'Make a user of ClickHouse that reads some sites, and show its password, once',
    subject,
    options: {
      site: { kind: 'texts', value: 'SITE', help: 'a site that it reads' },
      expires: {
        kind: 'text',
        value: 'WHEN',
        help: '90d (the default), 12h, 30m, a date or a time with offset, or never',
      },
    },
    examples: ['analyst add ada --site shop', 'analyst add reports --site shop --site blog --expires 365d'],
    run: addAnalyst,
  },
  {
    noun: 'analyst',
    verb: 'revoke',
    summary: 'Revoke a user of ClickHouse, at once and for good',
    subject,
    options: {},
    examples: ['analyst revoke ada'],
    run: revokeAnalyst,
  },
];

async function listAnalysts(_args: Arguments, { client }: Context): Promise<Outcome> {
  const { items } = await client.get<AnalystsAnswer>('/analysts', {});
  const rows = items.map(({ analyst_id, clickhouse_user, site_ids, created_at, expires_at, created_by }) => [
    ...[analyst_id, clickhouse_user, site_ids.join(', ')],
    ...[created_at === null ? '-' : renderTime(created_at), renderTime(expires_at), created_by],
  ]);
  const headings = ['ANALYST', 'CLICKHOUSE USER', 'SITES', 'CREATED', 'ENDS', 'BY'];
  return { text: renderTable(headings, rows, 'There are no analysts.'), json: items };
}

async function addAnalyst(args: Arguments, { client, nowMs }: Context): Promise<Outcome> {
  const sites = args.texts('site');
  if (sites.length === 0) throw new UsageError('flag_missing', '--site is missing: an analyst reads at least one');
  const expires = args.text('expires');
  const expires_at = expires === undefined ? undefined : readExpiry(expires, nowMs);
  const body = given({ analyst_id: args.subject, site_ids: sites, expires_at });
  const { password, analyst } = await client.send<MadeAnalyst>('POST', '/analysts', null, body);
  const lines = [
    `${analyst.clickhouse_user} reads ${analyst.site_ids.join(', ')} in the database of its own name. Its password:`,
    '',
    `  ${password}`,
    '',
    `It is shown this once: copy it now. Its logins end: ${renderTime(analyst.expires_at)}.`,
  ];
  return { text: lines.join('\n'), json: { password, ...analyst } };
}

async function revokeAnalyst(args: Arguments, { client }: Context): Promise<Outcome> {
  const analyst = await client.send<AnalystItem>('DELETE', pathOf('analysts', args.subject), null);
  return { text: `${analyst.clickhouse_user} is revoked.`, json: analyst };
}
