import type { HttpReply } from '#infra/http/http_server.ts';
import type { Limited, RateState } from '#pipelines/limits/admission.ts';
import { type EdgeErrorCode, errorAnswer, RETRY_AFTER_S } from './errors.ts';

/** An answer to a client; what is set beside status and body goes into headers. */
export interface Answer {
  status: number;
  /** Null: nothing. */
  body: object | null;
  retryAfterS?: number;
  rate?: RateState | null;
}

/** Of what was taken nothing is said but that it was. */
export function withoutBody(answer: Answer): Answer {
  return answer.status === 200 ? { ...answer, status: 204, body: null } : answer;
}

/** An answer that refuses. */
export function refusal(code: EdgeErrorCode): Answer {
  const { status, body } = errorAnswer(code);
  return { status, body, ...retryAfterOf(status) };
}

/** A 503 says when to come again. */
export function retryAfterOf(status: number): Pick<Answer, 'retryAfterS'> {
  return status === 503 ? { retryAfterS: RETRY_AFTER_S } : {};
}

/** What goes with an answer that refuses for the rate: when to come again, and how the caller stands to the limit. */
export function limitedHeaders({ waitMs, rate }: Limited): Pick<Answer, 'retryAfterS' | 'rate'> {
  return { retryAfterS: inSeconds(waitMs), rate };
}

/** The code of an answer that refuses; null for any other. */
export function errorCodeOf({ body }: Answer): string | null {
  const { error } = (body ?? {}) as { error?: { code: string } };
  return error?.code ?? null;
}

export function limitedAnswer(limited: Limited): Answer {
  return { ...refusal('rate_limited'), ...limitedHeaders(limited) };
}

/** Sends an answer with its headers. `RateLimit-*` are those of draft-ietf-httpapi-ratelimit-headers-03. */
export function sendAnswer(reply: HttpReply, { status, body, retryAfterS, rate }: Answer): HttpReply {
  if (retryAfterS !== undefined) reply.header('retry-after', String(retryAfterS));
  if (rate !== undefined && rate !== null) {
    reply.header('ratelimit-limit', String(rate.limit));
    reply.header('ratelimit-remaining', String(rate.remaining));
    reply.header('ratelimit-reset', String(inSeconds(rate.resetMs)));
  }
  return reply.code(status).send(body ?? undefined);
}

/** Answers with the error of a code. */
export function refuse(reply: HttpReply, code: EdgeErrorCode): HttpReply {
  return sendAnswer(reply, refusal(code));
}

/** Whole seconds after which the time is over. */
function inSeconds(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1000));
}
