import type { Answer, Failure, FieldProblem } from './api_answer.ts';

/** Methods of the documented API. */
type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** Parameters of a query; those that are null or undefined are left out. */
export type Parameters = Readonly<Record<string, string | number | boolean | null | undefined>>;

interface RequestOptions {
  query?: Parameters;
  body?: object;
  /** The version that was read, for If-Match. */
  version?: string;
  signal?: AbortSignal;
}

const UNREACHABLE: Failure = {
  status: 0,
  code: 'unreachable',
  message: 'The control service does not answer.',
  problems: [],
};
/** Every request that changes something carries it; a page of another origin cannot send it (cross-site request forgery). */
const GUARD = { 'x-svc-csrf': '1' };

let onSignedOut: () => void = () => undefined;

/** Says what is done when the service no longer knows who asks. */
export function whenSignedOut(act: () => void): void {
  onSignedOut = act;
}

let askForProof: () => Promise<boolean> = async () => false;

/** Says how somebody is asked to prove that it is them; answers whether they have. */
export function whenProofNeeded(ask: () => Promise<boolean>): void {
  askForProof = ask;
}

/** Sends a request of the documented API. Refusals are values; only an abort by the caller is thrown. */
export function request<Value>(method: Method, path: string, options: RequestOptions = {}): Promise<Answer<Value>> {
  return sent(method, path, options, async (response) => {
    const text = await response.text();
    return (text === '' ? null : JSON.parse(text)) as Value;
  });
}

/** Sends a request that is answered by a file. */
export function requestFile(method: Method, path: string, options: RequestOptions): Promise<Answer<Blob>> {
  return sent(method, path, options, (response) => response.blob());
}

/** How often a question is asked that others are in the way of, and how long to wait before the next time, at the least. */
const BUSY_TRIES_MAX = 4;
const BUSY_WAIT_MS = 1_500;

/**
 * Sends a request; where it takes a proof of who asks, again when that is given, and where too many questions are under way,
 * again after a while: a page asks several at once, and somebody else's may be in front of them.
 */
async function sent<Value>(
  method: Method,
  path: string,
  options: RequestOptions,
  readValue: (response: Response) => Promise<Value>,
): Promise<Answer<Value>> {
  for (let tries = 1; ; ) {
    const answer = await sentOnce(method, path, options, readValue);
    if (answer.ok) return answer;
    const { code } = answer.failure;
    if (code === 'query_busy' && tries++ < BUSY_TRIES_MAX) await untilShownLater(options.signal);
    else if (code !== 'proof_needed' || !(await askForProof())) return answer;
  }
}

/** Waits a while, of a length of its own for each question, and until a page that is hidden by then is shown again. */
async function untilShownLater(signal: AbortSignal | undefined): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, BUSY_WAIT_MS * (1 + Math.random())));
  if (!document.hidden || signal?.aborted === true) return;
  await new Promise((resolve) => {
    document.addEventListener('visibilitychange', resolve, { once: true });
    signal?.addEventListener('abort', resolve, { once: true });
  });
}

async function sentOnce<Value>(
  method: Method,
  path: string,
  { query = {}, body, version, signal }: RequestOptions,
  readValue: (response: Response) => Promise<Value>,
): Promise<Answer<Value>> {
  try {
    const response = await fetch(withParameters(path, query), {
      method,
      credentials: 'same-origin',
      cache: 'no-store',
      headers: {
        accept: 'application/json',
        ...(method === 'GET' ? {} : GUARD),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(version === undefined ? {} : { 'if-match': `"${version}"` }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    });
    if (!response.ok) return { ok: false, failure: await failureIn(response) };
    const etag = response.headers.get('etag')?.replaceAll('"', '') ?? null;
    return { ok: true, value: await readValue(response), version: etag };
  } catch (error) {
    if (signal?.aborted === true) throw error;
    return { ok: false, failure: UNREACHABLE };
  }
}

interface Refusal {
  error?: { code: string; message: string };
  problems?: FieldProblem[];
}

async function failureIn(response: Response): Promise<Failure> {
  const { error, problems = [] } = refusalIn(await response.text());
  if (response.status === 401) onSignedOut();
  return {
    status: response.status,
    code: error?.code ?? `http_${response.status}`,
    message: error?.message ?? `The control service answered ${response.status}.`,
    problems,
  };
}

/** What stands between may answer something else than the service does. */
function refusalIn(text: string): Refusal {
  try {
    return JSON.parse(text) as Refusal;
  } catch {
    return {};
  }
}

function withParameters(path: string, query: Parameters): string {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null) given.set(name, String(value));
  }
  return given.size === 0 ? path : `${path}?${given.toString()}`;
}
