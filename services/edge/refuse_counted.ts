import { clientAddress, type HttpRequestIn } from '#infra/http/http_server.ts';
import type { Acceptor, IngestCaller } from './accept.ts';
import { type Answer, errorCodeOf, limitedAnswer } from './answer.ts';

/**
 * The answer to a known caller of whose request nothing is taken. The request counts all the same, and where the caller's rate
 * is exceeded, that is the answer instead.
 */
export async function refuseCounted(
  acceptor: Acceptor,
  request: HttpRequestIn,
  caller: IngestCaller,
  answer: Answer,
): Promise<Answer> {
  const limited = await acceptor.countRefused(clientAddress(request), caller, errorCodeOf(answer));
  return limited === null ? answer : limitedAnswer(limited);
}
