import type { SentVisitor } from '#pipelines/engage/engage_request.ts';
import { AHEAD_MS, nonceOf, OLD_TOKEN_MS, TOKEN_MS, type TokenCheck } from '#pipelines/engage/engage_token.ts';
import type { SpamReason } from '#pipelines/engage/spam.ts';
import type { IngestCaller } from '../accept.ts';
import { digestOf } from './counted_digests.ts';
import type { EngageParts } from './engage_parts.ts';
import { idsOf } from './engage_visitor.ts';

/** How long the token of what was sent is remembered: for as long as any token can be used again. */
export const SENT_NONCE_HELD_MS = OLD_TOKEN_MS + AHEAD_MS;
/** That of what was just shown is remembered for less, as there are many of these. */
const SHOWN_NONCE_HELD_MS = TOKEN_MS + AHEAD_MS;

/**
 * Why what is told of a showing proves nothing: its token is none of ours or older than a week, or came with another
 * submission before, or with more visitors than one who says who they are. What is one showing has one token and one id. Null: it proves it.
 */
export async function tokenProblem(
  parts: Pick<EngageParts, 'spam' | 'secret' | 'identitySecret'>,
  caller: Pick<IngestCaller, 'site' | 'key'>,
  token: TokenCheck,
  submissionId: string,
  visitor: SentVisitor | undefined,
  nonceHeldMs = token.ok ? SHOWN_NONCE_HELD_MS : SENT_NONCE_HELD_MS,
): Promise<SpamReason | null> {
  const nonce = nonceOf(token);
  if (!token.ok && nonce === null) return token.code;
  const counts = await parts.spam.count({
    siteId: caller.site.site_id,
    submissionId: submissionId.toLowerCase(),
    visitor: visitorDigest(parts, caller, visitor),
    nonce,
    nonceHeldMs,
    ...{ address: null, email: null, text: null, network: null, form: null },
  });
  return counts?.tokenUsed === true ? 'token_used' : null;
}

/** What stands for a visitor under whose id anything is remembered; null: nobody's. */
export function visitorDigest(
  { secret, identitySecret }: Pick<EngageParts, 'secret' | 'identitySecret'>,
  caller: Pick<IngestCaller, 'site' | 'key'>,
  visitor: SentVisitor | undefined,
): string | null {
  const { rememberedId } = idsOf(visitor ?? {}, caller, identitySecret);
  return rememberedId === null ? null : digestOf(secret, `visitor\0${rememberedId}`);
}
