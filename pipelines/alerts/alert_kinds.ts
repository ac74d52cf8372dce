// Kinds of alerts, and which conditions, intervals and comparisons each can have.
import type { Condition } from './alert.ts';

/**
 * `question`: a figure of trends. The others are of the service itself: the share of events that were rejected, or that have an
 * identifier to match people by; a destination that does not deliver; the share of the account's month that is used.
 */
export const ALERT_KINDS = ['question', 'rejected_share', 'match_quality', 'destination_failing', 'allowance'] as const;
export type AlertKind = (typeof ALERT_KINDS)[number];

/** Kinds that are figures of intervals; the others are looked at every few minutes. */
export const isOfIntervals = (kind: AlertKind): boolean => kind !== 'destination_failing' && kind !== 'allowance';

export const AGAINST = ['previous', 'day', 'week', 'year'] as const;
export type Against = (typeof AGAINST)[number];

export const INTERVALS = ['hour', 'day', 'week', 'month'] as const;
export type AlertInterval = (typeof INTERVALS)[number];

/** Rejected events are counted for a week alone. */
export const intervalsOf = (kind: AlertKind): readonly AlertInterval[] =>
  kind === 'rejected_share' ? ['hour', 'day'] : INTERVALS;

/** Which conditions each kind can have. */
export const CONDITIONS: Readonly<Record<AlertKind, readonly Condition['is'][]>> = {
  question: ['above', 'below', 'rose', 'fell', 'no_data'],
  rejected_share: ['above', 'rose'],
  match_quality: ['below', 'fell'],
  destination_failing: ['failing'],
  allowance: ['above'],
};

/** With what an interval can be compared. */
const COMPARABLE: Readonly<Record<AlertInterval, readonly Against[]>> = {
  hour: ['previous', 'day', 'week'],
  day: ['previous', 'week', 'year'],
  week: ['previous', 'year'],
  month: ['previous', 'year'],
};

export const comparisonsOf = (kind: AlertKind, interval: AlertInterval): readonly Against[] =>
  kind === 'rejected_share' ? ['previous'] : COMPARABLE[interval];
