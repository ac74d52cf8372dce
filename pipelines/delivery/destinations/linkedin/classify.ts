import type { Answer, EventVerdict, Verdict } from '#pipelines/delivery/contract.ts';
import { classifyAnswer, credentialsBroken, DELIVERED, dead, retry } from '#pipelines/delivery/platform_http.ts';
import { firstNumber, isRecord } from '#pipelines/events/vocabulary.ts';

/** Of a conversion rule that does not exist, is not ours or is switched off, as well as of an event. */
const MAYBE_THE_RULE = new Set([400, 403, 404]);

function verdictOf(element: unknown): EventVerdict {
  const status = isRecord(element) ? (firstNumber(element, ['status']) ?? Number.NaN) : Number.NaN;
  if (status >= 200 && status <= 299) return DELIVERED;
  if (status === 401) return credentialsBroken('linkedin_event_401');
  if (status === 429 || status >= 500 || Number.isNaN(status)) return retry('linkedin_event_delayed');
  const reason = `linkedin_event_${status}`;
  return MAYBE_THE_RULE.has(status) ? { kind: 'dead', reason, detail: '', isDoubtful: true } : dead(reason);
}

/** LinkedIn's answers to a batch: a status for each event, in the order sent; else the request's own status. */
export const classify = (answer: Answer, eventIds: readonly string[]): Verdict =>
  classifyAnswer(answer, (body, { status }) => {
    if (status !== 200 && status !== 201) return null;
    const elements = isRecord(body) ? body['elements'] : undefined;
    if (!Array.isArray(elements)) return retry('unreadable_answer');
    const verdicts = elements.map(verdictOf);
    if (verdicts.length === eventIds.length) return { kind: 'per_event', verdicts };
    const taken = verdicts.filter(({ kind }) => kind === 'delivered').length;
    if (taken === 0) return retry('unreadable_answer');
    return { kind: 'taken_in_part', taken, detail: `${taken} of ${eventIds.length} taken` };
  });
