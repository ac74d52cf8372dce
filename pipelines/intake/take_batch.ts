import type { Caller, Event } from '#schemas/event.ts';
import type { Site } from '#schemas/setting.ts';
import { openCall } from './call.ts';
import type { RejectionCode } from './rejections.ts';
import { takeEvent } from './take_event.ts';

/** What the edge knows of a request besides its body. */
export interface IntakeContext {
  site: Site;
  caller: Caller;
  receivedAtMs: number;
  /** The peer's address after trusted proxies, never from properties. */
  clientIp: string | null;
  userAgent: string | null;
  /** Whether any of Origin, Sec-Fetch-* or Referer was sent. */
  browserSigns: boolean;
  /** Whether prefetch or prerender headers were sent. */
  prefetch: boolean;
  /** The country the edge resolved the peer to, if it can. */
  country: string | null;
  /** Today's random salt, for anonymous ids. */
  anonymousSalt: Buffer;
  /** Secret for the HMAC of ids that are e-mail addresses or phone numbers. */
  identitySecret: Buffer;
  /** A new UUIDv7. */
  randomEventId(): string;
}

export type Rejection = { index: number; code: RejectionCode; message: string };
export type DropReason = 'bot' | 'prefetch' | 'blocked';
export type Drop = { index: number; reason: DropReason };
export interface TakenBatch {
  taken: Event[];
  rejected: Rejection[];
  dropped: Drop[];
}

/**
 * Turns the events of one request into events ready for encoding, without any raw e-mail address, phone number or
 * name. Each event is taken, rejected (it was malformed) or dropped (a robot's, or blocked by the site); `index` is its
 * place in the request.
 */
export function takeBatch(events: readonly unknown[], context: IntakeContext): TakenBatch {
  const call = openCall(context);
  const batch: TakenBatch = { taken: [], rejected: [], dropped: [] };
  for (let index = 0; index < events.length; index += 1) {
    const outcome = takeEvent(events[index], call);
    switch (outcome.kind) {
      case 'taken':
        batch.taken.push(outcome.event);
        break;
      case 'rejected':
        batch.rejected.push({ index, code: outcome.code, message: outcome.message });
        break;
      case 'dropped':
        batch.dropped.push({ index, reason: outcome.reason });
        break;
    }
  }
  return batch;
}
