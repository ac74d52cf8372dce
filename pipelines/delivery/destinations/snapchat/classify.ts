import type { Answer, Verdict } from '#pipelines/delivery/contract.ts';
import { classifyAnswer, DELIVERED, doubtful, retry, split } from '#pipelines/delivery/platform_http.ts';
import { isRecord } from '#pipelines/events/vocabulary.ts';

const TAKEN = new Set(['VALID', 'SUCCESS']);
const REFUSED = new Set(['INVALID', 'FAILED']);

/** Places of the records that an answer finds fault with. */
function refusedIndexesOf(body: Record<string, unknown>): number[] {
  const records: unknown[] = Array.isArray(body['error_records']) ? body['error_records'] : [];
  return records.filter(isRecord).flatMap((record) => {
    const indexes: unknown[] = Array.isArray(record['record_indexes']) ? record['record_indexes'] : [];
    return indexes.filter((place): place is number => Number.isInteger(place) && Number(place) >= 0);
  });
}

/** Snapchat's answers: a `status` word, and the records it refuses the request for. */
export const classify = (answer: Answer): Verdict =>
  classifyAnswer(answer, (body, { status }) => {
    const word = isRecord(body) && typeof body['status'] === 'string' ? body['status'].toUpperCase() : '';
    const isRefusal = REFUSED.has(word) && (status === 200 || status === 400 || status === 422);
    if (isRefusal && isRecord(body)) {
      const refusedIndexes = refusedIndexesOf(body);
      const detail = `status ${status}`;
      return refusedIndexes.length > 0
        ? split('snapchat_invalid', detail, refusedIndexes)
        : doubtful('snapchat_invalid', detail);
    }
    if (status !== 200) return null;
    return TAKEN.has(word) ? DELIVERED : retry('unreadable_answer');
  });
