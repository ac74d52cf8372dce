import type { HttpRequestIn } from '#infra/http/http_server.ts';
import { ENGAGE_BODY_BYTES_MAX, type RequestRead } from '#pipelines/engage/engage_request.ts';
import { type Answer, refusal } from '../answer.ts';
import { decompress, parseJson } from '../decode.ts';
import { errorAnswer } from '../errors.ts';
import { hasBody } from '../payload.ts';

export type BodyRead<Body> = { ok: true; body: Body } | { ok: false; answer: Answer };

/** Reads a body of one of these routes: JSON of at most 64 KiB in the shape that `read` knows. */
export function readEngageBody<Body>(
  request: HttpRequestIn,
  read: (value: unknown) => RequestRead<Body>,
): BodyRead<Body> {
  if (!hasBody(request)) return { ok: false, answer: refusal('content_type_unsupported') };
  const bytes = decompress(request.body as Buffer, request.headers['content-encoding'], ENGAGE_BODY_BYTES_MAX);
  const value = bytes.ok ? parseJson(bytes.value) : bytes;
  if (!value.ok) return { ok: false, answer: refusal(value.code) };
  const body = read(value.value);
  return body.ok ? body : { ok: false, answer: invalidBody(body.field) };
}

/** Names the field at fault, and never what was sent. */
export function invalidBody(field: string): Answer {
  const { status, body } = errorAnswer('engage_invalid');
  return { status, body: { error: { ...body.error, field } } };
}
