import type { AuditItem } from '#services/control_api/audit.ts';

const FIELDS: Readonly<Record<string, string>> = {
  allowed_origins: 'the allowed origins',
  disabled_at: 'whether it is disabled',
  expires_at: 'the expiry',
  grants: 'the roles',
  oidc_subjects: 'the linked providers',
  revoked_at: 'whether it is revoked',
  sessions_from: 'the earliest valid session',
  totp: 'the second factor',
};
const FIELDS_NAMED_MAX = 3;

const DONE: Readonly<Record<string, (item: AuditItem, about: string, who: string) => string>> = {
  'user.sign_in': (_item, _about, who) => `${who} signed in`,
  'user.code_asked': (_item, about) => `The password of ${about} was right, and a code was requested`,
  'user.sign_in_refused': (item, about) =>
    `A sign-in ${item.setting_key === 'user' ? 'of an unknown user' : `as ${about}`} failed: ${words(text(item.after, 'reason'))}`,
  'permission.refused': (item, about, who) =>
    `${who} was not permitted to ${words(text(item.after, 'operation'))}: ${about}`,
  'user.invite': (_item, about, who) => `${who} invited ${about}`,
  'person.split': (_item, about, who) => `${who} split a person of ${about}`,
  'person.erase': (_item, about, who) => `${who} erased a person of ${about}`,
  'site.erase': (_item, about, who) => `${who} erased ${about}`,
  'analyst.make': (_item, about, who) => `${who} created ${about}`,
  'analyst.revoke': (_item, about, who) => `${who} revoked ${about}`,
};

/** What was done beside facts, by the field that tells it. */
const DEEDS: readonly [field: string, sentence: (who: string, what: string, about: string) => string][] = [
  ['resend', (who, what) => `${who} resent ${what}`],
  ['resolve', (who, what) => `${who} resolved ${what}`],
  ['reopen', (who, what) => `${who} reopened ${what}`],
  ['cancel', (who) => `${who} ended a query`],
  ['test', (who, _what, about) => `${who} sent a test event to ${about}`],
];

const ACTIONS: Readonly<Record<AuditItem['action'], string>> = {
  create: 'created',
  change: 'changed',
  delete: 'removed',
};

export function auditSentence(item: AuditItem): string {
  const { action, before, after } = item;
  const [who, about] = [whoDid(item.changed_by), aboutWhat(item)];
  if (before !== null && Object.keys(before).length === 0) {
    const done = DONE[text(after, 'done')];
    if (done !== undefined) return done(item, about, who);
    const deed = DEEDS.find(([field]) => after?.[field] !== undefined);
    if (deed !== undefined) return deed[1](who, deadLetters(after?.[deed[0]]), about);
  }
  if (action !== 'change') return `${who} ${ACTIONS[action]} ${about}`;
  const ended = endOf(item);
  return ended === null ? `${who} changed ${fieldsOf(item)} of ${about}` : `${who} ${ended} ${about}`;
}

/** Who made a change: a user by the id, a program by the label of its token. */
const whoDid = (changedBy: string): string =>
  changedBy.startsWith('user:') ? changedBy.slice('user:'.length) : changedBy;

function endOf({ before, after }: AuditItem): string | null {
  const isSet = (field: string): boolean => before?.[field] === null && typeof after?.[field] === 'number';
  if (isSet('revoked_at')) return 'revoked';
  return isSet('disabled_at') ? 'disabled' : null;
}

function fieldsOf({ before, after, secrets_changed }: AuditItem): string {
  const names = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {}), ...secrets_changed])];
  if (names.length === 0) return 'nothing';
  const named = names.slice(0, FIELDS_NAMED_MAX).map((name) => FIELDS[name] ?? `the ${words(name)}`);
  const others = names.length - named.length;
  if (others > 0) return `${named.join(', ')} and ${others} more`;
  return named.length === 1 ? named.join('') : `${named.slice(0, -1).join(', ')} and ${named.at(-1)}`;
}

function aboutWhat(item: AuditItem): string {
  const [kind = '', first = '', second = '', third = ''] = item.setting_key.split('/');
  const field = (name: string): string => text(item.after, name) || text(item.before, name);
  switch (kind) {
    case 'key': {
      const site = field('site_id');
      return `${startingWith('key', field('shown_prefix'))}${site === '' ? '' : ` of ${site}`}`;
    }
    case 'admin_token':
      return field('label') === '' ? 'a token' : `the token ${field('label')}`;
    case 'destination':
      return `the destination ${second} of ${first}`;
    case 'domain_proof':
      return `the domain ${second} of ${first}`;
    case 'engage':
    case 'saved':
      return `the ${second} ${field('name') || third} of ${first}`;
    case 'dead_letters':
      return 'dead letters';
    default:
      return first === '' ? words(kind) : `the ${words(kind)} ${first}`;
  }
}

const startingWith = (what: string, prefix: string): string => (prefix === '' ? `a ${what}` : `the ${what} ${prefix}…`);

function deadLetters(ids: unknown): string {
  const count = Array.isArray(ids) ? ids.length : 0;
  return count === 1 ? '1 dead letter' : `${count} dead letters`;
}

function text(fields: AuditItem['after'], name: string): string {
  const value = fields?.[name];
  return typeof value === 'string' ? value : '';
}

/** A name of the API as words: `time_zone` and `changeSite` are two each. */
const words = (name: string): string =>
  name
    .replaceAll('_', ' ')
    .replaceAll(/[A-Z]/g, (deadLetter) => ` ${deadLetter}`)
    .toLowerCase();
