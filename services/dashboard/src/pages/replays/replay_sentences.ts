import type { NewReplayBody, ReplayItem } from '#services/control_api/replay_shapes.ts';
import { typedNumber } from '../../api/typed_number.ts';
import { number, span } from '../../format.ts';
import type { BadgeKind } from '../../ui/badge.tsx';

const REPLAY_STATES: Readonly<Record<ReplayItem['state'], { label: string; badge: BadgeKind }>> = {
  waiting: { label: 'Waits to begin', badge: 'plain' },
  counting: { label: 'Counting', badge: 'plain' },
  sending: { label: 'Sending', badge: 'warn' },
  draining: { label: 'Being delivered', badge: 'warn' },
  paused: { label: 'Paused', badge: 'plain' },
  done: { label: 'Done', badge: 'good' },
  cancelled: { label: 'Cancelled', badge: 'plain' },
  failed: { label: 'Failed', badge: 'bad' },
};

/** What a replay does, in a word: one that only counts is not done with sending. */
export const shownState = ({
  state,
  dry_run,
}: Pick<ReplayItem, 'state' | 'dry_run'>): { label: string; badge: BadgeKind } =>
  state === 'done' && dry_run ? { label: 'Counted, nothing sent', badge: 'plain' } : REPLAY_STATES[state];

const ENDS: ReadonlySet<ReplayItem['state']> = new Set(['done', 'cancelled', 'failed']);
export const isOver = ({ state }: Pick<ReplayItem, 'state'>): boolean => ENDS.has(state);

/** How far it is, from 0 to 1; null where that is not known. */
export function shareDone({ state, share_read, to_send, chosen }: ReplayItem): number | null {
  if (state === 'done') return 1;
  if (to_send !== null && to_send > 0 && state !== 'counting') return Math.min(1, chosen / to_send);
  return share_read;
}

const events = (count: number): string => `${number(count)} ${count === 1 ? 'event' : 'events'}`;

/** What counting found, in a sentence: what is said before anything is sent. */
export function countedSentence(replay: ReplayItem): string {
  const { to_send, skipped_before, delivered, pending, unreadable, not_reached, estimate_ms, rate } = replay;
  return [
    `${events(to_send ?? 0)} to send`,
    ...(skipped_before > 0 ? [`of which ${number(skipped_before)} were skipped before and may be skipped again`] : []),
    `${number(delivered)} known as delivered`,
    ...(pending > 0 ? [`${number(pending)} waiting for a retry of their own`] : []),
    ...(not_reached > 0 ? [`${number(not_reached)} that delivery has yet to reach by itself`] : []),
    ...(unreadable > 0 ? [`${number(unreadable)} cannot be read`] : []),
    ...((to_send ?? 0) > 0 && estimate_ms !== null
      ? [`about ${span(Math.max(1_000, estimate_ms))} at ${number(rate)} a second`]
      : []),
  ].join(', ');
}

const HOUR_MS = 3_600_000;
export const RANGES = [
  { value: '1h', label: 'The last hour', ms: HOUR_MS },
  { value: '24h', label: 'The last 24 hours', ms: 24 * HOUR_MS },
  { value: '3d', label: 'The last 3 days', ms: 72 * HOUR_MS },
  { value: '7d', label: 'The last 7 days', ms: 168 * HOUR_MS },
] as const;

/** What a form for a replay holds. */
export interface ReplayDraft {
  destination: string;
  /** Empty: every site that has the destination. */
  site: string;
  source: ReplayItem['source'];
  range: string;
  rate: string;
  force: boolean;
}

/** What is sent of a form: a rate that is no number is sent as the text it is, to be refused. */
export type ReplayAsked = Omit<NewReplayBody, 'rate'> & { rate?: number | string };

/** What is asked for by a form, as of now. */
export function replayBody({ destination, site, source, range, rate, force }: ReplayDraft, nowMs: number): ReplayAsked {
  const ms = RANGES.find(({ value }) => value === range)?.ms ?? HOUR_MS;
  return {
    ...{ destination, source, force, from: nowMs - ms, to: nowMs },
    ...(site !== '' && { site_id: site }),
    ...(rate.trim() !== '' && { rate: typedNumber(rate) }),
  };
}
