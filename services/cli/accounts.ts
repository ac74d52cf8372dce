// Commands of accounts, and of the audit.

import type { AuditItem, AuditPage, DataReadPage } from '#services/control_api/audit.ts';
import { pathOf } from '#services/control_api/client.ts';
import type { AccountItem, UsageAnswer } from '#services/control_api/sites.ts';
import {
  type Arguments,
  type Columns,
  type Command,
  change,
  done,
  listCommand,
  option,
  requiredOption,
  table,
} from './command.ts';
import { changedFields, given, givenCount, givenMoment } from './read.ts';

const subject = 'its id: lower-case letters, digits, - and _';
const nameOption = option('name <TEXT>', 'Name shown to people');
const ALLOWANCE = ['allowance <EVENTS>', 'Events per month (UTC), before the grace of 20%'] as const;

const fieldsOf = (args: Arguments): object =>
  given({ name: args.text('name'), monthly_allowance: givenCount(args, 'allowance') });

/** More than the allowance is used where its grace is. */
const usedShare = ({ monthly_allowance, used_this_month: used }: AccountItem): string | null =>
  used === null || monthly_allowance === 0 ? null : `${((100 * used) / monthly_allowance).toFixed(1)} %`;

export const accountCommands: Command[] = [
  listCommand<AccountItem>({
    noun: 'account',
    summary: 'List accounts, their allowances and what is used of them this month',
    path: '/accounts',
    columns: {
      ACCOUNT: 'account_id',
      NAME: 'name',
      'EVENTS/MONTH': 'monthly_allowance',
      USED: 'used_this_month',
      'OF ALLOWANCE': usedShare,
    },
    whenEmpty: 'There are no accounts.',
  }),
  {
    usage: 'account usage <ACCOUNT>',
    summary: 'Show how many events of an account arrived on each day of a month, by site',
    subject,
    options: [option('month <YYYY-MM>', 'Which month (UTC); without it, this one')],
    examples: ['account usage acme', 'account usage acme --month 2026-10 --json'],
    async run(args, { client }) {
      const month = given({ month: args.text('month') });
      const usage = await client.get<UsageAnswer>(`${pathOf('accounts', args.subject)}/usage`, month);
      return { text: usageTable(usage), json: usage };
    },
  },
  {
    usage: 'account create <ACCOUNT>',
    summary: 'Create an account',
    subject,
    options: [nameOption, requiredOption(...ALLOWANCE)],
    examples: [
      'account create acme --allowance 1000000',
      'account create acme --name "Acme Ltd" --allowance 1_000_000',
    ],
    async run(args, { client }) {
      const body = { account_id: args.subject, ...fieldsOf(args) };
      const account = await client.send<AccountItem>('POST', '/accounts', null, body);
      return done(`Account ${account.account_id} created.`, account);
    },
  },
  {
    usage: 'account set <ACCOUNT>',
    summary: 'Change an account',
    subject,
    options: [nameOption, option(...ALLOWANCE)],
    examples: ['account set acme --allowance 5000000'],
    async run(args, { client }) {
      const fields = fieldsOf(args);
      const path = pathOf('accounts', args.subject);
      const account = await change<AccountItem>(client, path, (before) => changedFields(before, fields));
      return done(`Account ${account.account_id} changed.`, account);
    },
  },
];

/** A row for each day, and one for the month. */
function usageTable({ month, events, days }: UsageAnswer): string {
  const sites = [...new Set(days.flatMap((day) => Object.keys(day.sites)))].sort();
  const sums = sites.map((site) => [site, days.reduce((sum, day) => sum + (day.sites[site] ?? 0), 0)] as const);
  const rows = [...days, { day: month, events, sites: Object.fromEntries(sums) as Record<string, number> }];
  const columns = sites.map((site) => [site, (row: (typeof rows)[number]) => row.sites[site] ?? 0] as const);
  return table({ DAY: 'day', EVENTS: 'events', ...Object.fromEntries(columns) }, rows);
}

const limitOption = option('limit <NUMBER>', 'How many entries, at most 1000 (100)');
const beforeOption = option('before <SEQ>', 'Only entries before this number');

const CHANGES: Columns<AuditItem> = {
  SEQ: 'seq',
  WHEN: 'changed_at',
  WHO: 'changed_by',
  ACTION: 'action',
  WHAT: 'setting_key',
  FIELDS: changedNames,
};
const READS: Columns<DataReadPage['items'][number]> = {
  SEQ: 'seq',
  FIRST: 'first_at',
  LAST: 'last_at',
  WHO: 'read_by',
  SITE: 'site_id',
  WHAT: 'kind',
  AS: 'format',
  TIMES: 'reads',
  ROWS: 'rows',
};

export const auditCommands: Command[] = [
  {
    usage: 'audit list',
    summary: 'List who changed what, and when, newest first',
    options: [
      limitOption,
      beforeOption,
      option('of <FACT>', 'Only of this fact, such as site/shop; or below it: destination/shop/'),
      option('by <LABEL>', 'Only by the admin token of this label'),
    ],
    examples: ['audit list', 'audit list --of destination/shop/ --limit 20', 'audit list --by deploy --json'],
    async run(args, { client }) {
      const { items } = await client.get<AuditPage>('/audit', {
        limit: givenCount(args, 'limit'),
        before: givenCount(args, 'before'),
        setting_key: args.text('of'),
        changed_by: args.text('by'),
      });
      return { text: table(CHANGES, items, 'There are no changes.'), json: items };
    },
  },
  {
    usage: 'audit reads',
    summary: 'List who read personal data, and how much of it, newest first',
    options: [
      limitOption,
      beforeOption,
      option('site <SITE>', 'Only of this site'),
      option('by <LABEL>', 'Only by the admin token of this label, or this user'),
      option('kind <KIND>', 'Only this: sql, timeline, actors, live, event, dead_letter, ...'),
      option('since <MOMENT>', 'Only from then on: a date, or 3d, 12h ago'),
    ],
    examples: ['audit reads', 'audit reads --site shop --by ada --since 7d', 'audit reads --kind sql --json'],
    async run(args, { client, nowMs }) {
      const page = await client.get<DataReadPage>('/audit/reads', {
        limit: givenCount(args, 'limit'),
        before: givenCount(args, 'before'),
        site_id: args.text('site'),
        read_by: args.text('by'),
        kind: args.text('kind'),
        since: givenMoment(args, 'since', nowMs),
      });
      const more = page.next === null ? '' : `\nMore: audit reads --before ${page.next}`;
      return { text: table(READS, page.items, 'No personal data was read.') + more, json: page };
    },
  },
];

function changedNames({ action, before, after, secrets_changed }: AuditItem): string[] {
  if (action !== 'change') return [];
  const names = Object.keys({ ...before, ...after }).filter((name) => name !== 'secrets');
  return [...names, ...secrets_changed.map((name) => `secret ${name}`)];
}
