import { hash } from 'node:crypto';
import type { User } from '#schemas/setting.ts';
import type { SettingsTable } from './table.ts';

const LINKS_MAX = 10;

/** What is kept of an account at a provider: nobody reads out of it who that is. */
export const oidcSubject = (issuer: string, subject: string): string =>
  hash('sha256', JSON.stringify([issuer, subject]));

/** The user that an account at a provider is linked to. */
export function userOfSubject(table: SettingsTable, subject: string): User | undefined {
  return table.users().find(({ oidc_subjects }) => oidc_subjects.includes(subject));
}

type Linking = { ok: true; subjects: string[] } | { ok: false; code: 'oidc_linked_elsewhere' | 'limit_reached' };

/** The accounts of a user when another one is linked; one account is of one user. */
export function linkedSubjects(table: SettingsTable, user: User, subject: string): Linking {
  const owner = userOfSubject(table, subject);
  if (owner !== undefined && owner.user_id !== user.user_id) return { ok: false, code: 'oidc_linked_elsewhere' };
  const subjects = [...new Set([...user.oidc_subjects, subject])];
  return subjects.length > LINKS_MAX ? { ok: false, code: 'limit_reached' } : { ok: true, subjects };
}
