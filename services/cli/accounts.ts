import { accountProblems } from '#pipelines/settings/validate.ts';
import type { Account } from '#schemas/setting.ts';
import type { Arguments } from './arguments.ts';
import { known, refuseExisting, refuseProblems, refuseUnchanged, writeOf } from './changes.ts';
import type { Command, Context, Outcome } from './command.ts';
import { renderTable } from './render.ts';
import { readWhole } from './values.ts';

const subject = { name: 'ACCOUNT', help: 'its id: lower-case letters, digits, - and _' };
const name = { kind: 'text', value: 'TEXT', help: 'Name shown to people' } as const;
const allowance = { kind: 'text', value: 'EVENTS', help: 'Events per month (UTC), before the grace of 20%' } as const;

export const accountCommands: Command[] = [
  {
    noun: 'account',
    verb: 'list',
    summary: 'List accounts and their allowances',
    subject: null,
    options: {},
    examples: ['account list', 'account list --json'],
    run: (_args, { table }) => listed(table.accounts()),
  },
  {
    noun: 'account',
    verb: 'create',
    summary: 'Create an account',
    subject,
    options: { name, allowance: { ...allowance, required: true } },
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
    options: { name, allowance },
    examples: ['account set acme --allowance 5000000'],
    run: setAccount,
  },
];

function createAccount(args: Arguments, context: Context): Outcome {
  refuseExisting(context.table.account(args.subject), 'account', args.subject);
  const blank: Account = { account_id: args.subject, name: args.subject, monthly_allowance: 0 };
  return written(changed(blank, args), context, 'created');
}

function setAccount(args: Arguments, context: Context): Outcome {
  const before = known(context.table.account(args.subject), 'account', args.subject);
  const after = changed(before, args);
  refuseUnchanged(before, after);
  return written(after, context, 'changed');
}

function changed(account: Account, args: Arguments): Account {
  const events = args.text('allowance');
  return {
    account_id: account.account_id,
    name: args.text('name') ?? account.name,
    monthly_allowance: events === undefined ? account.monthly_allowance : readWhole(events, 'allowance'),
  };
}

function written(account: Account, context: Context, done: string): Outcome {
  refuseProblems(accountProblems(account));
  return { writes: [writeOf(context, { account })], text: `Account ${account.account_id} ${done}.`, json: account };
}

function listed(accounts: Account[]): Outcome {
  const rows = accounts.map((account) => [account.account_id, account.name, String(account.monthly_allowance)]);
  const text = renderTable(['ACCOUNT', 'NAME', 'EVENTS/MONTH'], rows, 'There are no accounts.');
  return { writes: [], text, json: accounts };
}
