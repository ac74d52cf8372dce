// What requests of other vendors' libraries have in common once they are mapped to events.
import { firstGiven } from '#pipelines/intake/json_text.ts';
import type { JsonObject } from '#pipelines/privacy/clean_properties.ts';
import { numberId } from '#pipelines/privacy/placeholder_ids.ts';
import type { Caller } from '#schemas/event.ts';

/** What of a foreign request is not in its events: whose key it came with, when, and when its sender says to have sent it. */
export interface Arrival {
  caller: Caller;
  receivedAtMs: number;
  sentAtMs: number | null;
  /** Its calls are of the past: what is told by when it came says nothing. */
  isHistorical?: boolean;
}

/** Why a call was not turned into events. Messages never repeat what was sent. */
export const CALL_PROBLEMS = {
  call_type_unknown: 'type must be track, identify, page, screen, group or alias.',
  call_too_large: 'A call must not exceed 32 KiB.',
} as const;
type CallProblem = keyof typeof CALL_PROBLEMS;

/** The event of a call, in the form POST /v1/ingest takes it; what is no object goes on as it is and is rejected there. */
export type MappedCall = { ok: true; event: unknown } | { ok: false; code: CallProblem };

/**
 * An id as text: many libraries send numbers, and of a rounded one nobody knows which it was. What is neither text nor number
 * names nobody, and is the placeholder that a program makes of it, so that another id stands in and the sender is warned.
 */
export function idText(value: unknown): unknown {
  if (typeof value === 'number') return numberId(value);
  if (typeof value === 'boolean') return String(value);
  if ((Array.isArray(value) && value.length === 0) || (typeof value === 'string' && value.trim() === '')) return null;
  return typeof value === 'object' && value !== null ? '[object Object]' : value;
}

/** The members that are there. */
export function given(members: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => firstGiven(value) !== undefined));
}

/**
 * When a call was sent by the clock that made its time, for `readTimestamp` to move that by how far the clock was off (Segment's
 * specification of common fields: receivedAt - (sentAt - originalTimestamp)). A server's clock is right, and its times may be
 * those of a backfill: they stay as they are, to the millisecond.
 */
export const clockOf = ({ caller, sentAtMs }: Arrival): { sent_at?: number } =>
  caller === 'server' || sentAtMs === null ? {} : { sent_at: sentAtMs };

/** What the address of a page tells of how the visitor came, as the tag reads it too (`services/tag/src/visitor.ts`). */
const CAMPAIGN = /^utm_\w{1,60}$/;
const CLICK = /^(?:(?:fb|g|d|tt|tw|y)clid|msclkid|[gw]braid|li_fat_id|epik|rdt_cid|sccid)$/;
/** Cut off, a click's id is another's, and an e-mail address would no longer be known for one. */
const VALUE_CHARACTERS_MAX = 500;
const PARAMETERS_MAX = 30;

/**
 * The parameters `utm_*` of a page's address, and the click ids that ad platforms add to it, under their names in small
 * letters, however they were written. Of one that stands there more than once, the first that says something.
 *
 * @param address Absolute or not; anything but a text tells nothing.
 * @param withClicks Whether the visitor's clicks on ads may be known.
 */
export function pageArrival(address: unknown, withClicks = true): JsonObject {
  if (typeof address !== 'string') return {};
  const [beforeFragment = ''] = address.split('#', 1);
  const query = beforeFragment.indexOf('?');
  const told = new Map<string, string>();
  if (query < 0) return {};
  for (const [sent, value] of new URLSearchParams(beforeFragment.slice(query))) {
    const name = sent.toLowerCase();
    if (value.trim() === '' || value.length >= VALUE_CHARACTERS_MAX || told.has(name)) continue;
    if (CAMPAIGN.test(name) || (withClicks && CLICK.test(name))) told.set(name, value);
    if (told.size === PARAMETERS_MAX) break;
  }
  return Object.fromEntries(told);
}
