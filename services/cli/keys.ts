// Commands of keys, by which sites send events.

import { rotateIdentitySecret } from '#infra/secrets/seal.ts';
import { hashKey, isKeyFormat, shownPrefix } from '#pipelines/settings/callers.ts';
import { canonicalAllowedOrigin } from '#pipelines/settings/domains.ts';
import { type ControlClient, pathOf } from '#services/control_api/client.ts';
import type { IssuedKeyItem, KeyItem, RotatedKeyItem } from '#services/control_api/sites.ts';
import { renderList, renderTime } from '#services/stage/terminal.ts';
import {
  type Commands,
  done,
  doneOnce,
  list,
  type Outcome,
  option,
  repeatableOption,
  requiredOption,
  send,
  UsageError,
  withoutMeta,
} from './command.ts';
import { changedFields, edited, known, readCount, readDuration, readExpiry } from './read.ts';

const subject = 'as key list shows it, its hash, or the whole key';
const expires = option(
  'expires <WHEN>',
  '90d, 12h, 30m, a date or a time with offset, or never',
  'expires_at',
  readExpiry,
);
const readOrigin = (text: string): string => canonicalAllowedOrigin(text) ?? text;
const CHANGEABLE = [
  option('label <TEXT>', 'What the key is for', 'label'),
  repeatableOption('origin <ORIGIN>', 'Origin a browser may call from; none means all', 'allowed_origins', readOrigin),
  expires,
  option(
    'rate-limit <REQUESTS>',
    'Requests in 10 s, or default (as many as any key may)',
    'rate_limit',
    (text, name) => (text === 'default' ? null : readCount(text, name)),
  ),
];

export const keyCommands: Commands = {
  'key list': list<KeyItem>({
    summary: 'List keys; of those of servers only the first characters are known',
    path: '/keys',
    options: [option('site <SITE>', 'Only keys of this site', 'site_id')],
    columns: {
      KEY: ({ public_key, shown_prefix }) => public_key ?? shown_prefix,
      SITE: 'site_id',
      CALLER: 'caller',
      LABEL: 'label',
      STATE: 'state',
      CREATED: 'created_at',
      EXPIRES: ({ expires_at }) => renderTime(expires_at),
      'LAST USED': 'last_used_at',
      'RATE LIMIT': ({ rate_limit }) => rate_limit ?? 'default',
      ORIGINS: ({ caller, allowed_origins }) => (caller === 'server' ? null : renderList(allowed_origins, 'all')),
    },
    whenEmpty: 'There are no keys.',
  }),
  'key create': {
    summary: 'Create a key and show it; one of a server is shown once',
    options: [
      requiredOption('site <SITE>', 'The site whose events it may send', 'site_id'),
      requiredOption('caller <CALLER>', 'browser (public) or server (secret)', 'caller'),
      ...CHANGEABLE,
    ],
    examples: [
      'key create --site shop --caller browser --label web --origin https://shop.example',
      'key create --site shop --caller server --label till --expires 90d',
    ],
    run: send<IssuedKeyItem>(
      'POST',
      () => '/keys',
      ({ secret, key }) =>
        issued(`Key created for site ${key.site_id}, to be used by a ${key.caller}:`, secret, key, withoutMeta(key)),
      () => ({}),
    ),
  },
  'key set <KEY>': {
    summary: 'Change the label, origins, expiry or rate limit of a key',
    subject,
    options: [...CHANGEABLE, repeatableOption('remove-origin <ORIGIN>', 'Origin to take off the list')],
    examples: [
      'key set svc_pk_AbCd --origin https://www.shop.example',
      'key set svc_sk_AbCd --expires 7d --rate-limit 5000',
    ],
    async run(args, { client }) {
      const before = await findKey(client, args.subject);
      const added = args.texts('origin').map(readOrigin);
      const allowed_origins = edited(before.allowed_origins, added, args.texts('remove-origin').map(readOrigin));
      const changed = changedFields(before, { ...args.fields(), allowed_origins });
      const key = await client.send<KeyItem>('PATCH', pathOf('keys', before.key_hash), before.version, changed);
      return done(`Key ${key.shown_prefix} changed.`, key);
    },
  },
  'key revoke <KEY>': {
    summary: 'Revoke a key, at once and for good',
    subject,
    async run(args, { client }) {
      const before = await findKey(client, args.subject);
      if (before.revoked_at !== null) {
        throw new UsageError('key_revoked', `${before.shown_prefix} was revoked at ${renderTime(before.revoked_at)}`);
      }
      const key = await client.send<KeyItem>('POST', pathOf('keys', before.key_hash, 'revoke'), null);
      return done(`Key ${key.shown_prefix} of site ${key.site_id} revoked.`, key);
    },
  },
  'key rotate <KEY>': {
    summary: 'Replace a key, which goes on working for a while',
    subject,
    options: [
      option('overlap <TIME>', 'How long the old key still works: 7d, 12h, 30m or 0 (24h)', 'overlap_ms', readDuration),
      expires,
    ],
    examples: ['key rotate svc_sk_AbCd', 'key rotate svc_sk_AbCd --overlap 7d'],
    async run(args, { client }) {
      const body = args.fields();
      const before = await findKey(client, args.subject);
      const path = pathOf('keys', before.key_hash, 'rotate');
      const { secret, key, previous } = await client.send<RotatedKeyItem>('POST', path, before.version, body);
      const ends = previous.revoked_at === null ? `works until ${renderTime(previous.expires_at)}` : 'is revoked';
      const title = `Key created for site ${key.site_id} in place of ${previous.shown_prefix}, which ${ends}:`;
      return issued(title, secret, key, { ...withoutMeta(key), previous: withoutMeta(previous) });
    },
  },
};

/** One of a browser is no secret, and is listed. */
function issued(title: string, secret: string, { public_key }: KeyItem, json: object): Outcome {
  if (public_key === null) return doneOnce(title, secret, json);
  return { text: [title, '', `  ${secret}`].join('\n'), json: { secret, ...json } };
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

export const identityCommands: Commands = {
  'identity rotate': {
    summary: 'Make a new IDENTITY_SECRET for the same identity key, and show it once: nobody becomes another person',
    async run(_args, { identity, randomBytes }) {
      if (identity === null) throw new UsageError('identity_secret_missing', 'IDENTITY_SECRET is not set');
      const rotated = rotateIdentitySecret(identity, randomBytes);
      if (rotated === null)
        throw new UsageError('identity_key_wrong', 'IDENTITY_KEY does not open with IDENTITY_SECRET');
      const variables = { IDENTITY_SECRET: rotated.secret, IDENTITY_KEY: rotated.key };
      const lines = Object.entries(variables).map(([name, value]) => `${name}=${value}`);
      return { text: lines.join('\n'), json: variables };
    },
  },
};
