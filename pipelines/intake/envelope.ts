import { REJECTIONS, type RejectionCode } from './rejections.ts';
import { readSentAt } from './timestamp.ts';

export type Envelope =
  | { ok: true; events: unknown[]; sentAtMs: number | null }
  | { ok: false; status: 400 | 413; code: RejectionCode; message: string };

/**
 * Reads the request body of POST /v1/ingest, `{ events: [Event, ...] }` with 1 to `eventsMax` events, and beside them `sent_at`
 * where its sender says when that was.
 */
export function readEnvelope(body: unknown, eventsMax: number): Envelope {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return refuse(400, 'body_not_object');
  if (!Object.hasOwn(body, 'events')) return refuse(400, 'events_missing');
  const { events, sent_at: sentAt } = body as { events: unknown; sent_at?: unknown };
  if (!Array.isArray(events)) return refuse(400, 'events_not_array');
  if (events.length === 0) return refuse(400, 'events_empty');
  return events.length > eventsMax
    ? refuse(413, 'events_too_many')
    : { ok: true, events, sentAtMs: readSentAt(sentAt) };
}

function refuse(status: 400 | 413, code: RejectionCode): Envelope {
  return { ok: false, status, code, message: REJECTIONS[code] };
}
