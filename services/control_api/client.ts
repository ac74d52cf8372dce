// The control API as programs call it, and HTTP as the transport that carries it.
import type { Problem } from '#pipelines/settings/problems.ts';

interface ControlRequest {
  method: string;
  /** With its query. */
  path: string;
  headers: Record<string, string>;
  body: string | null;
}

/** Carries a request to the control service. @throws ControlUnavailableError when there is no answer. */
export type Transport = (request: ControlRequest) => Promise<{ status: number; body: string; bytes: Uint8Array }>;

/** The control API, as programs call it. Paths begin after /v1/admin. */
export interface ControlClient {
  /** @throws ControlRefusal */
  get<Item>(path: string, query?: Query): Promise<Item>;
  /** The resource, or undefined where the answer is 404. */
  find<Item>(path: string): Promise<Item | undefined>;
  /** Every item of a list, page by page. */
  list<Item>(path: string, query?: Query): Promise<Item[]>;
  /** @param version What was read, for If-Match; null where nothing was. */
  send<Item>(
    method: 'POST' | 'PUT' | 'PATCH' | 'DELETE',
    path: string,
    version: string | null,
    body?: object,
  ): Promise<Item>;
  /** The answer to a saved question of a site. @throws ControlRefusal */
  answerOf<Answer>(siteId: string, questionId: string): Promise<Answer>;
  /** What is asked of the events of a site. @throws ControlRefusal */
  query<Answer>(siteId: string, name: string, query: object): Promise<Answer>;
  /** The same as a file of another format. @throws ControlRefusal */
  queryFile(siteId: string, name: string, query: object, format: 'csv' | 'parquet'): Promise<Uint8Array>;
  /** What became of one event of a site. @throws ControlRefusal */
  event<Answer>(siteId: string, eventId: string): Promise<Answer>;
}

export type Query = Record<string, string | number | undefined>;

/** The service refused the request: with stable codes. */
export class ControlRefusal extends Error {
  readonly code: string;
  readonly status: number;
  readonly problems: Problem[];

  constructor(status: number, code: string, message: string, problems: Problem[]) {
    super(message);
    this.status = status;
    this.code = code;
    this.problems = problems;
  }
}

export class ControlUnavailableError extends Error {
  readonly code = 'control_unavailable';
  /** Whether there was no answer at all, rather than one that says so. */
  readonly isSilent: boolean;

  constructor(message: string, isSilent: boolean) {
    super(message);
    this.isSilent = isSilent;
  }
}

const PAGE_ITEMS = '1000';
const PREFIX = '/v1/admin';
const QUERIES = '/v1/query';

/** The path of a resource; what was typed may hold anything. */
export function pathOf(...parts: string[]): string {
  return parts.map((part) => `/${encodeURIComponent(part)}`).join('');
}

export function createControlClient(transport: Transport, token: string): ControlClient {
  async function call(
    method: string,
    path: string,
    version: string | null,
    body?: object,
    prefix = PREFIX,
  ): Promise<Answer> {
    const headers = {
      authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(version === null ? {} : { 'if-match': `"${version}"` }),
    };
    const request = { method, path: prefix + path, headers, body: body === undefined ? null : JSON.stringify(body) };
    const answer = await transport(request);
    return { status: answer.status, body: parsed(answer.body), bytes: answer.bytes };
  }

  const ask = (path: string): Promise<Answer> => call('GET', path, null, undefined, QUERIES);

  const client: ControlClient = {
    get: async (path, query) => taken(await call('GET', withQuery(path, query), null)),
    async find<Item>(path: string) {
      const answer = await call('GET', path, null);
      return answer.status === 404 ? undefined : taken<Item>(answer);
    },
    async list<Item>(path: string, query: Query = {}) {
      const items: Item[] = [];
      let after: string | undefined;
      do {
        const page: Page<Item> = await client.get(path, { ...query, limit: PAGE_ITEMS, after });
        items.push(...page.items);
        after = page.next ?? undefined;
      } while (after !== undefined);
      return items;
    },
    send: async (method, path, version, body) => taken(await call(method, path, version, body)),
    query: async (siteId, name, query) => taken(await call('POST', pathOf(siteId, name), null, query, QUERIES)),
    async queryFile(siteId, name, query, format) {
      const answer = await call('POST', `${pathOf(siteId, name)}?format=${format}`, null, query, QUERIES);
      return answer.status < 300 ? answer.bytes : taken(answer);
    },
    answerOf: async (siteId, id) => taken(await ask(pathOf(siteId, 'questions', id))),
    event: async (siteId, id) => taken(await ask(pathOf(siteId, 'events', id))),
  };
  return client;
}

interface Answer {
  status: number;
  body: unknown;
  bytes: Uint8Array;
}

interface Page<Item> {
  items: Item[];
  next: string | null;
}

function taken<Item>({ status, body }: Omit<Answer, 'bytes'>): Item {
  if (status < 300) return body as Item;
  const { error, problems = [] } = body as { error?: { code: string; message: string }; problems?: Problem[] };
  if (status >= 500 || error === undefined) {
    throw new ControlUnavailableError(
      `the control service answers ${status}${error ? ` ${error.code}: ${error.message}` : ''}`,
      false,
    );
  }
  throw new ControlRefusal(status, error.code, error.message, problems);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Something else than the control service answers there; what it says is not for us.
    return {};
  }
}

function withQuery(path: string, query: Query = {}): string {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) given.set(name, String(value));
  return given.size === 0 ? path : `${path}?${given.toString()}`;
}

/** A change waits for Kafka, and behind other changes. */
const TIMEOUT_MS = 60_000;

/** Carries requests over HTTP; an answer may take so long. */
export function httpTransport(baseUrl: string, timeoutMs = TIMEOUT_MS): Transport {
  return async ({ method, path, headers, body }) => {
    try {
      const signal = AbortSignal.timeout(timeoutMs);
      const response = await fetch(new URL(path, baseUrl), { method, headers, body, signal });
      const bytes = Buffer.from(await response.arrayBuffer());
      return { status: response.status, body: bytes.toString('utf8'), bytes };
    } catch (error) {
      // The cause may quote the request, which may hold a secret: only where it went is said.
      const reason = error instanceof Error && error.name === 'TimeoutError' ? 'in time' : 'at all';
      throw new ControlUnavailableError(`the control service at ${baseUrl} does not answer ${reason}`, true);
    }
  };
}
