// An alert of a site: what is watched, when that is worth a message, and who gets it.

import { type Static, Type } from 'typebox';
import { closed } from '#pipelines/analytics/filters.ts';
import { eventNames, filterProblems } from '#pipelines/analytics/question.ts';
import { type TrendsQuery, trendsProblems, trendsShape } from '#pipelines/analytics/trends/query.ts';
import { ID_PATTERN, type Problem, problem, unless } from '#pipelines/settings/problems.ts';
import {
  AGAINST,
  ALERT_KINDS,
  type AlertKind,
  CONDITIONS,
  comparisonsOf,
  INTERVALS,
  intervalsOf,
  isOfIntervals,
} from './alert_kinds.ts';

export const ALERTS_MAX = 50;
const CHANNELS_MAX = 5;
const GRACE_MINUTES = 10;
const GRACE_MINUTES_MAX = 1_440;
const RECOVER_AFTER_MAX = 24;

const atLeast = Type.Optional(
  Type.Integer({
    minimum: 0,
    maximum: 1_000_000_000,
    description:
      'An interval is judged only where it, or the one it is compared with, has so many events; left out: 0, of changes 10',
  }),
);

const conditionShape = Type.Union([
  closed({
    is: Type.Enum(['above', 'below']),
    value: Type.Number({ description: 'The threshold; of shares in percent' }),
    at_least: atLeast,
  }),
  closed({
    is: Type.Enum(['rose', 'fell']),
    percent: Type.Number({ description: 'By more than so many percent', exclusiveMinimum: 0, maximum: 1_000_000 }),
    against: Type.Enum([...AGAINST], {
      description:
        'previous: the interval before; day, week: the same one a day, or 7 days, earlier; year: 52 weeks earlier, of months 12',
    }),
    at_least: atLeast,
  }),
  closed({ is: Type.Literal('no_data') }),
  closed({
    is: Type.Literal('failing'),
    minutes: Type.Integer({ minimum: 0, maximum: 1_440, description: 'For so long without an interruption' }),
  }),
]);
export type Condition = Static<typeof conditionShape>;

const clock = Type.String({ pattern: '^(?:[01][0-9]|2[0-3]):[0-5][0-9]$', description: 'As 22:00' });

const quietShape = Type.Union([closed({ from: clock, to: clock }), Type.Null()], {
  description: "In the site's time zone: what fires then is sent when they end; null: none",
});

const CHANNEL_KINDS = ['email', 'slack', 'webhook'] as const;
export type ChannelKind = (typeof CHANNEL_KINDS)[number];

const channelFields = {
  id: Type.String({ pattern: ID_PATTERN.source, description: 'Its id in the alert' }),
  kind: Type.Enum([...CHANNEL_KINDS]),
};

/** What is asked of trends, without its time. */
const questionShape = closed({
  series: trendsShape.properties.series,
  formulas: trendsShape.properties.formulas,
  filters: trendsShape.properties.filters,
});

const alertFields = {
  id: Type.String({ pattern: ID_PATTERN.source, description: 'Its id' }),
  name: Type.String({ minLength: 1, maxLength: 100, description: 'What people call it; stands in its messages' }),
  enabled: Type.Boolean({ description: 'False: it is paused' }),
  kind: Type.Enum([...ALERT_KINDS]),
  question: Type.Optional(questionShape),
  events: Type.Optional(eventNames),
  destination: Type.Optional(
    Type.String({ pattern: ID_PATTERN.source, description: 'Of destination_failing; left out: any of the site' }),
  ),
  interval: Type.Optional(Type.Enum([...INTERVALS], { description: "By the site's calendar; not of states" })),
  condition: conditionShape,
  grace_minutes: Type.Integer({
    minimum: 0,
    maximum: GRACE_MINUTES_MAX,
    description: 'How long after its end an interval is judged, so that late events count; later ones change nothing',
  }),
  recover_after: Type.Integer({
    minimum: 1,
    maximum: RECOVER_AFTER_MAX,
    description: 'It is over after so many intervals in a row, or looks of five minutes, that are well again',
  }),
  notify_recovery: Type.Boolean({ description: 'Whether a message says that it is over' }),
  quiet_hours: quietShape,
};

const channelShape = closed({
  ...channelFields,
  shown: Type.String({ description: 'The host of the address, or ***@ and the domain of an e-mail address' }),
});

/** As it is kept and shown: without addresses. */
export const alertShape = closed({ ...alertFields, channels: Type.Array(channelShape, { maxItems: CHANNELS_MAX }) });
export type Alert = Static<typeof alertShape>;

const target = Type.Optional(
  Type.String({
    minLength: 1,
    maxLength: 2_000,
    description: 'The e-mail address, or the URL; sealed and never shown. Left out: that of the channel of this id',
  }),
);
const signingSecret = Type.Optional(
  Type.String({
    pattern: '^whsec_[A-Za-z0-9+/]{32,86}={0,2}$',
    description: 'Of a webhook: signs by Standard Webhooks. Left out: that of the channel of this id, if any',
  }),
);

const channelInput = closed({
  ...channelFields,
  target,
  secret: signingSecret,
  shown: Type.Optional(Type.String({ description: 'As it is shown; not read', maxLength: 300 })),
});
export type ChannelInput = Static<typeof channelInput>;

const { id, name, kind, question, events, destination, interval, condition } = alertFields;
const { enabled, grace_minutes, recover_after, notify_recovery, quiet_hours } = alertFields;

/** As it is written: what has a default may be left out. */
export const alertInput = closed({
  ...{ id, name, kind, question, events, destination, interval, condition },
  enabled: Type.Optional({ ...enabled, default: true }),
  grace_minutes: Type.Optional({ ...grace_minutes, default: GRACE_MINUTES }),
  recover_after: Type.Optional(recover_after),
  notify_recovery: Type.Optional({ ...notify_recovery, default: false }),
  quiet_hours: Type.Optional(quiet_hours),
  channels: Type.Array(channelInput, { minItems: 1, maxItems: CHANNELS_MAX }),
});
export type AlertInput = Static<typeof alertInput>;

/** Platforms answer one request now and then with an error: a destination is well after a quarter of an hour. */
const RECOVER_AFTER: Partial<Record<AlertKind, number>> = { destination_failing: 3 };

/** With its defaults, and of its channels what may be shown. */
export function filledAlert(input: AlertInput, shown: (channel: ChannelInput) => string): Alert {
  return {
    ...input,
    enabled: input.enabled ?? true,
    grace_minutes: input.grace_minutes ?? GRACE_MINUTES,
    recover_after: input.recover_after ?? RECOVER_AFTER[input.kind] ?? 1,
    notify_recovery: input.notify_recovery ?? false,
    quiet_hours: input.quiet_hours ?? null,
    channels: input.channels.map((channel) => ({ id: channel.id, kind: channel.kind, shown: shown(channel) })),
  };
}

/** What of an alert no schema can say. */
export function alertProblems(
  alert: Omit<AlertInput, 'channels'> & { channels: readonly { id: string }[] },
): Problem[] {
  const { kind, condition, interval, channels } = alert;
  const wanted = isOfIntervals(kind);
  return [
    ...unless(
      CONDITIONS[kind].includes(condition.is),
      'field_malformed',
      'condition.is',
      `must be one of: ${CONDITIONS[kind].join(', ')}`,
    ),
    ...unless(
      wanted === (interval !== undefined),
      'field_malformed',
      'interval',
      wanted ? 'is missing' : 'is not taken',
    ),
    ...againstProblems(alert),
    ...unless(
      interval === undefined || intervalsOf(kind).includes(interval),
      'field_malformed',
      'interval',
      'must be hour or day, as rejected events are counted for a week',
    ),
    ...onlyOf(alert, 'question', 'question'),
    ...onlyOf(alert, 'events', 'match_quality'),
    ...onlyOf(alert, 'destination', 'destination_failing'),
    ...questionProblems(alert),
    ...unless(
      new Set(channels.map(({ id }) => id)).size === channels.length,
      'repeated',
      'channels',
      'an id is there twice',
    ),
  ];
}

function againstProblems({
  kind,
  condition,
  interval,
}: Pick<AlertInput, 'kind' | 'condition' | 'interval'>): Problem[] {
  if (!('against' in condition) || interval === undefined) return [];
  const possible = comparisonsOf(kind, interval);
  return unless(
    possible.includes(condition.against),
    'field_malformed',
    'condition.against',
    `must be one of: ${possible.join(', ')}`,
  );
}

function onlyOf(
  alert: Omit<AlertInput, 'channels'>,
  field: 'question' | 'events' | 'destination',
  kind: AlertKind,
): Problem[] {
  return unless(alert[field] === undefined || alert.kind === kind, 'field_malformed', field, `is only of ${kind}`);
}

function questionProblems({ kind, question, interval = 'day' }: Omit<AlertInput, 'channels'>): Problem[] {
  if (kind !== 'question') return [];
  if (question === undefined) return [problem('field_missing', 'question', 'is missing')];
  const query = { ...question, interval, from: 0, to: 1 } as TrendsQuery;
  const formulas = question.formulas?.length ?? 0;
  return [
    ...unless(
      formulas === 1 || (formulas === 0 && question.series.length === 1),
      'field_malformed',
      'question',
      'must come to one figure: one series, or one formula',
    ),
    ...[...filterProblems(query), ...trendsProblems(query)].map((one) => ({
      ...one,
      field: `question.${one.field}`,
    })),
  ];
}

/** What a channel is told with. */
export interface ChannelTarget {
  target: string;
  /** What signs a webhook; null: it is not signed. */
  secret: string | null;
  /** Of the message. */
  id: string;
}

/** Under which name something of a channel is kept sealed. */
export const sealedAs = (channel: string, field: 'target' | 'secret'): string =>
  field === 'target' ? channel : `${channel}/${field}`;

/** Where something of a channel is kept sealed: elsewhere it does not open. */
export const alertSecretPlace = (siteId: string, alertId: string, field: string) => ({
  ...{ siteId, destination: `alert:${alertId}`, field },
});

/** One address, without a name, comments or quotes: what is written to a mail server as it is. */
const EMAIL =
  /^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@(?=.{3,253}$)[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)+$/;

/** What may be shown of where a channel leads; null: it is no such address. */
export function shownTarget(kind: ChannelKind, target: string): string | null {
  if (kind === 'email')
    return EMAIL.test(target) ? `***@${target.slice(target.lastIndexOf('@') + 1).toLowerCase()}` : null;
  return URL.parse(target)?.host ?? null;
}

/**
 * What is wrong with where channels lead.
 *
 * @param known What is kept sealed of the alert before, by name.
 * @param isAddressAllowed Whether the guard of what goes out would call an address.
 */
export function targetProblems(
  channels: readonly ChannelInput[],
  known: (channel: ChannelInput) => boolean,
  isAddressAllowed: (address: string) => boolean,
): Problem[] {
  return channels.flatMap((channel, at): Problem[] => {
    const { kind, target, secret } = channel;
    const field = `channels[${at}].target`;
    if (secret !== undefined && kind !== 'webhook') {
      return [problem('field_malformed', `channels[${at}].secret`, 'is only of webhooks')];
    }
    if (target === undefined) return known(channel) ? [] : [problem('field_missing', field, 'is missing')];
    if (shownTarget(kind, target) === null) {
      return [problem('field_malformed', field, kind === 'email' ? 'is no e-mail address' : 'is no URL')];
    }
    if (kind === 'email' || isAddressAllowed(target)) return [];
    return [problem('address_refused', field, 'must be https, without a password, and lead to the public internet')];
  });
}

/** Whether something is sent to an address that was not before: whoever has it learns of figures of the site. */
export const tellsAnew = (channels: readonly Pick<ChannelInput, 'target'>[]): boolean =>
  channels.some(({ target }) => target !== undefined);
