import type { EngageParts } from './engage_parts.ts';

/** Whether a token came with another submission before; what is one showing has one token and one id. */
export async function isTokenUsed(
  { spam }: Pick<EngageParts, 'spam'>,
  siteId: string,
  nonce: string,
  submissionId: string,
): Promise<'token_used' | null> {
  const nothing = { address: null, email: null, text: null, network: null, form: null };
  const counts = await spam.count({ siteId, submissionId: submissionId.toLowerCase(), nonce, ...nothing });
  return counts?.tokenUsed === true ? 'token_used' : null;
}
