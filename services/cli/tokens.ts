import type { ControlClient } from '#services/control_api/client.ts';
import type { IssuedTokenItem, TokenItem } from '#services/control_api/token_shapes.ts';
import { renderTable, renderTime } from '#services/render.ts';
import { given, known, withoutMeta } from './changes.ts';
import type { Arguments, Command, Context, Outcome } from './command.ts';
import { GRANT_OPTION, readGrant, renderGrants } from './grant_text.ts';
import { UsageError } from './usage_error.ts';
import { pathOf, readExpiry } from './values.ts';

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
