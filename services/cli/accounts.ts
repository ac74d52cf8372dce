// Commands of accounts, and of the audit.
import type { AuditItem, AuditPage, DataReadPage } from '#services/control_api/audit.ts';
import type { AccountItem, UsageAnswer } from '#services/control_api/sites.ts';
import { renderList, renderTable, renderTime } from '#services/stage/terminal.ts';
import {
  type Arguments,
  type Command,
  type Context,
  changedFields,
  given,
  type Outcome,
  pathOf,
  readCount,
  readMoment,
  withoutMeta,
} from './command.ts';

const subject = { name: 'ACCOUNT', help: 'its id: lower-case letters, digits, - and _' };
const nameOption = { kind: 'text', value: 'TEXT', help: 'Name shown to people' } as const;
const allowance = { kind: 'text', value: 'EVENTS', help: 'Events per month (UTC), before the grace of 20%' } as const;

const sumOf = ({ days }: UsageAnswer, site: string): number =>
  days.reduce((sum, day) => sum + (day.sites[site] ?? 0), 0);

export const accountCommands: Command[] = [
  {
    noun: 'account',
    verb: 'list',
    summary: 'List accounts, their allowances and what is used of them this month',
    subject: null,
    options: {},
    examples: ['account list', 'account list --json'],
    run: async (_args, { client }) => accountTable(await client.list('/accounts')),
  },
  {
    noun: 'account',
    verb: 'usage',
    summary: 'Show how many events of an account arrived on each day of a month, by site',
    subject,
    options: { month: { kind: 'text', value: 'YYYY-MM', help: 'Which month (UTC); without it, this one' } },
    examples: ['account usage acme', 'account usage acme --month 2026-10 --json'],
    run: showUsage,
  },
  {
    noun: 'account',
    verb: 'create',
    summary: 'Create an account',
    subject,
    options: { name: nameOption, allowance: { ...allowance, required: true } },
    examples: [
      'account create acme --allowance 1000000',
      'account create acme --name "Acme Ltd" --allowance 1_000_000',
    ],
    run: createAccount,
  },
  {
    noun: 'account',
    verb: 'set',
    summary: 'Change an account',
    subject,
    options: { name: nameOption, allowance },
    examples: ['account set acme --allowance 5000000'],
    run: setAccount,
  },
];

async function createAccount(args: Arguments, { client }: Context): Promise<Outcome> {
  const account = { account_id: args.subject, ...accountChanges(args) };
  return writtenAccount(await client.send('POST', '/accounts', null, account), 'created');
}

async function setAccount(args: Arguments, { client }: Context): Promise<Outcome> {
  const path = pathOf('accounts', args.subject);
  const change = accountChanges(args);
  const before = await client.get<AccountItem>(path);
  return writtenAccount(await client.send('PATCH', path, before.version, changedFields(before, change)), 'changed');
}

async function showUsage(args: Arguments, { client }: Context): Promise<Outcome> {
  const month = given({ month: args.text('month') });
  const usage = await client.get<UsageAnswer>(`${pathOf('accounts', args.subject)}/usage`, month);
  const sites = [...new Set(usage.days.flatMap((day) => Object.keys(day.sites)))].sort();
  const rows = [
    ...usage.days.map((day) => [day.day, String(day.events), ...sites.map((site) => String(day.sites[site] ?? 0))]),
    [usage.month, String(usage.events), ...sites.map((site) => String(sumOf(usage, site)))],
  ];
  return { text: renderTable(['DAY', 'EVENTS', ...sites], rows, ''), json: usage };
}

function accountChanges(args: Arguments): object {
  return given({
    name: args.text('name'),
    monthly_allowance: readCount(args, 'allowance'),
  });
}

function writtenAccount(account: AccountItem, done: string): Outcome {
  return { text: `Account ${account.account_id} ${done}.`, json: withoutMeta(account) };
}

function accountTable(accounts: AccountItem[]): Outcome {
  const headings = ['ACCOUNT', 'NAME', 'EVENTS/MONTH', 'USED', 'OF ALLOWANCE'];
  const text = renderTable(headings, accounts.map(accountRow), 'There are no accounts.');
  return { text, json: accounts.map(withoutMeta) };
}

/** More than the allowance is used where its grace is. */
function accountRow({ account_id, name, monthly_allowance, used_this_month: used }: AccountItem): string[] {
  const share = used === null || monthly_allowance === 0 ? '-' : `${((100 * used) / monthly_allowance).toFixed(1)} %`;
  return [account_id, name, String(monthly_allowance), used === null ? '-' : String(used), share];
}

export const auditCommands: Command[] = [
  {
    noun: 'audit',
    verb: 'list',
    summary: 'List who changed what, and when, newest first',
    subject: null,
    options: {
      limit: { kind: 'text', value: 'NUMBER', help: 'How many changes, at most 1000 (100)' },
      before: { kind: 'text', value: 'SEQ', help: 'Only changes before this number' },
      of: { kind: 'text', value: 'FACT', help: 'Only of this fact, such as site/shop; or below it: destination/shop/' },
      by: { kind: 'text', value: 'LABEL', help: 'Only by the admin token of this label' },
    },
    examples: ['audit list', 'audit list --of destination/shop/ --limit 20', 'audit list --by deploy --json'],
    run: listChanges,
  },
  {
    noun: 'audit',
    verb: 'reads',
    summary: 'List who read data of people, and how much of it, newest first',
    subject: null,
    options: {
      limit: { kind: 'text', value: 'NUMBER', help: 'How many entries, at most 1000 (100)' },
      before: { kind: 'text', value: 'SEQ', help: 'Only entries before this number' },
      site: { kind: 'text', value: 'SITE', help: 'Only of this site' },
      by: { kind: 'text', value: 'LABEL', help: 'Only by the admin token of this label, or this user' },
      kind: { kind: 'text', value: 'KIND', help: 'Only this: sql, timeline, actors, live, event, dead_letter, ...' },
      since: { kind: 'text', value: 'MOMENT', help: 'Only from then on: a date, or 3d, 12h ago' },
    },
    examples: ['audit reads', 'audit reads --site shop --by ada --since 7d', 'audit reads --kind sql --json'],
    run: listReads,
  },
];

async function listChanges(args: Arguments, { client }: Context): Promise<Outcome> {
  const page = await client.get<AuditPage>('/audit', {
    limit: readCount(args, 'limit'),
    before: readCount(args, 'before'),
    setting_key: args.text('of'),
    changed_by: args.text('by'),
  });
  const headings = ['SEQ', 'WHEN', 'WHO', 'ACTION', 'WHAT', 'FIELDS'];
  return { text: renderTable(headings, page.items.map(changeRow), 'There are no changes.'), json: page.items };
}

function changeRow(item: AuditItem): string[] {
  const names = Object.keys({ ...item.before, ...item.after }).filter((name) => name !== 'secrets');
  const secrets = item.secrets_changed.map((name) => `secret ${name}`);
  const fields = item.action === 'change' ? [...names, ...secrets] : [];
  return [
    String(item.seq),
    renderTime(item.changed_at),
    item.changed_by,
    item.action,
    item.setting_key,
    renderList(fields),
  ];
}

async function listReads(args: Arguments, { client, nowMs }: Context): Promise<Outcome> {
  const since = args.text('since');
  const page = await client.get<DataReadPage>('/audit/reads', {
    limit: readCount(args, 'limit'),
    before: readCount(args, 'before'),
    site_id: args.text('site'),
    read_by: args.text('by'),
    kind: args.text('kind'),
    since: since === undefined ? undefined : readMoment(since, 'since', nowMs),
  });
  const headings = ['SEQ', 'FIRST', 'LAST', 'WHO', 'SITE', 'WHAT', 'AS', 'TIMES', 'ROWS'];
  const rows = page.items.map(({ seq, first_at, last_at, read_by, site_id, kind, format, reads, rows }) => [
    ...[String(seq), renderTime(first_at), renderTime(last_at), read_by, site_id, kind, format, String(reads)],
    rows === null ? '-' : String(rows),
  ]);
  const table = renderTable(headings, rows, 'Nobody read data of people.');
  const more = page.next === null ? '' : `\nMore: audit reads --before ${page.next}`;
  return { text: table + more, json: page };
}
