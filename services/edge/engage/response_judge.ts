import { clientAddress, type HttpRequestIn } from '#infra/http/http_server.ts';
import type { Challenge } from '#pipelines/engage/challenge.ts';
import type { RespondRequest } from '#pipelines/engage/engage_request.ts';
import type { TokenCheck } from '#pipelines/engage/engage_token.ts';
import { judgeAmongOthers, judgeAnswers, type SpamReason, type SpamVerdict } from '#pipelines/engage/spam.ts';
import { digestOf, textDigest } from './counted_digests.ts';
import type { EngageParts } from './engage_parts.ts';
import { challengeFor } from './proofs.ts';
import { isTokenUsed } from './token_use.ts';

/** A response to a survey whose token holds, and which is right by the survey's questions. */
interface RightResponse {
  siteId: string;
  token: Extract<TokenCheck, { ok: true }>;
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
  const { siteId, token, body } = sent;
  const submissionId = body.submission_id.toLowerCase();
  if (body.status !== 'partial' && body.status !== 'completed') {
    const reason = await isTokenUsed(parts, siteId, token.nonce, submissionId);
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
  { siteId, token, body, texts }: RightResponse,
  { spam, secret, addressOf }: EngageParts,
): Promise<SpamVerdict> {
  const address = addressOf(clientAddress(request));
  const counts = await spam.count({
    siteId,
    submissionId: body.submission_id.toLowerCase(),
    nonce: token.nonce,
    address: address === null ? null : digestOf(secret, `survey\0${address}`),
    text: textDigest(secret, texts),
    email: null,
    network: null,
    form: null,
  });
  return counts === null ? { kind: 'clean' } : judgeAmongOthers({ token, withoutScript: false }, counts);
}
