import type { TokenItem } from '#services/control_api/users.ts';
import type { Answer } from '../../api/api_answer.ts';
import { listAll } from '../../api/lists.ts';
import { request } from '../../api/request.ts';
import { type Asked, askedWhere, useAnswer } from '../../api/use_answer.ts';
import { mayAt } from '../../who.ts';

/** The tokens that a user has issued and that still work, as far as the person manages tokens; null where they manage none. */
export function useIssuedTokens(userId: string): Asked<TokenItem[] | null> {
  const managesTokens = mayAt('tokens.manage', null);
  return useAnswer(
    `${userId} ${managesTokens}`,
    askedWhere(managesTokens, (signal) => issuedTokens(userId, signal)),
  );
}

async function issuedTokens(userId: string, signal: AbortSignal): Promise<Answer<TokenItem[]>> {
  const all = await listAll<TokenItem>('/v1/admin/tokens', {}, 10_000, signal);
  if (!all.ok) return all;
  const theirs = all.value.items.filter(({ issued_by, state }) => issued_by === userId && state === 'active');
  return { ...all, value: theirs };
}

export const revokeToken = ({ token_hash }: TokenItem): Promise<Answer<TokenItem>> =>
  request('POST', `/v1/admin/tokens/${token_hash}/revoke`);

/** Revokes all that can be; answers why one could not. */
export async function revokeTokens(tokens: readonly TokenItem[]): Promise<Answer<null>> {
  const answers: Answer<TokenItem>[] = [];
  for (const token of tokens) answers.push(await revokeToken(token));
  return answers.find((answer) => !answer.ok) ?? { ok: true, value: null, version: null };
}
