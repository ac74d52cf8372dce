import { classifyAnswer } from '#pipelines/delivery/answers.ts';
import type { Answer, EventVerdict, Verdict } from '#pipelines/delivery/contract.ts';
import { isRecord } from '#pipelines/delivery/properties.ts';
import { DELIVERED, dead, retry } from '#pipelines/delivery/verdicts.ts';

function verdictOf(element: unknown): EventVerdict {
  const status = isRecord(element) ? Number(element['status']) : Number.NaN;
  if (status >= 200 && status <= 299) return DELIVERED;
  if (status === 429 || status >= 500 || Number.isNaN(status)) return retry('linkedin_event_delayed');
  return dead(`linkedin_event_${status}`);
}

/** LinkedIn's answers to a batch: a status for each event, in the order sent; else the request's own status. */
export const classify = (answer: Answer, eventIds: readonly string[]): Verdict =>
  classifyAnswer(answer, (body, { status }) => {
    if (status !== 200 && status !== 201) return null;
    const elements = isRecord(body) ? body['elements'] : undefined;
    if (!Array.isArray(elements) || elements.length !== eventIds.length) return retry('unreadable_answer');
    return { kind: 'per_event', verdicts: elements.map(verdictOf) };
  });
