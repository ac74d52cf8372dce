// Commands of ClickHouse users, by which people read their sites with tools of their own.
import { ANALYST_SITE, analystName } from '#infra/clickhouse/analyst_rights.ts';
import { pathOf } from '#services/control_api/client.ts';
import type { AnalystItem, AnalystsAnswer, MadeAnalyst } from '#services/control_api/queries.ts';
import { renderTable, renderTime } from '#services/stage/terminal.ts';
import { type Columns, type Command, done, option, repeatableOption, table, UsageError } from './command.ts';
import { given, givenExpiry } from './read.ts';

const subject = 'an id of up to 32 of a-z, 0-9 and -';

const COLUMNS: Columns<AnalystItem> = {
  ANALYST: 'analyst_id',
  'CLICKHOUSE USER': 'clickhouse_user',
  SITES: ({ site_ids }) => site_ids.join(', '),
  CREATED: 'created_at',
  ENDS: ({ expires_at }) => renderTime(expires_at),
  BY: 'created_by',
};

export const analystCommands: Command[] = [
  {
    usage: 'analyst show',
    isDefault: true,
    summary: 'Show how the local analyst signs in to ClickHouse, with the password',
    examples: ['analyst show', 'analyst show --json'],
    /** The password goes to whoever may read its file already; no log and no other command has it. */
    async run(_args, { readLocal }) {
      const user = analystName(ANALYST_SITE);
      const address = textIn(readLocal('ready.json'), 'clickhouse');
      const password = textIn(readLocal('clickhouse/credentials.json'), user);
      if (address === null) throw new UsageError('not_running', 'nothing runs here: npm start writes what runs where');
      if (password === null) {
        const message = 'the ClickHouse in use is not the local one: its operator makes its analysts';
        throw new UsageError('analyst_unknown', message);
      }
      const url = new URL(address).origin;
      const json = { url, database: user, user, password, site: ANALYST_SITE };
      const query = `curl -sS '${url}/?database=${user}' --user '${user}:${password}' -d 'SELECT count() FROM events'`;
      return { text: [renderTable(['WHAT', 'VALUE'], Object.entries(json), ''), '', query].join('\n'), json };
    },
  },
  {
    usage: 'analyst list',
    summary: 'List the ClickHouse users that read sites',
    examples: ['analyst list', 'analyst list --json'],
    async run(_args, { client }) {
      const { items } = await client.get<AnalystsAnswer>('/analysts', {});
      return { text: table(COLUMNS, items, 'There are no analysts.'), json: items };
    },
  },
  {
    usage: 'analyst add <ANALYST>',
    summary: 'Create a ClickHouse user that reads some sites, and show its password, once',
    subject,
    options: [
      repeatableOption('site <SITE>', 'a site that it reads'),
      option('expires <WHEN>', '90d (the default), 12h, 30m, a date or a time with offset, or never'),
    ],
    examples: ['analyst add ada --site shop', 'analyst add reports --site shop --site blog --expires 365d'],
    async run(args, { client, nowMs }) {
      const site_ids = args.texts('site');
      if (site_ids.length === 0)
        throw new UsageError('flag_missing', '--site is missing: an analyst reads at least one');
      const body = given({ analyst_id: args.subject, site_ids, expires_at: givenExpiry(args, nowMs) });
      const { password, analyst } = await client.send<MadeAnalyst>('POST', '/analysts', null, body);
      const lines = [
        `${analyst.clickhouse_user} reads ${analyst.site_ids.join(', ')} in the database of its own name. Its password:`,
        '',
        `  ${password}`,
        '',
        `It is shown only once: copy it now. Its logins end: ${renderTime(analyst.expires_at)}.`,
      ];
      return { text: lines.join('\n'), json: { password, ...analyst } };
    },
  },
  {
    usage: 'analyst revoke <ANALYST>',
    summary: 'Revoke a ClickHouse user, at once and for good',
    subject,
    async run(args, { client }) {
      const analyst = await client.send<AnalystItem>('DELETE', pathOf('analysts', args.subject), null);
      return done(`${analyst.clickhouse_user} is revoked.`, analyst);
    },
  },
];

function textIn(file: string | null, name: string): string | null {
  const value: unknown = file === null ? undefined : Reflect.get(JSON.parse(file) as object, name);
  return typeof value === 'string' ? value : null;
}
