import type { HttpReply } from '#infra/http/http_server.ts';
import type { Problem } from '#pipelines/settings/problem.ts';
import { type ControlErrorCode, errorAnswer, RETRY_AFTER_S } from './errors.ts';

/** Sends a refusal; `waitMs` is how long to wait before asking again, where that is known. */
export function refuse(
  reply: HttpReply,
  code: ControlErrorCode,
  problems: readonly Problem[] = [],
  waitMs: number | null = null,
): HttpReply {
  const { status, body } = errorAnswer(code, [...problems]);
  if (waitMs !== null) reply.header('retry-after', String(Math.ceil(waitMs / 1000)));
  else if (status === 503) reply.header('retry-after', String(RETRY_AFTER_S));
  if (status === 401) reply.header('www-authenticate', 'Bearer');
  return reply.code(status).send(body);
}
