import type { SentEvent } from '#test/harness/ingest.ts';
import type { Standing } from './load_ledger.ts';

/** An answer that no fault explains: the harness or the service is wrong. */
class StrangeAnswerError extends Error {
  readonly code = 'strange_answer';
}

const TIMEOUT_MS = 20_000;

/** Posts events to an edge, as from some client, and says how they stand after it. */
export async function send(edge: string, key: string, events: readonly SentEvent[], client: string): Promise<Standing> {
  let response: Response;
  try {
    response = await fetch(`${edge}/v1/ingest`, {
      method: 'POST',
      body: JSON.stringify({ events }),
      headers: { 'content-type': 'application/json', 'x-svc-key': key, 'x-forwarded-for': client },
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
  } catch (error) {
    return neverArrived(error) ? 'refused' : 'unknown';
  }
  return response
    .json()
    .then((body) => standingOf(response.status, body, events.length))
    .catch((error: unknown) => {
      if (error instanceof StrangeAnswerError) throw error;
      // The head of the answer came and its body did not.
      return 'unknown';
    });
}

/** Nobody listened, so nothing was taken. */
function neverArrived(error: unknown): boolean {
  const cause = (error as { cause?: { code?: unknown } }).cause;
  return cause?.code === 'ECONNREFUSED';
}

function standingOf(status: number, body: unknown, count: number): Standing {
  const { accepted, error } = body as { accepted?: unknown; error?: { code?: unknown } };
  if (status === 200 && accepted === count) return 'accepted';
  if (status === 429) return 'refused';
  if (status === 503) return error?.code === 'not_acknowledged' ? 'unknown' : 'refused';
  throw new StrangeAnswerError(`answered ${status} ${JSON.stringify(body).slice(0, 300)}`);
}
