import type { HttpRequestIn } from '#infra/http/http_server.ts';
import { type Hit, readHits } from '#pipelines/intake/ga4/hits.ts';
import type { EdgeErrorCode } from '#services/edge/errors.ts';
import { sentQuery } from '#services/edge/sent_request.ts';

export type SentHits = { ok: true; hits: Hit[] } | { ok: false; code: EdgeErrorCode };

/** The hits of a request: what its query says holds for each line of its body. */
export function sentHits(request: HttpRequestIn, body: string): SentHits {
  const read = readHits(sentQuery(request), body);
  if (read.ok) return read;
  return { ok: false, code: read.problem === 'hits_too_many' ? 'events_too_many' : read.problem };
}
