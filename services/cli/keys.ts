import { hashKey, isKeyFormat, issueKey, lifetimeRefusal, shownPrefix } from '#pipelines/settings/keys.ts';
import type { SettingsTable } from '#pipelines/settings/table.ts';
import { keyProblems } from '#pipelines/settings/validate.ts';
import { canonicalOrigin } from '#pipelines/settings/web_names.ts';
import type { Caller } from '#schemas/event.ts';
import type { ApiKey } from '#schemas/setting.ts';
import type { Arguments } from './arguments.ts';
import { edited, known, refuseProblems, refuseUnchanged, writeOf } from './changes.ts';
import type { Command, Context, OptionSpec, Outcome } from './command.ts';
import { renderList, renderTable, renderTime } from './render.ts';
import { UsageError } from './usage_error.ts';
import { readExpiry } from './values.ts';

const subject = { name: 'KEY', help: 'as key list shows it, its hash, or the whole key' };
const changeable: Record<string, OptionSpec> = {
  label: { kind: 'text', value: 'TEXT', help: 'What the key is for' },
  origin: { kind: 'texts', value: 'ORIGIN', help: 'Origin a browser may call from; none means all (repeatable)' },
  expires: { kind: 'text', value: 'WHEN', help: '90d, 12h, 30m, a date or a time with offset, or never' },
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
    summary: 'Change the label, origins or expiry of a key',
    subject,
    options: {
      ...changeable,
      'remove-origin': { kind: 'texts', value: 'ORIGIN', help: 'Origin to take off the list (repeatable)' },
    },
    examples: ['key set svc_pk_AbCd --origin https://www.shop.example', 'key set svc_sk_AbCd --expires 7d'],
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
];

function createKey(args: Arguments, context: Context): Outcome {
  const caller = args.text('caller') === 'server' ? 'server' : 'browser';
  const issued = issueKey(caller, context.randomBytes);
  const blank: ApiKey = {
    key_hash: issued.keyHash,
    shown_prefix: issued.shownPrefix,
    site_id: args.text('site') ?? '',
    caller: args.text('caller') as Caller,
    label: '',
    allowed_origins: [],
    created_at: context.nowMs,
    expires_at: null,
    revoked_at: null,
  };
  const key = changed(blank, args, context);
  const lines = [
    `Key created for site ${key.site_id}, to be used by a ${key.caller}:`,
    '',
    `  ${issued.secret}`,
    '',
    'It is shown this once and stored nowhere: copy it now.',
  ];
  return { ...written(key, context, ''), text: lines.join('\n'), json: { secret: issued.secret, ...key } };
}

function setKey(args: Arguments, context: Context): Outcome {
  const before = findKey(context.table, args.subject);
  const after = changed(before, args, context);
  refuseUnchanged(before, after);
  return written(after, context, 'changed');
}

function revokeKey(args: Arguments, context: Context): Outcome {
  const key = findKey(context.table, args.subject);
  if (key.revoked_at !== null) {
    throw new UsageError('key_revoked', `${key.shown_prefix} was revoked at ${renderTime(key.revoked_at)}`);
  }
  const revoked = { ...key, revoked_at: context.nowMs };
  const text = `Key ${key.shown_prefix} of site ${key.site_id} revoked.`;
  return { writes: [writeOf(context, { key: revoked })], text, json: revoked };
}

function changed(key: ApiKey, args: Arguments, context: Context): ApiKey {
  const expires = args.text('expires');
  return {
    ...key,
    label: args.text('label') ?? key.label,
    allowed_origins: edited(
      key.allowed_origins,
      origins(args, 'origin'),
      origins(args, 'remove-origin'),
      (origin) => origin,
    ),
    expires_at: expires === undefined ? key.expires_at : readExpiry(expires, context.nowMs),
  };
}

function origins(args: Arguments, option: string): string[] {
  return args.texts(option).map((text) => canonicalOrigin(text) ?? text);
}

function written(key: ApiKey, context: Context, done: string): Outcome {
  refuseProblems(keyProblems(key, context.table));
  return { writes: [writeOf(context, { key })], text: `Key ${key.shown_prefix} ${done}.`, json: key };
}

/** Finds a key by hash, by the key itself or by its shown prefix, if only one has it. */
function findKey(table: SettingsTable, text: string): ApiKey {
  const hash = isKeyFormat(text) ? hashKey(text) : text;
  const found = table.keys().filter((key) => key.key_hash === hash || key.shown_prefix === text);
  if (found.length > 1) {
    throw new UsageError('key_ambiguous', `${found.length} keys begin with ${text}; give the hash (key list --json)`);
  }
  // Whatever was typed may be a key: no more of it is shown than lists show.
  return known(found[0], 'key', shownPrefix(text));
}

function listKeys(args: Arguments, { table, nowMs }: Context): Outcome {
  const siteId = args.text('site');
  if (siteId !== undefined) known(table.site(siteId), 'site', siteId);
  const keys = table.keys().filter((key) => siteId === undefined || key.site_id === siteId);
  const headings = ['KEY', 'SITE', 'CALLER', 'LABEL', 'STATE', 'CREATED', 'EXPIRES', 'ORIGINS'];
  const rows = keys.map((key) => row(key, nowMs));
  const json = keys.map((key) => ({ ...key, state: stateOf(key, nowMs) }));
  return { writes: [], text: renderTable(headings, rows, 'There are no keys.'), json };
}

function row(key: ApiKey, nowMs: number): string[] {
  return [
    key.shown_prefix,
    key.site_id,
    key.caller,
    key.label === '' ? '-' : key.label,
    stateOf(key, nowMs),
    renderTime(key.created_at),
    renderTime(key.expires_at),
    key.caller === 'server' ? '-' : renderList(key.allowed_origins, 'all'),
  ];
}

function stateOf(key: ApiKey, nowMs: number): 'active' | 'revoked' | 'expired' {
  const refusal = lifetimeRefusal(key, nowMs);
  if (refusal === null) return 'active';
  return refusal === 'key_revoked' ? 'revoked' : 'expired';
}
