import type { Questions } from '#pipelines/analytics/questions.ts';

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** Parameters of a query; those that are null or undefined are left out. */
export type Parameters = Readonly<Record<string, string | number | boolean | null | undefined>>;

interface RequestOptions {
  query?: Parameters;
  body?: object;
  /** The version that was read, for If-Match. */
  version?: string;
  signal?: AbortSignal;
  /** What opens a shared link: it is sent in the place of any session. */
  bearer?: string;
}

const UNREACHABLE: ApiError = {
  status: 0,
  code: 'unreachable',
  message: 'The control service is not responding.',
  problems: [],
};
/** Every request that changes something carries it; a page of another origin cannot send it (cross-site request forgery). */
const GUARD = { 'x-svc-csrf': '1' };

let onSignedOut: () => void = () => undefined;

/** Says what is done when the service no longer knows who asks. */
export function whenSignedOut(act: () => void): void {
  onSignedOut = act;
}

let askToReauth: () => Promise<boolean> = async () => false;

/** Says how somebody is asked to prove that it is them; answers whether they have. */
export function whenReauthNeeded(ask: () => Promise<boolean>): void {
  askToReauth = ask;
}

/** Sends a request of the documented API. Refusals are values; only an abort by the caller is thrown. */
export const request = <Value>(method: Method, path: string, options: RequestOptions = {}): Promise<ApiResult<Value>> =>
  sent(method, path, options, async (response) => {
    const text = await response.text();
    return (text === '' ? null : JSON.parse(text)) as Value;
  });

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
): Promise<ApiResult<Value>> {
  for (let tries = 1; ; ) {
    const answer = await sentOnce(method, path, options, readValue);
    if (answer.ok) return answer;
    const { code } = answer.failure;
    if (code === 'query_busy' && tries++ < BUSY_TRIES_MAX) await untilShownLater(options.signal);
    else if (code !== 'proof_needed' || !(await askToReauth())) return answer;
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
  { query = {}, body, version, signal, bearer }: RequestOptions,
  readValue: (response: Response) => Promise<Value>,
): Promise<ApiResult<Value>> {
  try {
    const response = await fetch(withParameters(path, query), {
      method,
      credentials: bearer === undefined ? 'same-origin' : 'omit',
      cache: 'no-store',
      headers: {
        accept: 'application/json',
        ...(method === 'GET' ? {} : GUARD),
        ...(bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }),
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

async function failureIn(response: Response): Promise<ApiError> {
  const { error, problems = [] } = refusalIn(await response.text());
  if (response.status === 401) onSignedOut();
  return {
    status: response.status,
    code: error?.code ?? `http_${response.status}`,
    message: error?.message ?? `The control service returned ${response.status}.`,
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

export const apiPath = (...parts: string[]): string => ['/v1', ...parts.map(encodeURIComponent)].join('/');

export const queryPath = (siteId: string, ...parts: string[]): string => apiPath('query', siteId, ...parts);

export const sitePath = (siteId: string, ...parts: string[]): string => apiPath('admin', 'sites', siteId, ...parts);

export interface FieldProblem {
  code: string;
  field: string;
  message: string;
}

/** Why something was not done: what the service said, in its own stable codes, or that it did not answer. */
export interface ApiError {
  /** Of HTTP; 0 where there was no answer. */
  status: number;
  code: string;
  message: string;
  problems: readonly FieldProblem[];
}

export type ApiResult<Value> = { ok: true; value: Value; version: string | null } | { ok: false; failure: ApiError };

/** Codes by which the service says that a part of it is away, and what that part is to people. */
const PARTS_AWAY: Readonly<Record<string, string>> = {
  query_unavailable: 'ClickHouse is not responding, so queries are unavailable. Events are still accepted.',
  stages_unavailable: 'Kafka is not responding, so the state of the stages is unavailable.',
  dead_letters_unavailable: 'Kafka is not responding, so dead letters are unavailable.',
  refusals_unavailable: 'Redis is not responding, so rejected events are unavailable. Events are still accepted.',
  tag_health_unavailable: 'Redis is not responding, so tag statistics are unavailable. Events are still accepted.',
  shares_unavailable: 'Redis is not responding, so shared links are unavailable. Try again later.',
  sessions_unavailable: 'Redis is not responding, so sessions are unavailable. Events are still accepted.',
  settings_not_stored: 'Kafka is not responding. The change may or may not have been saved.',
  dns_unavailable: 'The DNS servers are not responding.',
  unreachable: 'The control service is not responding. This page retries automatically.',
};

export function sentenceOf({ code, message }: ApiError): string {
  const away = PARTS_AWAY[code];
  if (away !== undefined) return away;
  if (code === 'permission_missing')
    return 'You do not have permission to view or do this. Ask an admin of the account.';
  if (code === 'proof_needed') return 'Nothing was changed: confirm your identity first.';
  if (code === 'query_busy') return 'Too many queries are running. Try again in a moment.';
  // What is too heavy at one moment is not always so at the next.
  if (code === 'query_too_heavy')
    return 'The query exceeds its time or memory limit. Try again, or choose a shorter period.';
  // They stand below it.
  return message.replace('; see problems.', ':');
}

/** Whether asking again without a change may come to something else. */
export const mayPass = ({ status, code }: ApiError): boolean =>
  status === 0 || status === 429 || status >= 500 || code === 'query_too_heavy';

interface Page<Item> {
  items: Item[];
  next: string | null;
}

const PAGE_ITEMS = 1000;

/** Every item of a list, page by page, up to a number; `more` says whether there are others. */
export async function listAll<Item>(
  path: string,
  query: Parameters = {},
  max = 10_000,
  signal?: AbortSignal,
): Promise<ApiResult<{ items: Item[]; more: boolean }>> {
  const items: Item[] = [];
  let after: string | undefined;
  do {
    const options = { query: { ...query, limit: PAGE_ITEMS, after }, ...(signal === undefined ? {} : { signal }) };
    const answer = await request<Page<Item>>('GET', path, options);
    if (!answer.ok) return answer;
    items.push(...answer.value.items);
    after = answer.value.next ?? undefined;
  } while (after !== undefined && items.length < max);
  return { ok: true, value: { items, more: after !== undefined }, version: null };
}

export function ask<Name extends keyof Questions>(
  siteId: string,
  name: Name,
  question: Questions[Name]['query'],
  signal?: AbortSignal,
): Promise<ApiResult<Questions[Name]['answer'] & { as_of: number }>> {
  const options = { body: question, ...(signal === undefined ? {} : { signal }) };
  return request('POST', queryPath(siteId, name), options);
}

/** Asks for the answer as a file: CSV or Parquet, as the service writes it. */
export function askFile<Name extends keyof Questions>(
  siteId: string,
  name: Name,
  question: Questions[Name]['query'],
  format: 'csv' | 'parquet',
): Promise<ApiResult<Blob>> {
  const options = { query: { format }, body: question };
  return sent('POST', queryPath(siteId, name), options, (response) => response.blob());
}
