import { isUtf8 } from 'node:buffer';
import type { HttpRequestIn } from '#infra/http/http_server.ts';
import { withoutByteOrderMark } from '#pipelines/intake/byte_order_mark.ts';
import type { Problem } from '#pipelines/settings/problem.ts';
import type { ControlErrorCode } from './errors.ts';
import type { Route } from './route.ts';
import type { Input } from './route_input.ts';
import { readQuery, schemaProblems } from './schema_problems.ts';

type InputRead = { ok: true; input: Input } | { ok: false; code: ControlErrorCode; problems: Problem[] };

/** What a request gives its route, checked against the route's schemas; or why it gives nothing. */
export function readInput(route: Route, request: HttpRequestIn): InputRead {
  const body = route.body === null ? ({ ok: true, value: null } as const) : readBody(request);
  if (!body.ok) return { ok: false, code: body.code, problems: [] };
  const params = { ...(request.params as object) };
  const query = readQuery(route.query, { ...(request.query as object) });
  const problems = [
    ...schemaProblems(route.params, params),
    ...schemaProblems(route.query, query),
    ...(route.body === null ? [] : schemaProblems(route.body, body.value)),
  ];
  if (problems.length > 0) return { ok: false, code: 'settings_invalid', problems };
  const ifMatch = request.headers['if-match'] ?? null;
  return { ok: true, input: { params, query, body: body.value, ifMatch } };
}

type BodyRead = { ok: true; value: unknown } | { ok: false; code: ControlErrorCode };

function readBody(request: HttpRequestIn): BodyRead {
  const [type = ''] = (request.headers['content-type'] ?? '').split(';');
  if (type.trim().toLowerCase() !== 'application/json') return { ok: false, code: 'content_type_unsupported' };
  const bytes = request.body;
  if (!Buffer.isBuffer(bytes) || !isUtf8(bytes)) return { ok: false, code: 'body_not_json' };
  try {
    const value: unknown = JSON.parse(withoutByteOrderMark(bytes).toString('utf8'));
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? { ok: true, value } : { ok: false, code: 'body_not_json' };
  } catch {
    // What JSON.parse says quotes the body, which may hold a secret.
    return { ok: false, code: 'body_not_json' };
  }
}
