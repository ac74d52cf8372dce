// Commands of users, their grants and admin tokens.

import { randomBytes } from 'node:crypto';
import { createPasswords } from '#infra/secrets/password.ts';
import { isAcceptable, PASSWORD_RULE, randomPassword } from '#pipelines/settings/secrets.ts';
import { type ControlClient, ControlRefusal, pathOf } from '#services/control_api/client.ts';
import type {
  ChangedUser,
  Invitation,
  IssuedTokenItem,
  RevokedIssued,
  TokenItem,
  UserItem,
} from '#services/control_api/users.ts';
import { renderList, renderTime } from '#services/stage/terminal.ts';
import {
  type Arguments,
  type Command,
  type Context,
  done,
  listCommand,
  type Outcome,
  option,
  repeatableOption,
  table,
  UsageError,
  withoutMeta,
} from './command.ts';
import { given, givenExpiry, known, optional, unchanged } from './read.ts';

const subject = 'the id that they sign in with';
const nameOption = option('name <NAME>', 'display name');
const passwordOption = option(
  'password-stdin',
  'read the password from standard input; else a new one is made and shown, once',
);
/** A role in a place, as it is typed. */
const grantOption = repeatableOption(
  'grant <ROLE[@account/ID|@site/ID]>',
  'a role in an account, in a site, or in the whole installation',
);

const UNSEEN_TOKENS = 'Whoever manages tokens can list those that they issued and that still work: token list.';

export const userCommands: Command[] = [
  listCommand<UserItem>({
    noun: 'user',
    summary: 'List users of the dashboard and their roles',
    path: '/users',
    columns: {
      USER: 'user_id',
      NAME: 'name',
      STATE: ({ disabled_at }) => (disabled_at === null ? 'active' : 'disabled'),
      'SECOND FACTOR': ({ second_factor }) => (second_factor ? 'yes' : 'no'),
      MAY: ({ grants, has_other_grants }) => renderGrants(grants) + (has_other_grants ? ', and elsewhere' : ''),
      CREATED: 'created_at',
    },
    whenEmpty: 'There are no users.',
  }),
  {
    usage: 'user add <USER>',
    summary: 'Create a user with a password',
    subject,
    options: [nameOption, grantOption, passwordOption],
    examples: ['user add ada --name Ada --grant analyst@site/shop', 'user add root --grant owner'],
    async run(args, context) {
      const grants = givenGrants(args);
      if (grants === undefined)
        throw new UsageError('flag_missing', '--grant is missing: a user needs at least one role');
      const { password, lines } = passwordOf(args, context);
      const body = given({ user_id: args.subject, name: args.text('name'), grants, password });
      const user = await context.client.send<UserItem>('POST', '/users', null, body);
      return done([`User ${user.user_id} created.`, ...lines].join('\n'), user);
    },
  },
  {
    usage: 'user change <USER>',
    summary: 'Change the roles or the name of a user; grants replace all former ones',
    subject,
    options: [nameOption, grantOption, option('no-second-factor', 'remove the second factor, such as a lost phone')],
    examples: ['user change ada --grant admin@account/acme', 'user change ada --no-second-factor'],
    async run(args, { client }) {
      const second_factor = args.flag('no-second-factor') ? false : undefined;
      const fields = given({ name: args.text('name'), grants: givenGrants(args), second_factor });
      if (Object.keys(fields).length === 0) throw unchanged();
      const user = await changeUser<UserItem>(client, args.subject, fields);
      return done(`User ${user.user_id} has these roles now: ${renderGrants(user.grants)}`, user);
    },
  },
  {
    usage: 'user password <USER>',
    summary: 'Set a new password of a user; their sessions end',
    subject,
    options: [passwordOption],
    async run(args, context) {
      const { password, lines } = passwordOf(args, context);
      const user = await changeUser<UserItem>(context.client, args.subject, { password });
      return done([`User ${user.user_id} has a new password.`, ...lines].join('\n'), user);
    },
  },
  {
    usage: 'user invite <USER>',
    summary: 'Create an invitation, by which a user links their account at a provider, once',
    subject,
    async run(args, { client }) {
      const made = await client.send<Invitation>('POST', `${pathOf('users', args.subject)}/invitation`, null, {});
      const lines = [
        `Until ${renderTime(made.expires_at)}, opening this path of the dashboard links an account:`,
        '',
        `  /dashboard/#invitation=${made.invitation}`,
        '',
        'The invitation is shown only once, and works once.',
      ];
      return { text: lines.join('\n'), json: made };
    },
  },
  {
    usage: 'user disable <USER>',
    summary: 'Disable a user: their sessions end at once, and the tokens that they issued are listed',
    subject,
    options: [option('revoke-issued', 'revoke the tokens and the ClickHouse users that they created')],
    examples: ['user disable ada', 'user disable ada --revoke-issued'],
    run: disableUser,
  },
  {
    usage: 'user enable <USER>',
    summary: 'Enable a disabled user',
    subject,
    async run(args, { client }) {
      const user = await changeUser<UserItem>(client, args.subject, { disabled: false });
      return done(`User ${user.user_id} is enabled.`, user);
    },
  },
  {
    usage: 'user hash',
    summary: 'Print the hash of a password from standard input, for CONTROL_FIRST_PASSWORD_HASH',
    examples: ['user hash < password.txt'],
    async run(_args, { readStdin }) {
      const password = typedPassword(readStdin());
      // Every other password is judged by the service, which never sees this one.
      if (!isAcceptable(password)) throw new UsageError('password_weak', `a password needs: ${PASSWORD_RULE}`);
      const hash = await createPasswords().hash(password);
      return { text: hash, json: { hash } };
    },
  },
];

const changeUser = <Item>(client: ControlClient, userId: string, fields: object): Promise<Item> =>
  client.send<Item>('PATCH', pathOf('users', userId), null, fields);

/** What the user has issued goes on working, so it is named. */
async function disableUser(args: Arguments, { client }: Context): Promise<Outcome> {
  const revoke_issued = args.flag('revoke-issued') ? true : undefined;
  const user = await changeUser<ChangedUser>(client, args.subject, given({ disabled: true, revoke_issued }));
  const revoked = user.revoked_issued === undefined ? [] : revokedLines(user.revoked_issued);
  const tokens = await workingTokensOf(client, user.user_id);
  const lines = tokens === null ? [UNSEEN_TOKENS] : tokens.length === 0 ? [] : tokenLines(tokens);
  return {
    text: [`User ${user.user_id} is disabled.`, ...revoked, ...lines].join('\n'),
    json: { ...withoutMeta(user), working_tokens: tokens?.map(withoutMeta) ?? null },
  };
}

function revokedLines({ tokens, analysts, analysts_left }: RevokedIssued): string[] {
  const lines = [`Tokens revoked: ${renderList(tokens)}`];
  if (analysts === null)
    return [...lines, 'ClickHouse did not answer: run this again to revoke the users that they created in it.'];
  lines.push(`ClickHouse users revoked: ${renderList(analysts)}`);
  if (analysts_left) lines.push('There are others, which you may not revoke: analyst list');
  return lines;
}

/** The tokens of a user that work; null where they are not this caller's to see. */
async function workingTokensOf(client: ControlClient, userId: string): Promise<TokenItem[] | null> {
  try {
    const tokens = await client.list<TokenItem>('/tokens');
    return tokens.filter(({ issued_by, state }) => issued_by === userId && state === 'active');
  } catch (error) {
    if (error instanceof ControlRefusal && error.code === 'permission_missing') return null;
    throw error;
  }
}

const mayOf = ({ grants }: TokenItem): string => (grants === null ? 'everything' : renderGrants(grants));

function tokenLines(tokens: readonly TokenItem[]): string[] {
  return [
    'Tokens that they issued still work:',
    '',
    table<TokenItem>({ LABEL: 'label', TOKEN: 'shown_prefix', MAY: mayOf }, tokens),
    '',
    'Revoke each that nothing needs: token revoke LABEL',
  ];
}

/** The password from standard input, which nothing repeats; or a new one, with the lines that show it. */
function passwordOf(args: Arguments, { readStdin }: Context): { password: string; lines: string[] } {
  if (args.flag('password-stdin')) return { password: typedPassword(readStdin()), lines: [] };
  const password = randomPassword(randomBytes);
  return {
    password,
    lines: ['', `  ${password}`, '', 'The password is shown only once.'],
  };
}

function typedPassword(text: string): string {
  const password = text.replace(/\r?\n$/, '');
  if (password === '') throw new UsageError('password_missing', 'standard input holds no password');
  return password;
}

export const tokenCommands: Command[] = [
  listCommand<TokenItem>({
    noun: 'token',
    summary: 'List admin tokens; only their first characters are known',
    path: '/tokens',
    columns: {
      LABEL: 'label',
      TOKEN: 'shown_prefix',
      STATE: 'state',
      MAY: mayOf,
      CREATED: 'created_at',
      EXPIRES: ({ expires_at }) => renderTime(expires_at),
    },
    whenEmpty: 'There are no admin tokens.',
  }),
  {
    usage: 'token create <LABEL>',
    summary: 'Create an admin token and show it, once',
    subject: 'who or what holds it; recorded with every change',
    options: [
      option('expires <WHEN>', '90d (the default), 12h, 30m, a date or a time with offset, or never'),
      grantOption,
    ],
    examples: ['token create deploy --expires 90d', 'token create reports --grant viewer@site/shop'],
    async run(args, { client, nowMs }) {
      const body = given({ label: args.subject, expires_at: givenExpiry(args, nowMs), grants: givenGrants(args) });
      const { secret, token } = await client.send<IssuedTokenItem>('POST', '/tokens', null, body);
      const lines = [
        `Admin token ${token.label} created:`,
        '',
        `  ${secret}`,
        '',
        'It is shown only once and not stored: copy it now.',
      ];
      return { text: lines.join('\n'), json: { secret, ...withoutMeta(token) } };
    },
  },
  {
    usage: 'token revoke <LABEL>',
    summary: 'Revoke an admin token, at once and for good',
    subject: 'its label, or its hash',
    async run(args, { client }) {
      const before = await findToken(client, args.subject);
      const token = await client.send<TokenItem>('POST', `${pathOf('tokens', before.token_hash)}/revoke`, null);
      return done(`Admin token ${token.label} revoked.`, token);
    },
  },
];

/** Of several tokens with one label at most one is active: that one is meant. */
async function findToken(client: ControlClient, text: string): Promise<TokenItem> {
  const found = (await client.list<TokenItem>('/tokens')).filter(
    (token) => token.label === text || token.token_hash === text,
  );
  const token = found.find(({ state }) => state === 'active') ?? known(found[0], 'token', text);
  if (token.revoked_at !== null) {
    throw new UsageError('token_revoked', `${token.label} was revoked at ${renderTime(token.revoked_at)}`);
  }
  return token;
}

interface GrantText {
  role: string;
  account_id?: string | null;
  site_id?: string | null;
}

const givenGrants = (args: Arguments): GrantText[] | undefined => optional(args.texts('grant').map(readGrant));

/** Reads `viewer@site/shop`, `admin@account/acme` or `owner`. @throws UsageError for anything else. */
function readGrant(text: string): GrantText {
  const [, role = '', kind, id] = /^([a-z]+)(?:@(account|site)\/([a-z0-9_-]{1,64}))?$/.exec(text) ?? [];
  if (role === '') throw new UsageError('grant_malformed', `--grant ${text} is not like viewer@site/shop or admin`);
  if (id === undefined) return { role };
  return kind === 'site' ? { role, site_id: id } : { role, account_id: id };
}

function renderGrants(grants: readonly GrantText[]): string {
  return grants.length === 0 ? '-' : grants.map(renderGrant).join(', ');
}

function renderGrant({ role, account_id, site_id }: GrantText): string {
  if (typeof site_id === 'string') return `${role}@site/${site_id}`;
  return typeof account_id === 'string' ? `${role}@account/${account_id}` : role;
}
