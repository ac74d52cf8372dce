import { classifyAnswer } from '#pipelines/delivery/answers.ts';
import type { Answer, Verdict } from '#pipelines/delivery/contract.ts';
import { isRecord } from '#pipelines/delivery/properties.ts';
import { credentialsBroken, DELIVERED, retry, split, throttle } from '#pipelines/delivery/verdicts.ts';

/** Errors of Meta's own side, or that pass by themselves (unknown error, service away, limits of the moment). */
const RETRY_CODES = new Set([1, 2, 341, 368, 5000, 21009]);
const THROTTLE_CODES = new Set([4, 17, 32, 613, 80003, 80004]);
/** Session or token ended (102, 190), permission never given (10, and 200 to 299). */
const CREDENTIAL_CODES = new Set([10, 102, 190]);
/** Code 100 with this subcode: no such pixel, or no right to it. */
const NO_SUCH_OBJECT = 33;

interface GraphError {
  code: number;
  subcode: number | null;
  isTransient: boolean;
  traceId: string;
}

function readError(body: unknown): GraphError | null {
  const error = isRecord(body) ? body['error'] : undefined;
  if (!isRecord(error) || typeof error['code'] !== 'number') return null;
  const { code, error_subcode: subcode, fbtrace_id: traceId } = error;
  return {
    code: Number(code),
    subcode: typeof subcode === 'number' ? subcode : null,
    isTransient: error['is_transient'] === true,
    traceId: typeof traceId === 'string' && /^[\w-]{1,40}$/.test(traceId) ? traceId : '',
  };
}

function classifyError(error: GraphError, status: number, waitMs: number | null): Verdict {
  const { code, subcode } = error;
  const reason = subcode === null ? `meta_${code}` : `meta_${code}_${subcode}`;
  const detail = `status ${status} fbtrace_id ${error.traceId}`;
  if (THROTTLE_CODES.has(code) || status === 429) return throttle(reason, waitMs, detail);
  if (CREDENTIAL_CODES.has(code) || (code >= 200 && code <= 299)) return credentialsBroken(reason, detail);
  if (code === 100 && subcode === NO_SUCH_OBJECT) return credentialsBroken(reason, detail);
  if (RETRY_CODES.has(code) || error.isTransient || status >= 500) return retry(reason, detail);
  return split(reason, detail);
}

/**
 * Meta's answers. A request with one event it refuses is refused as a whole, so what is wrong with an event splits the
 * batch. The text of an error may repeat what was sent and is left out.
 */
export const classify = (answer: Answer): Verdict =>
  classifyAnswer(answer, (body, { status }, waitMs) => {
    const error = readError(body);
    if (error !== null) return classifyError(error, status, waitMs);
    if (status !== 200) return null;
    return isRecord(body) && typeof body['events_received'] === 'number' ? DELIVERED : retry('unreadable_answer');
  });
