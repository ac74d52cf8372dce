// Who is told of what fired, and when: each channel once, tried again while it does not take it, until that is given up.

import type { AlertSend, FiredAlert } from '#schemas/records.ts';
import { isWithin } from '../settings/calendar.ts';
import type { Alert } from './alert.ts';
import type { Firing } from './judge.ts';

const FIRST_WAIT_MS = 10_000;
const WAIT_MS_MAX = 600_000;
/** After the first try; quiet hours do not count, as nothing is tried in them. */
export const GIVE_UP_MS = 24 * 3_600_000;

/** What came of telling a channel. */
export type SendOutcome =
  | { kind: 'sent' }
  /** It may take it later. */
  | { kind: 'again'; reason: string; afterMs?: number | null }
  /** It never will. */
  | { kind: 'never'; reason: string };

/** A record of what fired, with all channels still to be told. */
export function firedAlert(siteId: string, alert: Alert, { id, is, figure, at }: Firing, detail: string): FiredAlert {
  const { from, to, value, base } = figure;
  return { ...recordOf(siteId, alert, at), fired_id: id, is, from, to, value, base, detail };
}

/** The record of a test: nothing fired, and every channel is told so. */
export function testAlert(siteId: string, alert: Alert, id: string, at: number): FiredAlert {
  const nothing = { from: null, to: null, value: null, base: null, detail: '' };
  return { ...recordOf(siteId, alert, at), ...nothing, fired_id: id, is: 'test' };
}

function recordOf(siteId: string, { id, name, kind, condition, interval, channels }: Alert, at: number) {
  return {
    ...{ site_id: siteId, alert_id: id, name, kind, at, interval: interval ?? '' },
    condition: JSON.stringify(condition),
    sends: channels.map(
      (channel): AlertSend => ({
        ...{ channel: channel.id, kind: channel.kind, shown: channel.shown, state: 'due', attempts: 0 },
        ...{ first_at: null, due_at: at, done_at: null, reason: '', is_repeated: false },
      }),
    ),
  };
}

export const isOpen = ({ state }: AlertSend): boolean => state === 'due' || state === 'sending';

/**
 * Whether a channel is to be told now. Nothing is in quiet hours, but for tests; what is held is told when they end.
 *
 * @param alert As it is by now; null: it is gone, and its channels with it.
 */
export function isDue(
  fired: FiredAlert,
  send: AlertSend,
  alert: Alert | null,
  timeZone: string,
  nowMs: number,
): boolean {
  if (send.state !== 'due' || send.due_at > nowMs) return false;
  const quiet = alert?.quiet_hours ?? null;
  return quiet === null || fired.is === 'test' || !isWithin(nowMs, quiet, timeZone);
}

/** Written down before the call, so that whoever follows knows that one was begun. */
export const begun = (send: AlertSend, nowMs: number): AlertSend => ({
  ...{ ...send, state: 'sending', attempts: send.attempts + 1 },
  first_at: send.first_at ?? nowMs,
});

/** What an earlier leader has begun and not written an answer of: it is told once more, as it may not have arrived. */
export const takenUp = (send: AlertSend): AlertSend =>
  send.state === 'sending' ? { ...send, state: 'due', is_repeated: true } : send;

/** @param random From 0 to 1. */
export function answered(send: AlertSend, outcome: SendOutcome, nowMs: number, random: number): AlertSend {
  if (outcome.kind === 'sent') return { ...send, state: 'sent', done_at: nowMs, reason: '' };
  const { reason } = outcome;
  if (outcome.kind === 'never') return givenUp(send, reason, nowMs);
  if (nowMs - (send.first_at ?? nowMs) >= GIVE_UP_MS) return givenUp(send, reason, nowMs);
  const waitMs = Math.min(WAIT_MS_MAX, FIRST_WAIT_MS * 2 ** Math.min(send.attempts - 1, 10));
  const due_at = nowMs + Math.max(outcome.afterMs ?? 0, waitMs * (0.75 + random / 2));
  return { ...send, state: 'due', due_at: Math.round(due_at), reason };
}

const givenUp = (send: AlertSend, reason: string, nowMs: number): AlertSend => ({
  ...send,
  ...{ state: 'given_up', done_at: nowMs, reason },
});

/** The record with one of its sends as it is now. */
export const withSend = (fired: FiredAlert, send: AlertSend): FiredAlert => ({
  ...fired,
  sends: fired.sends.map((one) => (one.channel === send.channel ? send : one)),
});

const KEPT_MS = 90 * 24 * 3_600_000;
const KEPT_OF_SITE = 200;

/** Those that are kept no longer: nothing of them is to be sent any more, and they are old, or their site has many newer ones. */
export function outlived(
  all: Iterable<FiredAlert>,
  nowMs: number,
  siteExists: (siteId: string) => boolean,
): FiredAlert[] {
  const bySite = Map.groupBy(all, ({ site_id }) => site_id);
  return [...bySite].flatMap(([siteId, fired]) => {
    if (!siteExists(siteId)) return fired;
    const newestFirst = fired.toSorted((a, b) => b.at - a.at);
    return newestFirst.filter(
      ({ at, sends }, place) => (place >= KEPT_OF_SITE || nowMs - at > KEPT_MS) && !sends.some(isOpen),
    );
  });
}
