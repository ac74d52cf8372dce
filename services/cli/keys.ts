// Commands of keys, by which sites send events.
import { hashKey, isKeyFormat, shownPrefix } from '#pipelines/settings/callers.ts';
import { canonicalAllowedOrigin } from '#pipelines/settings/domains.ts';
import { type ControlClient, pathOf } from '#services/control_api/client.ts';
import type { IssuedKeyItem, KeyItem, RotatedKeyItem } from '#services/control_api/sites.ts';
import { renderList, renderTime } from '#services/stage/terminal.ts';
import {
  type Arguments,
  type Command,
  done,
  listCommand,
  option,
  repeatableOption,
  requiredOption,
  UsageError,
  withoutMeta,
} from './command.ts';
import { changedFields, edited, given, givenCount, givenExpiry, known, readDuration } from './read.ts';

const subject = 'as key list shows it, its hash, or the whole key';
const expires = option('expires <WHEN>', '90d, 12h, 30m, a date or a time with offset, or never');
const CHANGEABLE = [
  option('label <TEXT>', 'What the key is for'),
  repeatableOption('origin <ORIGIN>', 'Origin a browser may call from; none means all'),
  expires,
  option('rate-limit <REQUESTS>', 'Requests in 10 s, or default (as many as any key may)'),
];

const fieldsOf = (args: Arguments, nowMs: number) => ({
  label: args.text('label'),
  expires_at: givenExpiry(args, nowMs),
  rate_limit: args.text('rate-limit') === 'default' ? null : givenCount(args, 'rate-limit'),
});

const origins = (args: Arguments, name: string): string[] =>
  args.texts(name).map((text) => canonicalAllowedOrigin(text) ?? text);

const issued = (title: string, secret: string): string =>
  [title, '', `  ${secret}`, '', 'It is shown only once and not stored: copy it now.'].join('\n');

export const keyCommands: Command[] = [
  listCommand<KeyItem>({
    noun: 'key',
    summary: 'List keys; only their first characters are known',
    path: '/keys',
    options: [option('site <SITE>', 'Only keys of this site')],
    filters: { site: 'site_id' },
    columns: {
      KEY: 'shown_prefix',
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
  {
    usage: 'key create',
    summary: 'Create a key and show it, once',
    options: [
      requiredOption('site <SITE>', 'The site whose events it may send'),
      requiredOption('caller <CALLER>', 'browser (public) or server (secret)'),
      ...CHANGEABLE,
    ],
    examples: [
      'key create --site shop --caller browser --label web --origin https://shop.example',
      'key create --site shop --caller server --label till --expires 90d',
    ],
    async run(args, { client, nowMs }) {
      const scope = { site_id: args.text('site'), caller: args.text('caller') };
      const body = given({ ...scope, ...fieldsOf(args, nowMs), allowed_origins: origins(args, 'origin') });
      const { secret, key } = await client.send<IssuedKeyItem>('POST', '/keys', null, body);
      const title = `Key created for site ${key.site_id}, to be used by a ${key.caller}:`;
      return { text: issued(title, secret), json: { secret, ...withoutMeta(key) } };
    },
  },
  {
    usage: 'key set <KEY>',
    summary: 'Change the label, origins, expiry or rate limit of a key',
    subject,
    options: [...CHANGEABLE, repeatableOption('remove-origin <ORIGIN>', 'Origin to take off the list')],
    examples: [
      'key set svc_pk_AbCd --origin https://www.shop.example',
      'key set svc_sk_AbCd --expires 7d --rate-limit 5000',
    ],
    async run(args, { client, nowMs }) {
      const before = await findKey(client, args.subject);
      const [added, removed] = [origins(args, 'origin'), origins(args, 'remove-origin')];
      const allowed_origins = edited(before.allowed_origins, added, removed);
      const changed = changedFields(before, given({ ...fieldsOf(args, nowMs), allowed_origins }));
      const key = await client.send<KeyItem>('PATCH', pathOf('keys', before.key_hash), before.version, changed);
      return done(`Key ${key.shown_prefix} changed.`, key);
    },
  },
  {
    usage: 'key revoke <KEY>',
    summary: 'Revoke a key, at once and for good',
    subject,
    async run(args, { client }) {
      const before = await findKey(client, args.subject);
      if (before.revoked_at !== null) {
        throw new UsageError('key_revoked', `${before.shown_prefix} was revoked at ${renderTime(before.revoked_at)}`);
      }
      const key = await client.send<KeyItem>('POST', `${pathOf('keys', before.key_hash)}/revoke`, null);
      return done(`Key ${key.shown_prefix} of site ${key.site_id} revoked.`, key);
    },
  },
  {
    usage: 'key rotate <KEY>',
    summary: 'Replace a key, which goes on working for a while',
    subject,
    options: [option('overlap <TIME>', 'How long the old key still works: 7d, 12h, 30m or 0 (24h)'), expires],
    examples: ['key rotate svc_sk_AbCd', 'key rotate svc_sk_AbCd --overlap 7d'],
    async run(args, { client, nowMs }) {
      const overlap = args.text('overlap');
      const overlap_ms = overlap === undefined ? undefined : readDuration(overlap, 'overlap');
      const body = given({ overlap_ms, expires_at: givenExpiry(args, nowMs) });
      const before = await findKey(client, args.subject);
      const path = `${pathOf('keys', before.key_hash)}/rotate`;
      const { secret, key, previous } = await client.send<RotatedKeyItem>('POST', path, before.version, body);
      const ends = previous.revoked_at === null ? `works until ${renderTime(previous.expires_at)}` : 'is revoked';
      const title = `Key created for site ${key.site_id} in place of ${previous.shown_prefix}, which ${ends}:`;
      return { text: issued(title, secret), json: { secret, ...withoutMeta(key), previous: withoutMeta(previous) } };
    },
  },
];

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
