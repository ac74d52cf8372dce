import type { Answer, Verdict } from '#pipelines/delivery/contract.ts';
import { classifyAnswer, DELIVERED } from '#pipelines/delivery/platform_http.ts';

/**
 * The Measurement Protocol answers 2xx to every request it could read and says nothing of the events in it, so 2xx is
 * final whatever the body holds. Anything else says that the request was not taken, and is judged by its status.
 */
export const classify = (answer: Answer): Verdict =>
  classifyAnswer(answer, (_body, { status }) => (status >= 200 && status <= 299 ? DELIVERED : null));
