import type { Providers, Started, Who } from '#services/control_api/users.ts';
import type { Answer } from './api_answer.ts';
import { request } from './request.ts';

const PATH = '/v1/session/oidc';

/** The path of the page that a provider sends browsers back to: each has one of its own. */
export const RETURN_PATH = '/signed-in/:provider';
const OF_LINK = 'link.';

/** The providers at which people sign in. */
export const readProviders = (signal?: AbortSignal): Promise<Answer<Providers>> =>
  request('GET', PATH, signal === undefined ? {} : { signal });

/** Goes to a provider to sign in; answers only where that cannot be begun. */
export function signInAt(provider: string, invitation: string | null): Promise<Answer<Started>> {
  return leave(`${PATH}/start`, { provider, ...(invitation !== null && { invitation }) });
}

/** Signs in at a provider in a new tab, so that this page stays as it is, and has it ask who it is. */
export async function signInBeside(provider: string): Promise<Answer<Started>> {
  // Before the answer is there: a page may open a tab at a click, and not later.
  const tab = window.open('', '_blank');
  const started = await request<Started>('POST', `${PATH}/start`, { body: { provider, proof: true } });
  if (!started.ok || !isAddress(started.value)) tab?.close();
  else if (tab !== null) {
    // The provider's page must not lead this one elsewhere.
    tab.opener = null;
    tab.location.href = started.value.url;
  }
  return started;
}

/** Goes to a provider to link the account there. */
export function linkAt(provider: string, proof: { password?: string; code?: string }): Promise<Answer<Started>> {
  return leave(`${PATH}/link/start`, { provider, ...proof });
}

async function leave(path: string, body: object): Promise<Answer<Started>> {
  const started = await request<Started>('POST', path, { body });
  if (started.ok && isAddress(started.value)) location.assign(started.value.url);
  return started;
}

const isAddress = ({ url }: Started): boolean => /^https?:\/\//.test(url);

/** Sends on what a provider sent the browser back with, which says what it was begun for. */
export async function finishReturn(
  provider: string,
  answer: string,
): Promise<{ isLink: boolean; answer: Answer<Who | object> }> {
  const isLink = new URLSearchParams(answer).get('state')?.startsWith(OF_LINK) === true;
  const path = isLink ? `${PATH}/link/finish` : `${PATH}/finish`;
  return { isLink, answer: await request('POST', path, { body: { provider, answer } }) };
}
