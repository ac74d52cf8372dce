import type { NewReplayBody, ReplayItem } from '#services/control_api/redelivery.ts';
import { events, number, span, typedNumber } from '../../format.ts';
import type { StateLook } from '../../ui/panel.tsx';

const REPLAY_STATES: Readonly<Record<ReplayItem['state'], StateLook>> = {
  waiting: { label: 'Waiting', badge: 'plain' },
  counting: { label: 'Counting', badge: 'plain' },
  sending: { label: 'Sending', badge: 'warn' },
  draining: { label: 'Delivering', badge: 'warn' },
  paused: { label: 'Paused', badge: 'plain' },
  done: { label: 'Done', badge: 'good' },
  cancelled: { label: 'Cancelled', badge: 'plain' },
  failed: { label: 'Failed', badge: 'bad' },
};

/** What a replay does, in a word: one that only counts is not done with sending. */
export const shownState = ({ state, dry_run }: Pick<ReplayItem, 'state' | 'dry_run'>): StateLook =>
  state === 'done' && dry_run ? { label: 'Counted, nothing sent', badge: 'plain' } : REPLAY_STATES[state];

const ENDS: ReadonlySet<ReplayItem['state']> = new Set(['done', 'cancelled', 'failed']);
export const isOver = ({ state }: Pick<ReplayItem, 'state'>): boolean => ENDS.has(state);

/** How far it is, from 0 to 1; null where that is not known. */
export function shareDone({ state, share_read, to_send, chosen }: ReplayItem): number | null {
  if (state === 'done') return 1;
  if (to_send !== null && to_send > 0 && state !== 'counting') return Math.min(1, chosen / to_send);
  return share_read;
}

/** What counting found, in a sentence: what is said before anything is sent. */
export function countedSentence(replay: ReplayItem): string {
  const { to_send, not_reached, estimate_ms, rate } = replay;
  // While it sends, the other counts begin anew.
  const { skipped_before, delivered, pending, unreadable } = replay.found ?? replay;
  return [
    `${events(to_send ?? 0)} to send`,
    ...(skipped_before > 0 ? [`of which ${number(skipped_before)} were skipped before and may be skipped again`] : []),
    `${number(delivered)} already delivered`,
    ...(pending > 0 ? [`${number(pending)} waiting for a retry`] : []),
    ...(not_reached > 0 ? [`${number(not_reached)} still queued for delivery`] : []),
    ...(unreadable > 0 ? [`${number(unreadable)} unreadable`] : []),
    ...((to_send ?? 0) > 0 && estimate_ms !== null
      ? [`about ${span(Math.max(1_000, estimate_ms))} at ${number(rate)} a second`]
      : []),
  ].join(', ');
}

export const sendLabel = (count: number | null): string =>
  count === null ? 'Send' : count === 0 ? 'Nothing to send' : `Send ${events(count)}`;

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const RANGES = [
  { value: '1h', label: 'The last hour', ms: HOUR_MS },
  { value: '24h', label: 'The last 24 hours', ms: DAY_MS },
  { value: '3d', label: 'The last 3 days', ms: 3 * DAY_MS },
  { value: '7d', label: 'The last 7 days', ms: 7 * DAY_MS },
];
export const OWN_RANGE = 'own';
/** All dead letters that are kept: 30 days of them, and up to a week more as Kafka deletes whole segments. */
const KEPT_RANGE = { value: 'kept', label: 'All that are kept', ms: 40 * DAY_MS };

export function rangesFor(source: ReplayDraft['source']): { value: string; label: string }[] {
  const own = { value: OWN_RANGE, label: 'From and to' };
  return source === 'dead_letters' ? [KEPT_RANGE, ...RANGES, own] : [...RANGES, own];
}

/** What is replayed, with the range that is usual for that: dead letters are taken whenever they died. */
export const rangeOfSource = (source: ReplayDraft['source']): Pick<ReplayDraft, 'source' | 'range'> => ({
  source,
  range: source === 'dead_letters' ? KEPT_RANGE.value : '24h',
});

export interface ReplayDraft {
  destination: string;
  /** Empty: every site that has the destination. */
  site: string;
  source: ReplayItem['source'];
  range: string;
  /** Ends of a range of one's own, as a field for date and time has them: without a zone, in the browser's. */
  from: string;
  to: string;
  rate: string;
  force: boolean;
}

/** What is sent of a form: a rate that is no number is sent as the text it is, to be refused. */
export type ReplayAsked = Omit<NewReplayBody, 'rate'> & { rate?: number | string };

export function replayBody(draft: ReplayDraft, nowMs: number): ReplayAsked {
  const { destination, site, source, rate, force } = draft;
  return {
    ...{ destination, source, force, ...rangeOf(draft, nowMs) },
    ...(site !== '' && { site_id: site }),
    ...(rate.trim() !== '' && { rate: typedNumber(rate) }),
  };
}

function rangeOf({ range, from, to }: ReplayDraft, nowMs: number): { from: number; to: number } {
  if (range === OWN_RANGE) return { from: Date.parse(from), to: to === '' ? nowMs : Date.parse(to) };
  const ms = [KEPT_RANGE, ...RANGES].find(({ value }) => value === range)?.ms ?? HOUR_MS;
  return { from: nowMs - ms, to: nowMs };
}

/** What is wrong with a range by the field it is about; empty texts where nothing is. */
export function rangeProblems(draft: ReplayDraft, nowMs: number): { from: string; to: string } {
  const { from, to } = rangeOf(draft, nowMs);
  return {
    from: Number.isNaN(from) ? 'Enter a date and time' : from >= nowMs ? 'Must be in the past' : '',
    to: Number.isNaN(to)
      ? 'Enter a date and time, or leave empty for now'
      : to <= from
        ? 'Must be after the start'
        : '',
  };
}
