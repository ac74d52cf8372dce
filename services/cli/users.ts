// Commands of users, their grants and admin tokens.

import { randomBytes } from 'node:crypto';
import { createPasswords } from '#infra/secrets/password.ts';
import { isAcceptable, PASSWORD_RULE, randomPassword } from '#pipelines/settings/secrets.ts';
import { type ControlClient, ControlRefusal } from '#services/control_api/client.ts';
import type {
  ChangedUser,
  Invitation,
  IssuedTokenItem,
  RevokedIssued,
  TokenItem,
  UserItem,
} from '#services/control_api/users.ts';
import { renderList, renderTable, renderTime } from '#services/stage/terminal.ts';
import {
  type Arguments,
  type Command,
  type Context,
  given,
  known,
  type OptionSpec,
  type Outcome,
  pathOf,
  readExpiry,
  UsageError,
  unchanged,
  withoutMeta,
} from './command.ts';

const userSubject = { name: 'USER', help: 'the id that they sign in with' };
const stdin: OptionSpec = {
  kind: 'flag',
  help: 'read the password from standard input; else a new one is shown, once',
};

/** A role in a place, as it is typed; several may be given. */
const GRANT_OPTION: OptionSpec = {
  kind: 'texts',
  value: 'ROLE[@account/ID|@site/ID]',
  help: 'a role in an account, a site, or without a place in the whole installation',
};

const UNSEEN_TOKENS = 'Whether tokens that they issued still work is for who manages tokens: token list.';

export const userCommands: Command[] = [
  {
    noun: 'user',
    verb: 'list',
    summary: 'List who may sign in to the dashboard, and what they may',
    subject: null,
    options: {},
    examples: ['user list'],
    run: listUsers,
  },
  {
    noun: 'user',
    verb: 'add',
    summary: 'Make a user with a password',
    subject: userSubject,
    options: {
      name: { kind: 'text', value: 'NAME', help: 'what people know them by' },
      grant: GRANT_OPTION,
      'password-stdin': stdin,
    },
    examples: ['user add ada --name Ada --grant analyst@site/shop', 'user add root --grant owner'],
    run: addUser,
  },
  {
    noun: 'user',
    verb: 'change',
    summary: 'Change what a user may, or their name; grants take the place of those there are',
    subject: userSubject,
    options: {
      name: { kind: 'text', value: 'NAME', help: 'what people know them by' },
      grant: GRANT_OPTION,
      'no-second-factor': { kind: 'flag', help: 'remove the second factor, as of a lost phone' },
    },
    examples: ['user change ada --grant admin@account/acme', 'user change ada --no-second-factor'],
    run: changeUser,
  },
  {
    noun: 'user',
    verb: 'password',
    summary: 'Give a user a new password; their sessions end',
    subject: userSubject,
    options: { 'password-stdin': stdin },
    examples: ['user password ada'],
    run: givePassword,
  },
  {
    noun: 'user',
    verb: 'invite',
    summary: 'Make an invitation, by which a user links their account at a provider, once',
    subject: userSubject,
    options: {},
    examples: ['user invite ada'],
    run: inviteUser,
  },
  {
    noun: 'user',
    verb: 'disable',
    summary: 'Let a user sign in no more; their sessions end at once, and tokens that they issued are named',
    subject: userSubject,
    options: {
      'revoke-issued': {
        kind: 'flag',
        help: 'revoke the tokens that they issued, and the users of ClickHouse they made',
      },
    },
    examples: ['user disable ada', 'user disable ada --revoke-issued'],
    run: disableUser,
  },
  {
    noun: 'user',
    verb: 'enable',
    summary: 'Let a disabled user sign in again',
    subject: userSubject,
    options: {},
    examples: ['user enable ada'],
    run: enableUser,
  },
  {
    noun: 'user',
    verb: 'hash',
    summary: 'Print the hash of a password from standard input, for CONTROL_FIRST_PASSWORD_HASH',
    subject: null,
    options: {},
    examples: ['user hash < password.txt'],
    run: hashPassword,
  },
];

async function listUsers(_args: Arguments, { client }: Context): Promise<Outcome> {
  const users = await client.list<UserItem>('/users');
  const rows = users.map((user) => [
    user.user_id,
    user.name,
    user.disabled_at === null ? 'active' : 'disabled',
    user.second_factor ? 'yes' : 'no',
    renderGrants(user.grants) + (user.has_other_grants ? ', and elsewhere' : ''),
    renderTime(user.created_at),
  ]);
  const headings = ['USER', 'NAME', 'STATE', 'SECOND FACTOR', 'MAY', 'CREATED'];
  return { text: renderTable(headings, rows, 'There are no users.'), json: users.map(withoutMeta) };
}

async function addUser(args: Arguments, context: Context): Promise<Outcome> {
  const grants = args.texts('grant').map(readGrant);
  if (grants.length === 0) throw new UsageError('flag_missing', '--grant is missing: a user without one may nothing');
  const { password, lines } = passwordOf(args, context);
  const body = given({ user_id: args.subject, name: args.text('name'), grants, password });
  const user = await context.client.send<UserItem>('POST', '/users', null, body);
  return { text: [`User ${user.user_id} made.`, ...lines].join('\n'), json: withoutMeta(user) };
}

async function changeUser(args: Arguments, { client }: Context): Promise<Outcome> {
  const grants = args.texts('grant').map(readGrant);
  const change = given({
    name: args.text('name'),
    grants: grants.length === 0 ? undefined : grants,
    second_factor: args.flag('no-second-factor') ? false : undefined,
  });
  if (Object.keys(change).length === 0) throw unchanged();
  const user = await client.send<UserItem>('PATCH', pathOf('users', args.subject), null, change);
  return { text: `User ${user.user_id} may now: ${renderGrants(user.grants)}`, json: withoutMeta(user) };
}

async function givePassword(args: Arguments, context: Context): Promise<Outcome> {
  const { password, lines } = passwordOf(args, context);
  const user = await context.client.send<UserItem>('PATCH', pathOf('users', args.subject), null, { password });
  return { text: [`User ${user.user_id} has a new password.`, ...lines].join('\n'), json: withoutMeta(user) };
}

async function inviteUser(args: Arguments, { client }: Context): Promise<Outcome> {
  const made = await client.send<Invitation>('POST', `${pathOf('users', args.subject)}/invitation`, null, {});
  const lines = [
    `Until ${renderTime(made.expires_at)}, whoever opens this below the dashboard's address links their account:`,
    '',
    `  /dashboard/#invitation=${made.invitation}`,
    '',
    'The invitation is shown this once, and works once.',
  ];
  return { text: lines.join('\n'), json: made };
}

async function enableUser(args: Arguments, { client }: Context): Promise<Outcome> {
  const user = await client.send<UserItem>('PATCH', pathOf('users', args.subject), null, { disabled: false });
  return { text: `User ${user.user_id} is enabled.`, json: withoutMeta(user) };
}

/** What the user has issued goes on working, so it is named. */
async function disableUser(args: Arguments, { client }: Context): Promise<Outcome> {
  const change = given({ disabled: true, revoke_issued: args.flag('revoke-issued') ? true : undefined });
  const user = await client.send<ChangedUser>('PATCH', pathOf('users', args.subject), null, change);
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
    return [...lines, 'ClickHouse did not answer: ask again, and its users that they made are revoked.'];
  lines.push(`Users of ClickHouse revoked: ${renderList(analysts)}`);
  if (analysts_left) lines.push('There are others, which somebody else must revoke: analyst list');
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

function tokenLines(tokens: readonly TokenItem[]): string[] {
  const rows = tokens.map(({ label, shown_prefix, grants }) => [
    label,
    shown_prefix,
    grants === null ? 'everything' : renderGrants(grants),
  ]);
  return [
    'Tokens that they issued still work:',
    '',
    renderTable(['LABEL', 'TOKEN', 'MAY'], rows, ''),
    '',
    'Revoke each that nothing needs: token revoke LABEL',
  ];
}

async function hashPassword(_args: Arguments, { readStdin }: Context): Promise<Outcome> {
  const password = typedPassword(readStdin());
  // Every other password is judged by the service, which never sees this one.
  if (!isAcceptable(password)) {
    throw new UsageError('password_weak', `a password has this: ${PASSWORD_RULE}`);
  }
  const hash = await createPasswords().hash(password);
  return { text: hash, json: { hash } };
}

/** The password from standard input, which nothing repeats; or a new one, with the lines that show it. */
function passwordOf(args: Arguments, { readStdin }: Context): { password: string; lines: string[] } {
  if (args.flag('password-stdin')) return { password: typedPassword(readStdin()), lines: [] };
  const password = randomPassword(randomBytes);
  return {
    password,
    lines: ['', `  ${password}`, '', 'The password is shown this once: hand it over, to be changed.'],
  };
}

function typedPassword(text: string): string {
  const password = text.replace(/\r?\n$/, '');
  if (password === '') throw new UsageError('password_missing', 'standard input holds no password');
  return password;
}

export const tokenCommands: Command[] = [
  {
    noun: 'token',
    verb: 'list',
    summary: 'List admin tokens; only their first characters are known',
    subject: null,
    options: {},
    examples: ['token list'],
    run: listTokens,
  },
  {
    noun: 'token',
    verb: 'create',
    summary: 'Create an admin token and show it, once',
    subject: { name: 'LABEL', help: 'who or what holds it; recorded with every change' },
    options: {
      expires: {
        kind: 'text',
        value: 'WHEN',
        help: '90d (the default), 12h, 30m, a date or a time with offset, or never',
      },
      grant: GRANT_OPTION,
    },
    examples: ['token create deploy --expires 90d', 'token create reports --grant viewer@site/shop'],
    run: createToken,
  },
  {
    noun: 'token',
    verb: 'revoke',
    summary: 'Revoke an admin token, at once and for good',
    subject: { name: 'LABEL', help: 'its label, or its hash' },
    options: {},
    examples: ['token revoke deploy'],
    run: revokeToken,
  },
];

async function listTokens(_args: Arguments, { client }: Context): Promise<Outcome> {
  const tokens = await client.list<TokenItem>('/tokens');
  const rows = tokens.map((token) => [
    token.label,
    token.shown_prefix,
    token.state,
    token.grants === null ? 'everything' : renderGrants(token.grants),
    renderTime(token.created_at),
    renderTime(token.expires_at),
  ]);
  const text = renderTable(
    ['LABEL', 'TOKEN', 'STATE', 'MAY', 'CREATED', 'EXPIRES'],
    rows,
    'There are no admin tokens.',
  );
  return { text, json: tokens.map(withoutMeta) };
}

async function createToken(args: Arguments, { client, nowMs }: Context): Promise<Outcome> {
  const expires = args.text('expires');
  const expiresAt = expires === undefined ? undefined : readExpiry(expires, nowMs);
  const grants = args.texts('grant').map(readGrant);
  const body = given({
    label: args.subject,
    expires_at: expiresAt,
    grants: grants.length === 0 ? undefined : grants,
  });
  const { secret, token } = await client.send<IssuedTokenItem>('POST', '/tokens', null, body);
  const lines = [
    `Admin token ${token.label} created:`,
    '',
    `  ${secret}`,
    '',
    'It is shown this once and stored nowhere: copy it now.',
  ];
  return { text: lines.join('\n'), json: { secret, ...withoutMeta(token) } };
}

async function revokeToken(args: Arguments, { client }: Context): Promise<Outcome> {
  const before = await findToken(client, args.subject);
  const token = await client.send<TokenItem>('POST', `${pathOf('tokens', before.token_hash)}/revoke`, null);
  return { text: `Admin token ${token.label} revoked.`, json: withoutMeta(token) };
}

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
