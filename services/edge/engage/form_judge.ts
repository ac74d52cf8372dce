import { clientAddress, type HttpRequestIn } from '#infra/http/http_server.ts';
import { type Challenge, isSolved, makeChallenge } from '#pipelines/engage/challenge.ts';
import type { FormRequest } from '#pipelines/engage/engage_request.ts';
import type { TokenCheck } from '#pipelines/engage/engage_token.ts';
import type { Form } from '#pipelines/engage/form.ts';
import { sentText } from '#pipelines/engage/form_submission.ts';
import { judgeAlone, judgeAmongOthers, type SpamReason, type SpamVerdict } from '#pipelines/engage/spam.ts';
import { keyedHash } from '#pipelines/privacy/keyed_hash.ts';
import type { EngageParts } from './engage_parts.ts';

/** A form as it was sent, with what is known of it before it is judged. */
export interface SubmittedForm {
  form: Form;
  request: FormRequest;
  /** Sent by a browser without a script. */
  isPlain: boolean;
  siteId: string;
  version: number;
  submissionId: string;
  token: TokenCheck;
  /** Normalised; null: none. */
  email: string | null;
}

export type FormJudgement =
  | { kind: 'clean' }
  | { kind: 'spam'; reason: SpamReason }
  | { kind: 'challenge'; challenge: Challenge };

const CHALLENGE_BYTES = 16;
/** Shorter ones are what many people write. */
const TEXT_COUNTED_FROM = 30;

/** Whether a form is spam; where there is doubt, a script is asked for a proof, and a plain form can bring none. */
export async function judgeForm(
  request: HttpRequestIn,
  sent: SubmittedForm,
  texts: readonly string[],
  parts: EngageParts,
  nowMs: number,
): Promise<FormJudgement> {
  const verdict = await verdictOf(request, sent, texts, parts, nowMs);
  if (verdict.kind !== 'doubt') return verdict;
  const { form, submissionId, request: body, isPlain } = sent;
  if (form.spam.challenge === 'off' || isSolved(parts.secret, submissionId, body.challenge, nowMs)) {
    return { kind: 'clean' };
  }
  if (isPlain) return { kind: 'spam', reason: 'challenge_missing' };
  const random = parts.randomBytes(CHALLENGE_BYTES);
  return { kind: 'challenge', challenge: makeChallenge(parts.secret, submissionId, nowMs, random) };
}

async function verdictOf(
  request: HttpRequestIn,
  { form, request: body, isPlain: withoutScript, siteId, submissionId, token, email }: SubmittedForm,
  texts: readonly string[],
  { spam, secret, addressOf }: EngageParts,
  nowMs: number,
): Promise<SpamVerdict> {
  const honeypot = sentText(body.fields, form.spam.honeypot);
  const emailDomain = email?.slice(email.lastIndexOf('@') + 1) ?? null;
  const alone = judgeAlone(form, { withoutScript, token, honeypot, texts, emailDomain, nowMs });
  if (alone.kind === 'spam') return alone;
  const counts = await spam.count({
    siteId,
    submissionId,
    nonce: token.ok ? token.nonce : null,
    address: addressOf(clientAddress(request)),
    email: email === null ? null : digestOf(secret, email),
    text: textDigest(secret, texts),
  });
  const among: SpamVerdict = counts === null ? { kind: 'clean' } : judgeAmongOthers({ token }, counts);
  return among.kind === 'clean' ? alone : among;
}

function digestOf(secret: Buffer, text: string): string {
  return keyedHash(secret, `count\0${text}`).toString('base64url').slice(0, 22);
}

function textDigest(secret: Buffer, texts: readonly string[]): string | null {
  const text = texts.join('\n').toLowerCase().replaceAll(/\s+/g, ' ').trim();
  return text.length < TEXT_COUNTED_FROM ? null : digestOf(secret, text);
}
