// Commands of people and programs that are let in: users and their grants, admin tokens, ClickHouse users.

import { randomBytes } from 'node:crypto';
import { ANALYST_SITE, analystName } from '#infra/clickhouse/analysts/analyst_rights.ts';
import { createPasswords } from '#infra/secrets/password.ts';
import { isAcceptable, PASSWORD_RULE, randomPassword } from '#pipelines/settings/secrets.ts';
import { type ControlClient, ControlRefusal, pathOf } from '#services/control_api/client.ts';
import type { AnalystItem, MadeAnalyst } from '#services/control_api/queries.ts';
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
  type Commands,
  type Context,
  done,
  doneOnce,
  list,
  type Outcome,
  option,
  pathIn,
  repeatableOption,
  send,
  table,
  UsageError,
  withoutMeta,
} from './command.ts';
import { known, readExpiry, unchanged } from './read.ts';

const subject = 'the id that they sign in with';
const nameOption = option('name <NAME>', 'display name', 'name');
const passwordOption = option(
  'password-stdin',
  'read the password from standard input; else a new one is made and shown, once',
);
/** A role in a place, as it is typed. */
const grantOption = repeatableOption(
  'grant <ROLE[@account/ID|@site/ID]>',
  'a role in an account, in a site, or in the whole installation',
  'grants',
  readGrant,
);
const expiresOption = option(
  'expires <WHEN>',
  '90d (the default), 12h, 30m, a date or a time with offset, or never',
  'expires_at',
  readExpiry,
);

const UNSEEN_TOKENS = 'Whoever manages tokens can list those that they issued and that still work: token list.';

export const userCommands: Commands = {
  'user list': list<UserItem>({
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
  'user add <USER>': {
    summary: 'Create a user with a password',
    subject,
    options: [nameOption, grantOption, passwordOption],
    examples: ['user add ada --name Ada --grant analyst@site/shop', 'user add root --grant owner'],
    async run(args, context) {
      if (!args.flag('grant'))
        throw new UsageError('flag_missing', '--grant is missing: a user needs at least one role');
      const fields = args.fields();
      const { password, lines } = passwordOf(args, context);
      const body = { user_id: args.subject, ...fields, password };
      const user = await context.client.send<UserItem>('POST', '/users', null, body);
      return done([`User ${user.user_id} created.`, ...lines], user);
    },
  },
  'user change <USER>': {
    summary: 'Change the roles or the name of a user; grants replace all former ones',
    subject,
    options: [
      nameOption,
      grantOption,
      option('no-second-factor', 'remove the second factor, such as a lost phone', 'second_factor', () => false),
    ],
    examples: ['user change ada --grant admin@account/acme', 'user change ada --no-second-factor'],
    async run(args, { client }) {
      const fields = args.fields();
      if (Object.keys(fields).length === 0) throw unchanged();
      const user = await changeUser<UserItem>(client, args.subject, fields);
      return done(`User ${user.user_id} has these roles now: ${renderGrants(user.grants)}`, user);
    },
  },
  'user password <USER>': {
    summary: 'Set a new password of a user; their sessions end',
    subject,
    options: [passwordOption],
    async run(args, context) {
      const { password, lines } = passwordOf(args, context);
      const user = await changeUser<UserItem>(context.client, args.subject, { password });
      return done([`User ${user.user_id} has a new password.`, ...lines], user);
    },
  },
  'user invite <USER>': {
    summary: 'Create an invitation, by which a user links their account at a provider, once',
    subject,
    run: send<Invitation>('POST', pathIn('users', 'invitation'), shownInvitation, () => ({})),
  },
  'user disable <USER>': {
    summary: 'Disable a user: their sessions end at once, and the tokens that they issued are listed',
    subject,
    options: [option('revoke-issued', 'revoke the tokens and the ClickHouse users that they created', 'revoke_issued')],
    examples: ['user disable ada', 'user disable ada --revoke-issued'],
    run: disableUser,
  },
  'user enable <USER>': {
    summary: 'Enable a disabled user',
    subject,
    run: send<UserItem>(
      'PATCH',
      pathIn('users'),
      (user) => done(`User ${user.user_id} is enabled.`, user),
      () => ({ disabled: false }),
    ),
  },
  'user hash': {
    summary: 'Print the hash of a password from standard input, for CONTROL_FIRST_PASSWORD_HASH',
    examples: ['user hash < password.txt'],
    async run(_args, { readStdin }) {
      const password = typedPassword(readStdin());
      // Every other password is judged by the service, which never sees this one.
      if (!isAcceptable(password)) throw new UsageError('password_weak', `a password needs: ${PASSWORD_RULE}`);
      const hash = await createPasswords().hash(password);
      return done(hash, { hash });
    },
  },
};

const changeUser = <Item>(client: ControlClient, userId: string, fields: object): Promise<Item> =>
  client.send<Item>('PATCH', pathOf('users', userId), null, fields);

function shownInvitation(made: Invitation): Outcome {
  const lines = [
    `Until ${renderTime(made.expires_at)}, opening this path of the dashboard links an account:`,
    '',
    `  /dashboard/#invitation=${made.invitation}`,
    '',
    'The invitation is shown only once, and works once.',
  ];
  return done(lines, made);
}

/** What the user has issued goes on working, so it is named. */
async function disableUser(args: Arguments, { client }: Context): Promise<Outcome> {
  const user = await changeUser<ChangedUser>(client, args.subject, { disabled: true, ...args.fields() });
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
  return { password, lines: ['', `  ${password}`, '', 'The password is shown only once.'] };
}

function typedPassword(text: string): string {
  const password = text.replace(/\r?\n$/, '');
  if (password === '') throw new UsageError('password_missing', 'standard input holds no password');
  return password;
}

export const tokenCommands: Commands = {
  'token list': list<TokenItem>({
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
  'token create <LABEL>': {
    summary: 'Create an admin token and show it, once',
    subject: 'who or what holds it; recorded with every change',
    options: [expiresOption, grantOption],
    examples: ['token create deploy --expires 90d', 'token create reports --grant viewer@site/shop'],
    run: send<IssuedTokenItem>(
      'POST',
      () => '/tokens',
      ({ secret, token }) => doneOnce(`Admin token ${token.label} created:`, secret, withoutMeta(token)),
      (args) => ({ label: args.subject }),
    ),
  },
  'token revoke <LABEL>': {
    summary: 'Revoke an admin token, at once and for good',
    subject: 'its label, or its hash',
    async run(args, { client }) {
      const before = await findToken(client, args.subject);
      const token = await client.send<TokenItem>('POST', pathOf('tokens', before.token_hash, 'revoke'), null);
      return done(`Admin token ${token.label} revoked.`, token);
    },
  },
};

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

const renderGrants = (grants: readonly GrantText[]): string => grants.map(renderGrant).join(', ') || '-';

function renderGrant({ role, account_id, site_id }: GrantText): string {
  if (typeof site_id === 'string') return `${role}@site/${site_id}`;
  return typeof account_id === 'string' ? `${role}@account/${account_id}` : role;
}

const analystSubject = 'an id of up to 32 of a-z, 0-9 and -';

/** ClickHouse users, by which people read their sites with tools of their own. */
export const analystCommands: Commands = {
  'analyst show': {
    isDefault: true,
    summary: 'Show how the local analyst signs in to ClickHouse, with the password',
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
      return done([renderTable(['WHAT', 'VALUE'], Object.entries(json), ''), '', query], json);
    },
  },
  'analyst list': list<AnalystItem>({
    summary: 'List the ClickHouse users that read sites',
    path: '/analysts',
    isWhole: true,
    columns: {
      ANALYST: 'analyst_id',
      'CLICKHOUSE USER': 'clickhouse_user',
      SITES: ({ site_ids }) => site_ids.join(', '),
      CREATED: 'created_at',
      ENDS: ({ expires_at }) => renderTime(expires_at),
      BY: 'created_by',
    },
    whenEmpty: 'There are no analysts.',
  }),
  'analyst add <ANALYST>': {
    summary: 'Create a ClickHouse user that reads some sites, and show its password, once',
    subject: analystSubject,
    options: [repeatableOption('site <SITE>', 'a site that it reads', 'site_ids'), expiresOption],
    examples: ['analyst add ada --site shop', 'analyst add reports --site shop --site blog --expires 365d'],
    async run(args, { client }) {
      if (!args.flag('site')) throw new UsageError('flag_missing', '--site is missing: an analyst reads at least one');
      const body = { analyst_id: args.subject, ...args.fields() };
      const { password, analyst } = await client.send<MadeAnalyst>('POST', '/analysts', null, body);
      const lines = [
        `${analyst.clickhouse_user} reads ${analyst.site_ids.join(', ')} in the database of its own name. Its password:`,
        '',
        `  ${password}`,
        '',
        `It is shown only once: copy it now. Its logins end: ${renderTime(analyst.expires_at)}.`,
      ];
      return done(lines, { password, ...analyst });
    },
  },
  'analyst revoke <ANALYST>': {
    summary: 'Revoke a ClickHouse user, at once and for good',
    subject: analystSubject,
    run: send<AnalystItem>('DELETE', pathIn('analysts'), (analyst) =>
      done(`${analyst.clickhouse_user} is revoked.`, analyst),
    ),
  },
};

function textIn(file: string | null, name: string): string | null {
  const value: unknown = file === null ? undefined : Reflect.get(JSON.parse(file) as object, name);
  return typeof value === 'string' ? value : null;
}
