import type { SentEvent } from '#test/harness/ingest.ts';
import type { Standing } from './load_ledger.ts';

/** An answer that no fault explains: the harness or the service is wrong. */
class StrangeAnswerError extends Error {
  readonly code = 'strange_answer';
}

const TIMEOUT_MS = 20_000;

/** How events stand after they were sent, and what was answered: a status with the error's code, or what kept an answer away. */
export interface Sending {
  standing: Standing;
  answer: string;
}

/** Posts events to an edge, as from some client, and says how they stand after it. */
export async function send(edge: string, key: string, events: readonly SentEvent[], client: string): Promise<Standing> {
  return (await post(edge, key, events, client)).standing;
}

/** The same, with the answer. */
export async function post(edge: string, key: string, events: readonly SentEvent[], client: string): Promise<Sending> {
  let response: Response;
  try {
    response = await fetch(`${edge}/v1/ingest`, {
      method: 'POST',
      body: JSON.stringify({ events }),
      headers: { 'content-type': 'application/json', 'x-svc-key': key, 'x-forwarded-for': client },
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
  } catch (error) {
    return { standing: neverArrived(error) ? 'refused' : 'unknown', answer: textOf(error) };
  }
  return response
    .json()
    .then((body) => standingOf(response.status, body, events.length))
    .catch((error: unknown) => {
      if (error instanceof StrangeAnswerError) throw error;
      // The head of the answer came and its body did not.
      return { standing: 'unknown', answer: textOf(error) };
    });
}

function textOf(error: unknown): string {
  const { cause, name } = error as Error & { cause?: { code?: string } };
  return cause?.code ?? name;
}

/** Nobody listened, so nothing was taken. */
function neverArrived(error: unknown): boolean {
  const cause = (error as { cause?: { code?: unknown } }).cause;
  return cause?.code === 'ECONNREFUSED';
}

function standingOf(status: number, body: unknown, count: number): Sending {
  const { accepted, error } = body as { accepted?: unknown; error?: { code?: string } };
  const answer = [status, error?.code].join(' ').trim();
  if (status === 200 && accepted === count) return { standing: 'accepted', answer };
  if (status === 429) return { standing: 'refused', answer };
  if (status === 503) return { standing: error?.code === 'not_acknowledged' ? 'unknown' : 'refused', answer };
  throw new StrangeAnswerError(`answered ${status} ${JSON.stringify(body).slice(0, 300)}`);
}
