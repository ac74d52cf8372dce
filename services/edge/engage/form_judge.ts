import { clientAddress, type HttpRequestIn } from '#infra/http/http_server.ts';
import type { Challenge } from '#pipelines/engage/challenge.ts';
import type { FormRequest } from '#pipelines/engage/engage_request.ts';
import { nonceOf, type TokenCheck } from '#pipelines/engage/engage_token.ts';
import type { Form } from '#pipelines/engage/form.ts';
import {
  isWithoutToken,
  judgeAlone,
  judgeAmongOthers,
  type SpamReason,
  type SpamVerdict,
  type Submission,
} from '#pipelines/engage/spam.ts';
import { wideNetworkOf } from '#pipelines/privacy/network.ts';
import type { IngestCaller } from '../accept.ts';
import { digestOf, textDigest } from './counted_digests.ts';
import type { EngageParts } from './engage_parts.ts';
import { challengeFor } from './proofs.ts';
import { SENT_NONCE_HELD_MS, visitorDigest } from './token_use.ts';

/** A form as it was sent, with what is known of it before it is judged. */
export interface SubmittedForm {
  form: Form;
  request: FormRequest;
  /** Sent by a browser without a script. */
  isPlain: boolean;
  siteId: string;
  version: number;
  /** The token proves that the visitor saw another version than the form is in now. */
  isOfOtherVersion: boolean;
  submissionId: string;
  token: TokenCheck;
  /** Normalised; null: none. */
  email: string | null;
}

export type FormJudgement =
  | { kind: 'clean' }
  | { kind: 'links' }
  | { kind: 'later' | 'spam'; reason: SpamReason }
  | { kind: 'challenge'; challenge: Challenge };

/** What a visitor wrote, as far as it can be read; nothing where a field is not right. */
export type Written = Pick<Submission, 'texts' | 'messages'>;

/** What a form says by itself, before it is counted: so a form that is not right uses up nothing. */
export function judgeFormAlone(sent: SubmittedForm, { texts, messages }: Written, nowMs: number): SpamVerdict {
  const { form, request, isPlain: withoutScript, token, email } = sent;
  const emailDomain = email?.slice(email.lastIndexOf('@') + 1) ?? null;
  const honeypot = rawText(request.fields, form.spam.honeypot);
  return judgeAlone(form, { withoutScript, token, honeypot, texts, messages, emailDomain, nowMs });
}

/** Whether a form that is right is spam; where there is doubt, a script is asked for a proof, and a plain form can bring none. */
export async function judgeForm(
  request: HttpRequestIn,
  caller: IngestCaller,
  sent: SubmittedForm,
  written: Written,
  parts: EngageParts,
  nowMs: number,
): Promise<FormJudgement> {
  const alone = judgeFormAlone(sent, written, nowMs);
  const verdict =
    alone.kind === 'clean' || alone.kind === 'doubt'
      ? await amongOthers(request, caller, sent, alone, written, parts)
      : alone;
  if (verdict.kind !== 'doubt') return verdict;
  const { form, submissionId, request: body, isPlain } = sent;
  const challenge = form.spam.challenge === 'off' ? null : challengeFor(parts, submissionId, body.challenge, nowMs);
  if (challenge === null) return { kind: 'clean' };
  return isPlain ? { kind: 'later', reason: 'challenge_missing' } : { kind: 'challenge', challenge };
}

async function amongOthers(
  request: HttpRequestIn,
  caller: IngestCaller,
  { form, request: body, isPlain: withoutScript, siteId, submissionId, token, email }: SubmittedForm,
  alone: SpamVerdict,
  { texts }: Written,
  parts: EngageParts,
): Promise<SpamVerdict> {
  const { spam, secret, addressOf } = parts;
  const address = addressOf(clientAddress(request));
  const isCounted = isWithoutToken({ withoutScript, token });
  const counts = await spam.count({
    siteId,
    submissionId,
    visitor: visitorDigest(parts, caller, body.visitor),
    nonce: nonceOf(token),
    nonceHeldMs: SENT_NONCE_HELD_MS,
    address,
    email: email === null ? null : digestOf(secret, email),
    text: textDigest(secret, texts),
    network: isCounted && address !== null ? digestOf(secret, wideNetworkOf(clientAddress(request))) : null,
    form: isCounted ? form.id : null,
  });
  const among: SpamVerdict = counts === null ? { kind: 'clean' } : judgeAmongOthers({ token, withoutScript }, counts);
  return among.kind === 'clean' ? alone : among;
}

/** What a field says that nobody sees: whatever is in it, a space too. */
function rawText(fields: FormRequest['fields'], name: string): string {
  const value = fields !== undefined && Object.hasOwn(fields, name) ? fields[name] : null;
  return String(value ?? '');
}
