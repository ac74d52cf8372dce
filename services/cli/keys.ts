import { hashKey, isKeyFormat, shownPrefix } from '#pipelines/settings/callers.ts';
import { canonicalAllowedOrigin } from '#pipelines/settings/domains.ts';
import type { ControlClient } from '#services/control_api/client.ts';
import type { IssuedKeyItem, KeyItem, RotatedKeyItem } from '#services/control_api/sites.ts';
import { renderList, renderTable, renderTime } from '#services/stage/terminal.ts';
import {
  type Arguments,
  type Command,
  type Context,
  changedFields,
  edited,
  given,
  known,
  type OptionSpec,
  type Outcome,
  pathOf,
  readDuration,
  readExpiry,
  readWhole,
  UsageError,
  withoutMeta,
} from './command.ts';

const subject = { name: 'KEY', help: 'as key list shows it, its hash, or the whole key' };
const changeable: Record<string, OptionSpec> = {
  label: { kind: 'text', value: 'TEXT', help: 'What the key is for' },
  origin: { kind: 'texts', value: 'ORIGIN', help: 'Origin a browser may call from; none means all (repeatable)' },
  expires: { kind: 'text', value: 'WHEN', help: '90d, 12h, 30m, a date or a time with offset, or never' },
  'rate-limit': { kind: 'text', value: 'REQUESTS', help: 'Requests in 10 s, or default (as many as any key may)' },
};

export const keyCommands: Command[] = [
  {
    noun: 'key',
    verb: 'list',
    summary: 'List keys; only their first characters are known',
    subject: null,
    options: { site: { kind: 'text', value: 'SITE', help: 'Only keys of this site' } },
    examples: ['key list', 'key list --site shop --json'],
    run: listKeys,
  },
  {
    noun: 'key',
    verb: 'create',
    summary: 'Create a key and show it, once',
    subject: null,
    options: {
      site: { kind: 'text', value: 'SITE', help: 'The site whose events it may send', required: true },
      caller: { kind: 'text', value: 'CALLER', help: 'browser (public) or server (secret)', required: true },
      ...changeable,
    },
    examples: [
      'key create --site shop --caller browser --label web --origin https://shop.example',
      'key create --site shop --caller server --label till --expires 90d',
    ],
    run: createKey,
  },
  {
    noun: 'key',
    verb: 'set',
    summary: 'Change the label, origins, expiry or rate limit of a key',
    subject,
    options: {
      ...changeable,
      'remove-origin': { kind: 'texts', value: 'ORIGIN', help: 'Origin to take off the list (repeatable)' },
    },
    examples: [
      'key set svc_pk_AbCd --origin https://www.shop.example',
      'key set svc_sk_AbCd --expires 7d --rate-limit 5000',
    ],
    run: setKey,
  },
  {
    noun: 'key',
    verb: 'revoke',
    summary: 'Revoke a key, at once and for good',
    subject,
    options: {},
    examples: ['key revoke svc_sk_AbCd'],
    run: revokeKey,
  },
  {
    noun: 'key',
    verb: 'rotate',
    summary: 'Create a key in place of another, which goes on working for a while',
    subject,
    options: {
      overlap: { kind: 'text', value: 'TIME', help: 'How long the old key still works: 7d, 12h, 30m or 0 (24h)' },
      expires: changeable['expires'] as OptionSpec,
    },
    examples: ['key rotate svc_sk_AbCd', 'key rotate svc_sk_AbCd --overlap 7d'],
    run: rotateKey,
  },
];

async function createKey(args: Arguments, { client, nowMs }: Context): Promise<Outcome> {
  const body = given({
    site_id: args.text('site'),
    caller: args.text('caller'),
    label: args.text('label'),
    allowed_origins: origins(args, 'origin'),
    expires_at: expiry(args, nowMs),
    rate_limit: rateLimit(args),
  });
  const { secret, key } = await client.send<IssuedKeyItem>('POST', '/keys', null, body);
  const title = `Key created for site ${key.site_id}, to be used by a ${key.caller}:`;
  return { text: issued(title, secret), json: { secret, ...withoutMeta(key) } };
}

async function setKey(args: Arguments, { client, nowMs }: Context): Promise<Outcome> {
  const before = await findKey(client, args.subject);
  const change = given({
    label: args.text('label'),
    allowed_origins: edited(
      before.allowed_origins,
      origins(args, 'origin'),
      origins(args, 'remove-origin'),
      (origin) => origin,
    ),
    expires_at: expiry(args, nowMs),
    rate_limit: rateLimit(args),
  });
  const path = pathOf('keys', before.key_hash);
  const key = await client.send<KeyItem>('PATCH', path, before.version, changedFields(before, change));
  return { text: `Key ${key.shown_prefix} changed.`, json: withoutMeta(key) };
}

async function revokeKey(args: Arguments, { client }: Context): Promise<Outcome> {
  const before = await findKey(client, args.subject);
  if (before.revoked_at !== null) {
    throw new UsageError('key_revoked', `${before.shown_prefix} was revoked at ${renderTime(before.revoked_at)}`);
  }
  const key = await client.send<KeyItem>('POST', `${pathOf('keys', before.key_hash)}/revoke`, null);
  return { text: `Key ${key.shown_prefix} of site ${key.site_id} revoked.`, json: withoutMeta(key) };
}

async function rotateKey(args: Arguments, { client, nowMs }: Context): Promise<Outcome> {
  const overlap = args.text('overlap');
  const body = given({
    overlap_ms: overlap === undefined ? undefined : readDuration(overlap, 'overlap'),
    expires_at: expiry(args, nowMs),
  });
  const before = await findKey(client, args.subject);
  const path = `${pathOf('keys', before.key_hash)}/rotate`;
  const { secret, key, previous } = await client.send<RotatedKeyItem>('POST', path, before.version, body);
  const ends = previous.revoked_at === null ? `works until ${renderTime(previous.expires_at)}` : 'is revoked';
  const title = `Key created for site ${key.site_id} in place of ${previous.shown_prefix}, which ${ends}:`;
  const json = { secret, ...withoutMeta(key), previous: withoutMeta(previous) };
  return { text: issued(title, secret), json };
}

function issued(title: string, secret: string): string {
  return [title, '', `  ${secret}`, '', 'It is shown this once and stored nowhere: copy it now.'].join('\n');
}

function expiry(args: Arguments, nowMs: number): number | null | undefined {
  const expires = args.text('expires');
  return expires === undefined ? undefined : readExpiry(expires, nowMs);
}

function rateLimit(args: Arguments): number | null | undefined {
  const requests = args.text('rate-limit');
  if (requests === undefined) return undefined;
  return requests === 'default' ? null : readWhole(requests, 'rate-limit');
}

function origins(args: Arguments, option: string): string[] {
  return args.texts(option).map((text) => canonicalAllowedOrigin(text) ?? text);
}

const SHOWN_CHARACTERS_MAX = 100;

/** Finds a key by hash, by the key itself or by its shown prefix, if only one has it. */
async function findKey(client: ControlClient, text: string): Promise<KeyItem> {
  const hash = isKeyFormat(text) ? hashKey(text) : text;
  const found = /^[0-9a-f]{64}$/.test(hash) ? await client.find<KeyItem>(pathOf('keys', hash)) : undefined;
  if (found !== undefined) return found;
  const isShown = text.length <= SHOWN_CHARACTERS_MAX;
  const shown = isShown ? await client.list<KeyItem>('/keys', { shown_prefix: text }) : [];
  if (shown.length > 1) {
    throw new UsageError('key_ambiguous', `${shown.length} keys begin with ${text}; give the hash (key list --json)`);
  }
  // Whatever was typed may be a key: no more of it is shown than lists show.
  return known(shown[0], 'key', shownPrefix(text));
}

async function listKeys(args: Arguments, { client }: Context): Promise<Outcome> {
  const keys = await client.list<KeyItem>('/keys', { site_id: args.text('site') });
  const headings = [
    'KEY',
    'SITE',
    'CALLER',
    'LABEL',
    'STATE',
    'CREATED',
    'EXPIRES',
    'LAST USED',
    'RATE LIMIT',
    'ORIGINS',
  ];
  return { text: renderTable(headings, keys.map(row), 'There are no keys.'), json: keys.map(withoutMeta) };
}

function row(key: KeyItem): string[] {
  return [
    key.shown_prefix,
    key.site_id,
    key.caller,
    key.label === '' ? '-' : key.label,
    key.state,
    renderTime(key.created_at),
    renderTime(key.expires_at),
    key.last_used_at === null ? '-' : renderTime(key.last_used_at),
    key.rate_limit === null ? 'default' : String(key.rate_limit),
    key.caller === 'server' ? '-' : renderList(key.allowed_origins, 'all'),
  ];
}
