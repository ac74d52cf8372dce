import { computed, signal } from '@preact/signals';
import type { Permission } from '#pipelines/settings/access.ts';
import type { Who } from '#services/control_api/users.ts';
import type { Answer, Failure } from './api/api_answer.ts';
import { request, whenSignedOut } from './api/request.ts';
import { sites } from './site_list.ts';

type Session =
  | { state: 'unknown' }
  | { state: 'failed'; failure: Failure }
  | { state: 'signed_out' }
  | { state: 'signed_in'; who: Who }
  /** The service does not know them any more, and what they typed is still on the page. */
  | { state: 'ended'; who: Who };

/** Who uses this page. */
export const session = signal<Session>({ state: 'unknown' });

/** Who is signed in, or was until a moment ago, or null. */
export const who = computed<Who | null>(() => ('who' in session.value ? session.value.who : null));

const PATH = '/v1/session';

/** Finds out who is signed in, at the start and after what changes how they sign in. */
export async function readSession(): Promise<Answer<Who>> {
  const answer = await request<Who>('GET', PATH);
  if (answer.ok) session.value = { state: 'signed_in', who: answer.value };
  // Whoever is known keeps their page, and what they typed on it.
  else if (answer.failure.status !== 401 && who.value === null)
    session.value = { state: 'failed', failure: answer.failure };
  return answer;
}

export interface Credentials {
  user_id: string;
  password: string;
  code?: string;
}

/** Signs in. Where a second factor is needed the answer's failure says so by its code. */
export async function signIn(credentials: Credentials): Promise<Answer<Who>> {
  const answer = await request<Who>('POST', PATH, { body: credentials });
  if (answer.ok) session.value = { state: 'signed_in', who: answer.value };
  return answer;
}

/** Ends the session. */
export async function signOut(): Promise<Answer<null>> {
  const answer = await request<null>('DELETE', PATH);
  if (answer.ok) session.value = { state: 'signed_out' };
  return answer;
}

/** Asks who it is as soon as the service does not know who asks. */
export function followSession(): void {
  whenSignedOut(() => {
    const now = session.value;
    session.value = 'who' in now ? { state: 'ended', who: now.who } : { state: 'signed_out' };
  });
}

/** Gives up a session that has ended, and what was typed on the page. */
export function giveUpSession(): void {
  session.value = { state: 'signed_out' };
}

/** Whether the person may do something at a site; null: anywhere at all. The service itself refuses what may not be done. */
export function mayAt(permission: Permission, siteId: string | null): boolean {
  const grants = who.value?.grants ?? [];
  return grants.some((grant) => grant.permissions.includes(permission) && covers(grant, siteId));
}

/** Whether the person may do something in the whole of an account; null: of any at all. */
export function mayInAccount(permission: Permission, accountId: string | null): boolean {
  return (who.value?.grants ?? []).some(
    ({ permissions, account_id, site_id }) =>
      permissions.includes(permission) &&
      site_id === null &&
      (accountId === null || account_id === null || account_id === accountId),
  );
}

/** Whether the person may do something that is of no site and no account, or of all of them. */
export function mayEverywhere(permission: Permission): boolean {
  return (who.value?.grants ?? []).some(
    ({ permissions, account_id, site_id }) =>
      permissions.includes(permission) && account_id === null && site_id === null,
  );
}

function covers({ account_id, site_id }: Who['grants'][number], siteId: string | null): boolean {
  if (siteId === null || (account_id === null && site_id === null) || site_id === siteId) return true;
  return site_id === null && account_id === sites.value?.find((site) => site.site_id === siteId)?.account_id;
}
