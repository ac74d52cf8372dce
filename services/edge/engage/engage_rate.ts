import { clientAddress, type HttpRequestIn } from '#infra/http/http_server.ts';
import { redactCards } from '#pipelines/privacy/redact_cards.ts';
import type { Acceptance } from '../accept.ts';
import { type Answer, errorCodeOf, limitedAnswer } from '../answer.ts';
import { callerSigns } from '../caller.ts';
import type { EdgeContext } from '../edge_context.ts';

/** Counts each request of these routes once against the rates of its address and key, whatever becomes of it. */
export interface EngageRate {
  /** Hands events to the acceptor of all others, which counts the request. */
  accept(request: HttpRequestIn, events: readonly unknown[]): Promise<Acceptance>;
  /** The answer to a request that was judged: where the acceptor has not counted it and its rate is exceeded, that it is. */
  settle(request: HttpRequestIn, answer: Answer): Promise<Answer>;
  /**
   * The answer to a request that exceeds its rate; null: it does not, or was counted before.
   *
   * @param answer What it is answered otherwise, where that is known.
   */
  refusal(request: HttpRequestIn, answer?: Answer): Promise<Answer | null>;
}

export function createEngageRate({ acceptor, callerOf }: Pick<EdgeContext, 'acceptor' | 'callerOf'>): EngageRate {
  const counted = new WeakSet<HttpRequestIn>();
  async function refusalOf(request: HttpRequestIn, answer?: Answer): Promise<Answer | null> {
    if (counted.has(request)) return null;
    counted.add(request);
    const code = answer === undefined ? null : errorCodeOf(answer);
    const limited = await acceptor.countRefused(clientAddress(request), callerOf(request), code);
    return limited === null ? null : limitedAnswer(limited);
  }
  return {
    accept(request, events) {
      counted.add(request);
      const signs = callerSigns(request);
      const userAgent = signs.userAgent === null ? null : redactCards(signs.userAgent);
      const peer = { clientIp: clientAddress(request), ...signs, userAgent, isOfShowings: true };
      return acceptor.accept(events, peer, callerOf(request));
    },
    settle: async (request, answer) => (await refusalOf(request, answer)) ?? answer,
    refusal: refusalOf,
  };
}
