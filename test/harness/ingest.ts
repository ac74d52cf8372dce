import { randomUUID } from 'node:crypto';

export interface SentEvent {
  event: string;
  uuid: string;
  distinct_id: string;
  timestamp?: string;
  properties?: Record<string, unknown>;
}

export interface Answer {
  status: number;
  headers: Headers;
  body: unknown;
}

/** An event as a client sends it, with an id of its own. */
export function newEvent(fields: Partial<SentEvent> = {}): SentEvent {
  return { event: 'page_view', uuid: randomUUID(), distinct_id: 'visitor', ...fields };
}

/** POST /v1/ingest with a key and a JSON body. */
export function postEvents(edge: string, key: string | null, events: readonly unknown[]): Promise<Answer> {
  return postBody(edge, key, JSON.stringify({ events }));
}

/** POST /v1/ingest with whatever body and headers. */
export async function postBody(
  edge: string,
  key: string | null,
  body: string | Uint8Array<ArrayBuffer>,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const response = await fetch(`${edge}/v1/ingest`, {
    method: 'POST',
    body,
    headers: { 'content-type': 'application/json', ...(key === null ? {} : { 'x-svc-key': key }), ...headers },
  });
  return readAnswer(response);
}

/** Status, headers and body of a response; the body is parsed where it is JSON. */
export async function readAnswer(response: Response): Promise<Answer> {
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.startsWith('application/json') === true;
  return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text };
}
