import { clientAddress, type HttpRequestIn } from '#infra/http/http_server.ts';
import type { Challenge } from '#pipelines/engage/challenge.ts';
import type { RespondRequest } from '#pipelines/engage/engage_request.ts';
import { nonceOf, type TokenCheck } from '#pipelines/engage/engage_token.ts';
import { judgeAmongOthers, judgeAnswers, type SpamReason, type SpamVerdict } from '#pipelines/engage/spam.ts';
import type { IngestCaller } from '../accept.ts';
import { digestOf, textDigest } from './counted_digests.ts';
import type { EngageParts } from './engage_parts.ts';
import { challengeFor } from './proofs.ts';
import { SENT_NONCE_HELD_MS, tokenProblem, visitorDigest } from './token_use.ts';

/** A response to a survey whose token is ours and at most a week old, and which is right by the survey's questions. */
interface RightResponse {
  caller: IngestCaller;
  token: TokenCheck;
  body: RespondRequest;
  /** What was written in answer to open questions. */
  texts: readonly string[];
}

type ResponseJudgement =
  | { kind: 'clean' }
  | { kind: 'spam'; reason: SpamReason }
  | { kind: 'challenge'; challenge: Challenge };

/** Whether a response is spam. That a survey was shown or dismissed says nothing that anybody would forge but its number. */
export async function judgeResponse(
  request: HttpRequestIn,
  sent: RightResponse,
  parts: EngageParts,
  nowMs: number,
): Promise<ResponseJudgement> {
  const { caller, token, body } = sent;
  const submissionId = body.submission_id.toLowerCase();
  if (body.status !== 'partial' && body.status !== 'completed') {
    const reason = await tokenProblem(parts, caller, token, submissionId, body.visitor);
    return reason === null ? { kind: 'clean' } : { kind: 'spam', reason };
  }
  const others = await amongOthers(request, sent, parts);
  const verdict = others.kind === 'clean' ? judgeAnswers(token, nowMs) : others;
  if (verdict.kind === 'spam') return { kind: 'spam', reason: verdict.reason };
  const challenge = verdict.kind === 'doubt' ? challengeFor(parts, submissionId, body.challenge, nowMs) : null;
  return challenge === null ? { kind: 'clean' } : { kind: 'challenge', challenge };
}

/** Answers have a count of their own: those who answer a survey may send a form all the same. */
async function amongOthers(
  request: HttpRequestIn,
  { caller, token, body, texts }: RightResponse,
  parts: EngageParts,
): Promise<SpamVerdict> {
  const { spam, secret, addressOf } = parts;
  const address = addressOf(clientAddress(request));
  const counts = await spam.count({
    siteId: caller.site.site_id,
    visitor: visitorDigest(parts, caller, body.visitor),
    submissionId: body.submission_id.toLowerCase(),
    nonce: nonceOf(token),
    nonceHeldMs: SENT_NONCE_HELD_MS,
    address: address === null ? null : digestOf(secret, `survey\0${address}`),
    text: textDigest(secret, texts),
    email: null,
    network: null,
    form: null,
  });
  return counts === null ? { kind: 'clean' } : judgeAmongOthers({ token, withoutScript: false }, counts);
}
