// Commands of accounts, and of the audit.

import type { AuditItem, DataReadPage } from '#services/control_api/audit.ts';
import type { AccountItem, UsageAnswer } from '#services/control_api/sites.ts';
import {
  type Columns,
  type Commands,
  change,
  done,
  list,
  option,
  pathIn,
  requiredOption,
  send,
  show,
  table,
} from './command.ts';
import { changedFields, readCount, readMoment } from './read.ts';

const subject = 'its id: lower-case letters, digits, - and _';
const nameOption = option('name <TEXT>', 'Name shown to people', 'name');
const ALLOWANCE = [
  'allowance <EVENTS>',
  'Events per month (UTC), before the grace of 20%',
  'monthly_allowance',
  readCount,
] as const;

/** More than the allowance is used where its grace is. */
const usedShare = ({ monthly_allowance, used_this_month: used }: AccountItem): string | null =>
  used === null || monthly_allowance === 0 ? null : `${((100 * used) / monthly_allowance).toFixed(1)} %`;

export const accountCommands: Commands = {
  'account list': list<AccountItem>({
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
  'account usage <ACCOUNT>': {
    summary: 'Show how many events of an account arrived on each day of a month, by site',
    subject,
    options: [option('month <YYYY-MM>', 'Which month (UTC); without it, this one', 'month')],
    examples: ['account usage acme', 'account usage acme --month 2026-10 --json'],
    run: show<UsageAnswer>(pathIn('accounts', 'usage'), (usage) => done(usageTable(usage), usage)),
  },
  'account create <ACCOUNT>': {
    summary: 'Create an account',
    subject,
    options: [nameOption, requiredOption(...ALLOWANCE)],
    examples: [
      'account create acme --allowance 1000000',
      'account create acme --name "Acme Ltd" --allowance 1_000_000',
    ],
    run: send<AccountItem>(
      'POST',
      () => '/accounts',
      (account) => done(`Account ${account.account_id} created.`, account),
      (args) => ({ account_id: args.subject }),
    ),
  },
  'account set <ACCOUNT>': {
    summary: 'Change an account',
    subject,
    options: [nameOption, option(...ALLOWANCE)],
    examples: ['account set acme --allowance 5000000'],
    async run(args, { client }) {
      const path = pathIn('accounts')(args);
      const account = await change<AccountItem>(client, path, (before) => changedFields(before, args.fields()));
      return done(`Account ${account.account_id} changed.`, account);
    },
  },
};

function usageTable({ month, events, days }: UsageAnswer): string {
  const sites = [...new Set(days.flatMap((day) => Object.keys(day.sites)))].sort();
  const sums = sites.map((site) => [site, days.reduce((sum, day) => sum + (day.sites[site] ?? 0), 0)] as const);
  const rows = [...days, { day: month, events, sites: Object.fromEntries(sums) as Record<string, number> }];
  const columns = sites.map((site) => [site, (row: (typeof rows)[number]) => row.sites[site] ?? 0] as const);
  return table({ DAY: 'day', EVENTS: 'events', ...Object.fromEntries(columns) }, rows);
}

const PAGE = [
  option('limit <NUMBER>', 'How many entries, at most 1000 (100)', 'limit', readCount),
  option('before <SEQ>', 'Only entries before this number', 'before', readCount),
];

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

export const auditCommands: Commands = {
  'audit list': list<AuditItem>({
    summary: 'List who changed what, and when, newest first',
    path: '/audit',
    isWhole: true,
    options: [
      ...PAGE,
      option('of <FACT>', 'Only of this fact, such as site/shop; or below it: destination/shop/', 'setting_key'),
      option('by <LABEL>', 'Only by the admin token of this label', 'changed_by'),
    ],
    examples: ['audit list', 'audit list --of destination/shop/ --limit 20', 'audit list --by deploy --json'],
    columns: {
      SEQ: 'seq',
      WHEN: 'changed_at',
      WHO: 'changed_by',
      ACTION: 'action',
      WHAT: 'setting_key',
      FIELDS: changedNames,
    },
    whenEmpty: 'There are no changes.',
  }),
  'audit reads': {
    summary: 'List who read personal data, and how much of it, newest first',
    options: [
      ...PAGE,
      option('site <SITE>', 'Only of this site', 'site_id'),
      option('by <LABEL>', 'Only by the admin token of this label, or this user', 'read_by'),
      option('kind <KIND>', 'Only this: sql, timeline, actors, live, event, dead_letter, ...', 'kind'),
      option('since <MOMENT>', 'Only from then on: a date, or 3d, 12h ago', 'since', readMoment),
    ],
    examples: ['audit reads', 'audit reads --site shop --by ada --since 7d', 'audit reads --kind sql --json'],
    run: show<DataReadPage>(
      () => '/audit/reads',
      (page) => {
        const more = page.next === null ? '' : `\nMore: audit reads --before ${page.next}`;
        return done(table(READS, page.items, 'No personal data was read.') + more, page);
      },
    ),
  },
};

function changedNames({ action, before, after, secrets_changed }: AuditItem): string[] {
  if (action !== 'change') return [];
  const names = Object.keys({ ...before, ...after }).filter((name) => name !== 'secrets');
  return [...names, ...secrets_changed.map((name) => `secret ${name}`)];
}
