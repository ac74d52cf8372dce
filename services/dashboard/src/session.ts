import { computed, signal } from '@preact/signals';
import type { Permission } from '#pipelines/settings/access.ts';
import type { Providers, Started, Who } from '#services/control_api/users.ts';
import { type ApiError, type ApiResult, request, whenReauthNeeded, whenSignedOut } from './api/request.ts';
import { sites } from './site_list.ts';

type Session =
  | { state: 'unknown' }
  | { state: 'failed'; failure: ApiError }
  | { state: 'signed_out' }
  | { state: 'signed_in'; who: Who }
  /** The service does not know them any more, and what they typed is still on the page. */
  | { state: 'ended'; who: Who };

export const session = signal<Session>({ state: 'unknown' });

/** Who is signed in, or was until a moment ago, or null. */
export const currentUser = computed<Who | null>(() => ('who' in session.value ? session.value.who : null));

const PATH = '/v1/session';

/** Finds out who is signed in, at the start and after what changes how they sign in. */
export async function readSession(): Promise<ApiResult<Who>> {
  const answer = await request<Who>('GET', PATH);
  if (answer.ok) session.value = { state: 'signed_in', who: answer.value };
  // Whoever is known keeps their page, and what they typed on it.
  else if (answer.failure.status !== 401 && currentUser.value === null)
    session.value = { state: 'failed', failure: answer.failure };
  return answer;
}

interface Credentials {
  user_id: string;
  password: string;
  code?: string;
}

/** Signs in. Where a second factor is needed the answer's failure says so by its code. */
export async function signIn(credentials: Credentials): Promise<ApiResult<Who>> {
  const answer = await request<Who>('POST', PATH, { body: credentials });
  if (answer.ok) session.value = { state: 'signed_in', who: answer.value };
  return answer;
}

export async function signOut(): Promise<ApiResult<null>> {
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

type Grant = Who['grants'][number];

const hasGrant = (permission: Permission, covers: (grant: Grant) => boolean): boolean =>
  currentUser.value?.grants.some((grant) => grant.permissions.includes(permission) && covers(grant)) === true;

/** Whether the person may do something at a site; null: anywhere at all. The service itself refuses what may not be done. */
export const mayAt = (permission: Permission, siteId: string | null): boolean =>
  hasGrant(permission, ({ account_id, site_id }) => {
    if (siteId === null || (account_id === null && site_id === null) || site_id === siteId) return true;
    return site_id === null && account_id === sites.value?.find((site) => site.site_id === siteId)?.account_id;
  });

/** Whether the person may do something in the whole of an account; null: of any at all. */
export const mayInAccount = (permission: Permission, accountId: string | null): boolean =>
  hasGrant(
    permission,
    ({ account_id, site_id }) =>
      site_id === null && (accountId === null || account_id === null || account_id === accountId),
  );

/** Whether the person may do something that is of no site and no account, or of all of them. */
export const mayEverywhere = (permission: Permission): boolean =>
  hasGrant(permission, ({ account_id, site_id }) => account_id === null && site_id === null);

/** Where somebody is asked to prove that it is them: what is called with whether they have. */
export const reauthRequest = signal<((isRecentlyAuthenticated: boolean) => void) | null>(null);

let waiting: Promise<boolean> | null = null;

/** Asks for a proof as soon as the service wants one, once for all requests that wait for it. */
export function watchReauth(): void {
  whenReauthNeeded(() => {
    waiting ??= new Promise((resolve) => {
      const settle = (isRecentlyAuthenticated: boolean): void => {
        // A late answer to one question must not settle the next, which somebody else may have been asked.
        if (reauthRequest.value !== settle) return;
        waiting = null;
        reauthRequest.value = null;
        resolve(isRecentlyAuthenticated);
      };
      reauthRequest.value = settle;
    });
    return waiting;
  });
}

/** Does nothing of what waits for a proof: who wanted it is not there any more. */
export function cancelReauth(): void {
  reauthRequest.value?.(false);
}

const OIDC_PATH = '/v1/session/oidc';

/** The path of the page that a provider sends browsers back to: each has one of its own. */
export const RETURN_PATH = '/signed-in/:provider';
const OF_LINK = 'link.';

export const readProviders = (signal?: AbortSignal): Promise<ApiResult<Providers>> =>
  request('GET', OIDC_PATH, signal === undefined ? {} : { signal });

/** Goes to a provider to sign in; answers only where that cannot be begun. */
export const signInAt = (provider: string, invitation: string | null): Promise<ApiResult<Started>> =>
  leave(`${OIDC_PATH}/start`, { provider, ...(invitation !== null && { invitation }) });

/** Signs in at a provider in a new tab, so that this page stays as it is, and has it ask who it is. */
export async function signInBeside(provider: string): Promise<ApiResult<Started>> {
  // Before the answer is there: a page may open a tab at a click, and not later.
  const tab = window.open('', '_blank');
  const started = await request<Started>('POST', `${OIDC_PATH}/start`, { body: { provider, proof: true } });
  if (!started.ok || !isAddress(started.value)) tab?.close();
  else if (tab !== null) {
    // The provider's page must not lead this one elsewhere.
    tab.opener = null;
    tab.location.href = started.value.url;
  }
  return started;
}

export const linkAt = (provider: string, proof: { password?: string; code?: string }): Promise<ApiResult<Started>> =>
  leave(`${OIDC_PATH}/link/start`, { provider, ...proof });

async function leave(path: string, body: object): Promise<ApiResult<Started>> {
  const started = await request<Started>('POST', path, { body });
  if (started.ok && isAddress(started.value)) location.assign(started.value.url);
  return started;
}

const isAddress = ({ url }: Started): boolean => /^https?:\/\//.test(url);

/** Sends on what a provider sent the browser back with, which says what it was begun for. */
export async function finishReturn(
  provider: string,
  answer: string,
): Promise<{ isLink: boolean; answer: ApiResult<Who | object> }> {
  const isLink = new URLSearchParams(answer).get('state')?.startsWith(OF_LINK) === true;
  const path = isLink ? `${OIDC_PATH}/link/finish` : `${OIDC_PATH}/finish`;
  return { isLink, answer: await request('POST', path, { body: { provider, answer } }) };
}
