// What the form of an alert holds, and the alert that it sends.

import type { Alert, AlertInput, ChannelInput, ChannelKind, Condition } from '#pipelines/alerts/alert.ts';
import {
  type Against,
  type AlertInterval,
  type AlertKind,
  CONDITIONS,
  comparisonsOf,
  intervalsOf,
  isOfIntervals,
} from '#pipelines/alerts/alert_kinds.ts';
import type { AlertItem } from '#services/control_api/alerts.ts';
import { idNamed } from '../../questions/saved.ts';
import { namesIn, typedNames } from '../destinations/rule_drafts.ts';

export interface ChannelDraft {
  id: string;
  kind: ChannelKind;
  /** Where it leads now; empty: it is new. */
  shown: string;
  target: string;
  secret: string;
}

export interface AlertDraft {
  name: string;
  kind: AlertKind;
  /** Whether a question is one of the fields here, or one that was taken over as it is. */
  asks: 'events' | 'as_saved';
  /** Names with commas between; empty: any event. */
  events: string;
  measure: 'events' | 'persons';
  /** As it is kept, of the second kind. */
  question: Alert['question'] | null;
  interval: AlertInterval;
  is: Condition['is'];
  value: string;
  percent: string;
  against: Against;
  atLeast: string;
  minutes: string;
  destination: string;
  grace: string;
  recoverAfter: string;
  notifyRecovery: boolean;
  isQuiet: boolean;
  quietFrom: string;
  quietTo: string;
  channels: ChannelDraft[];
}

type Option<Value extends string> = { value: Value; label: string };

export const KINDS: readonly Option<AlertKind>[] = [
  { value: 'question', label: 'Events' },
  { value: 'rejected_share', label: 'Share of rejected events' },
  { value: 'match_quality', label: 'Match quality' },
  { value: 'destination_failing', label: 'A destination is failing' },
  { value: 'allowance', label: 'Monthly allowance' },
];

export const KIND_HINTS: Readonly<Record<AlertKind, string>> = {
  question: 'A figure of your events, by interval.',
  rejected_share: 'Of all events that arrived in an interval, the percentage that was malformed.',
  match_quality: 'Of the events of an interval, the percentage with an e-mail address, phone number or customer id.',
  destination_failing: 'Checked every five minutes.',
  allowance: 'The percentage of the month’s events of the account, checked every five minutes.',
};

const CONDITION_OPTIONS: readonly Option<Condition['is']>[] = [
  { value: 'above', label: 'is above' },
  { value: 'below', label: 'is below' },
  { value: 'rose', label: 'rose by more than' },
  { value: 'fell', label: 'fell by more than' },
  { value: 'no_data', label: 'has no events' },
];
export const conditionsOf = (kind: AlertKind) =>
  CONDITION_OPTIONS.filter(({ value }) => CONDITIONS[kind].includes(value));

const INTERVAL_LABELS = { hour: 'Hour', day: 'Day', week: 'Week', month: 'Month' } as const;
export const intervalOptions = (kind: AlertKind): Option<AlertInterval>[] =>
  intervalsOf(kind).map((value) => ({ value, label: INTERVAL_LABELS[value] }));

const AGAINST_LABELS: Readonly<Record<Against, (interval: string) => string>> = {
  previous: (interval) => `the ${interval} before`,
  day: () => 'the same hour of the day before',
  week: (interval) => `the same ${interval} a week before`,
  year: (interval) => `the same ${interval} a year before`,
};
export const againstOf = ({ kind, interval }: Pick<AlertDraft, 'kind' | 'interval'>): Option<Against>[] =>
  comparisonsOf(kind, interval).map((value) => ({
    value,
    label: AGAINST_LABELS[value](interval),
  }));

const USUAL_VALUE: Partial<Record<AlertKind, string>> = { rejected_share: '5', match_quality: '50', allowance: '80' };

/** A change of the kind, or of the interval, with what follows of it. */
export function fitted(draft: AlertDraft, change: Partial<AlertDraft>): Partial<AlertDraft> {
  const after = { ...draft, ...change };
  const [first = 'failing'] = CONDITIONS[after.kind];
  const is = CONDITIONS[after.kind].includes(after.is) ? after.is : first;
  const interval = intervalsOf(after.kind).includes(after.interval) ? after.interval : 'day';
  const compared = comparisonsOf(after.kind, interval);
  const against = compared.includes(after.against) ? after.against : (compared[0] ?? 'previous');
  const isOtherKind = change.kind !== undefined && change.kind !== draft.kind;
  return {
    ...{ ...change, is, interval, against },
    ...(isOtherKind && {
      value: USUAL_VALUE[after.kind] ?? '',
      recoverAfter: after.kind === 'destination_failing' ? '3' : '1',
    }),
  };
}

export const NEW_CHANNEL: ChannelDraft = { id: '', kind: 'email', shown: '', target: '', secret: '' };

export const NEW_DRAFT: AlertDraft = {
  ...{ name: '', kind: 'question', asks: 'events', events: '', measure: 'events', question: null },
  ...{ interval: 'day', is: 'fell', value: '', percent: '30', against: 'week', atLeast: '', minutes: '15' },
  ...{ destination: '', grace: '10', recoverAfter: '1', notifyRecovery: false },
  ...{ isQuiet: false, quietFrom: '22:00', quietTo: '07:00', channels: [NEW_CHANNEL] },
};

/** The form of an alert that is there. */
export function draftOfAlert(alert: Alert): AlertDraft {
  const { condition, question, quiet_hours, channels } = alert;
  const plain = plainQuestion(question);
  return {
    ...NEW_DRAFT,
    ...{ name: alert.name, kind: alert.kind, destination: alert.destination ?? '' },
    asks: question !== undefined && plain === null ? 'as_saved' : 'events',
    events: typedNames(plain?.events ?? alert.events ?? []),
    measure: plain?.measure ?? 'events',
    question: question ?? null,
    interval: alert.interval ?? 'day',
    is: condition.is,
    value: 'value' in condition ? String(condition.value) : '',
    percent: 'percent' in condition ? String(condition.percent) : NEW_DRAFT.percent,
    against: 'against' in condition ? condition.against : NEW_DRAFT.against,
    atLeast: 'at_least' in condition && condition.at_least !== undefined ? String(condition.at_least) : '',
    minutes: 'minutes' in condition ? String(condition.minutes) : NEW_DRAFT.minutes,
    grace: String(alert.grace_minutes),
    recoverAfter: String(alert.recover_after),
    notifyRecovery: alert.notify_recovery,
    isQuiet: quiet_hours !== null,
    quietFrom: quiet_hours?.from ?? NEW_DRAFT.quietFrom,
    quietTo: quiet_hours?.to ?? NEW_DRAFT.quietTo,
    channels: channels.map(({ id, kind, shown }) => ({ id, kind, shown, target: '', secret: '' })),
  };
}

/** What the fields can say of a question; null: it says more. */
function plainQuestion(question: Alert['question']): { events: string[]; measure: AlertDraft['measure'] } | null {
  if (question === undefined || question.formulas !== undefined || question.filters !== undefined) return null;
  const [series, ...others] = question.series;
  if (series === undefined || others.length > 0) return null;
  const { events = [], measure, ...rest } = series;
  const of = measure?.of ?? 'events';
  if (Object.keys(rest).length > 0 || (of !== 'events' && of !== 'persons')) return null;
  return { events, measure: of };
}

/** A number as it was typed; what is none is left to the service to refuse. */
const numberOf = (text: string): number => (text.trim() === '' ? Number.NaN : Number(text));

function questionOf({ asks, events, measure, question }: AlertDraft): NonNullable<Alert['question']> {
  if (asks === 'as_saved' && question !== null && question !== undefined) return question;
  const names = namesIn(events);
  return {
    series: [
      { ...(names.length > 0 && { events: names }), ...(measure === 'persons' && { measure: { of: measure } }) },
    ],
  };
}

function conditionOf({ is, value, percent, against, atLeast, minutes }: AlertDraft): Condition {
  const least = atLeast.trim() === '' ? {} : { at_least: numberOf(atLeast) };
  if (is === 'above' || is === 'below') return { is, value: numberOf(value), ...least };
  if (is === 'rose' || is === 'fell') return { is, percent: numberOf(percent), against, ...least };
  return is === 'failing' ? { is, minutes: numberOf(minutes) } : { is };
}

/** What is sent; `taken` are ids of other alerts. */
export function alertOf(draft: AlertDraft, before: AlertItem | null, taken: readonly string[]): AlertInput {
  const { kind, isQuiet, quietFrom, quietTo } = draft;
  const names = namesIn(draft.events);
  return {
    id: before?.id ?? idNamed(draft.name, taken),
    name: draft.name.trim(),
    enabled: before?.enabled ?? true,
    kind,
    ...(kind === 'question' && { question: questionOf(draft) }),
    ...(kind === 'match_quality' && names.length > 0 && { events: names }),
    ...(kind === 'destination_failing' && draft.destination !== '' && { destination: draft.destination }),
    ...(isOfIntervals(kind) && { interval: draft.interval }),
    condition: conditionOf(draft),
    grace_minutes: numberOf(draft.grace),
    recover_after: numberOf(draft.recoverAfter),
    notify_recovery: draft.notifyRecovery,
    quiet_hours: isQuiet ? { from: quietFrom, to: quietTo } : null,
    channels: channelsOf(draft.channels),
  };
}

/** The alert as it is there, with another choice of whether it is on. */
export function switchedAlert(item: AlertItem, enabled: boolean): AlertInput {
  const { version: _version, changed_at: _at, changed_by: _by, revision: _revision, ...alert } = item;
  return { ...alert, enabled };
}

function channelsOf(channels: readonly ChannelDraft[]): ChannelInput[] {
  const ids = channels.map(({ id }) => id).filter((id) => id !== '');
  return channels.map(({ id, kind, target, secret }) => {
    const own = id === '' ? idNamed(kind, ids) : id;
    ids.push(own);
    return {
      ...{ id: own, kind },
      ...(target.trim() !== '' && { target: target.trim() }),
      ...(kind === 'webhook' && secret.trim() !== '' && { secret: secret.trim() }),
    };
  });
}

/** What people call the fields, where somebody else has changed them meanwhile. */
export const DRAFT_NAMES: Readonly<Record<string, string>> = {
  is: 'Condition',
  atLeast: 'Least events',
  grace: 'Wait for late events',
  recoverAfter: 'Over after',
  notifyRecovery: 'Tell when it is over',
  isQuiet: 'Quiet hours',
  quietFrom: 'Quiet from',
  quietTo: 'Quiet until',
};
