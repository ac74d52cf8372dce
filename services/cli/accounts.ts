import type { AccountItem } from '#services/control_api/account_shapes.ts';
import type { UsageAnswer } from '#services/control_api/usage_shapes.ts';
import { renderTable } from '#services/render.ts';
import { changedFields, given, withoutMeta } from './changes.ts';
import type { Arguments, Command, Context, Outcome } from './command.ts';
import { pathOf, readCount } from './values.ts';

const subject = { name: 'ACCOUNT', help: 'its id: lower-case letters, digits, - and _' };
const nameOption = { kind: 'text', value: 'TEXT', help: 'Name shown to people' } as const;
const allowance = { kind: 'text', value: 'EVENTS', help: 'Events per month (UTC), before the grace of 20%' } as const;

export const accountCommands: Command[] = [
  {
    noun: 'account',
    verb: 'list',
    summary: 'List accounts, their allowances and what is used of them this month',
    subject: null,
    options: {},
    examples: ['account list', 'account list --json'],
    run: async (_args, { client }) => listed(await client.list('/accounts')),
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
  const account = { account_id: args.subject, ...changes(args) };
  return written(await client.send('POST', '/accounts', null, account), 'created');
}

async function setAccount(args: Arguments, { client }: Context): Promise<Outcome> {
  const path = pathOf('accounts', args.subject);
  const change = changes(args);
  const before = await client.get<AccountItem>(path);
  return written(await client.send('PATCH', path, before.version, changedFields(before, change)), 'changed');
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

const sumOf = ({ days }: UsageAnswer, site: string): number =>
  days.reduce((sum, day) => sum + (day.sites[site] ?? 0), 0);

function changes(args: Arguments): object {
  return given({
    name: args.text('name'),
    monthly_allowance: readCount(args, 'allowance'),
  });
}

function written(account: AccountItem, done: string): Outcome {
  return { text: `Account ${account.account_id} ${done}.`, json: withoutMeta(account) };
}

function listed(accounts: AccountItem[]): Outcome {
  const headings = ['ACCOUNT', 'NAME', 'EVENTS/MONTH', 'USED', 'OF ALLOWANCE'];
  const text = renderTable(headings, accounts.map(row), 'There are no accounts.');
  return { text, json: accounts.map(withoutMeta) };
}

/** More than the allowance is used where its grace is. */
function row({ account_id, name, monthly_allowance, used_this_month: used }: AccountItem): string[] {
  const share = used === null || monthly_allowance === 0 ? '-' : `${((100 * used) / monthly_allowance).toFixed(1)} %`;
  return [account_id, name, String(monthly_allowance), used === null ? '-' : String(used), share];
}
