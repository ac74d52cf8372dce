import type { Answer, Verdict } from '#pipelines/delivery/contract.ts';
import { isRecord } from '#pipelines/delivery/properties.ts';
import {
  credentialsBroken,
  DELIVERED,
  isHtml,
  retry,
  retryAfterMs,
  split,
  throttle,
} from '#pipelines/delivery/verdicts.ts';

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

const readJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
};

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

function classifyStatus(status: number, waitMs: number | null): Verdict {
  const reason = `http_${status}`;
  if (status === 429) return throttle(reason, waitMs);
  if (status === 401 || status === 403 || status === 404) return credentialsBroken(reason);
  return status === 400 || status === 413 || status === 422 ? split(reason) : retry(reason);
}

/**
 * Meta's answers. A request with one event it refuses is refused as a whole, so what is wrong with an event splits the
 * batch. The text of an error may repeat what was sent and is left out.
 */
export function classify(answer: Answer): Verdict {
  if (answer.kind === 'no_answer') return retry(answer.reason);
  if (isHtml(answer)) return retry('html_answer', `status ${answer.status}`);
  const body = readJson(answer.body);
  const error = readError(body);
  const waitMs = retryAfterMs(answer.headers);
  if (error !== null) return classifyError(error, answer.status, waitMs);
  if (answer.status !== 200) return classifyStatus(answer.status, waitMs);
  return isRecord(body) && typeof body['events_received'] === 'number' ? DELIVERED : retry('unreadable_answer');
}
