// Schemas of how the stages, running queries, tags and intake are doing.

import { type Static, Type } from 'typebox';
import { REFUSAL_INTERVALS, WARNING_KINDS } from '#pipelines/ingestion_warnings/warnings.ts';
import { closed, countField, idField, nullable, refusedAs, timeField } from './fields.ts';

const stageShape = Type.Object({
  stage: Type.String({ description: 'Name of the stage; delivery.KIND for each kind of destination that a site has' }),
  consumers: countField('Consumers that take records for it now; without one nothing gets done'),
  lag: nullable(countField('Records, and marks of transactions, that it has still to take'), {
    description: 'Null where it never took one',
  }),
  waits_longer_than_ms: nullable(countField('The oldest of these is older than so much'), {
    description:
      'In steps of 10 s, 1 min, 10 min, 1 h, 6 h, a day and eight days; null: younger than the first, or nothing waits',
  }),
  on_lanes: countField('Of a delivery: records that wait on a retry topic for another attempt'),
  rate: nullable(Type.Number({ description: 'Records a second that it took lately' }), {
    description: 'Null until it was looked at twice',
  }),
});
export type StageItem = Static<typeof stageShape>;

export const stagesShape = Type.Object({
  items: Type.Array(stageShape),
  as_of: timeField('When Kafka was read'),
  not_seen: Type.Array(Type.String(), { description: 'What is not seen from here, and where it is' }),
});
export type StagesAnswer = Static<typeof stagesShape>;

const queryId = Type.String({
  description: 'The query',
  pattern: '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$',
  ...refusedAs('id_malformed'),
});

export const runningQueryShape = Type.Object({
  id: queryId,
  site_id: nullable(idField('The site that it is about'), { description: 'Null: all sites' }),
  kind: Type.String({ description: 'The last part of its path: `funnel`, `sql`, ...' }),
  asked_by: Type.String({ description: 'Label of who requested it' }),
  running_ms: countField('For how long ClickHouse has been at work on it'),
  rows_read: countField('Rows read by now, of all servers'),
  memory_bytes: countField('Memory that it has now, of all servers'),
});
export type RunningQueryItem = Static<typeof runningQueryShape>;

export const runningQueriesShape = Type.Object({
  items: Type.Array(runningQueryShape, { description: 'The longest first' }),
  as_of: timeField('When ClickHouse was queried'),
});

export const runningQueryParams = closed({ id: queryId });

const volume = (description: string) =>
  Type.Object(
    {
      now: countField('Events until now'),
      usual: nullable(countField('In the same time of earlier days, the median; null while too little is known')),
    },
    { description },
  );

const definitionHealth = Type.Object({
  id: Type.String(),
  name: Type.String(),
  state: Type.Enum(['firing', 'quiet', 'stopped', 'never_fired'], {
    description:
      'quiet: not for 3 of its usual gaps, at least an hour; stopped: not for 10, at least a day; firing also while it has fired too seldom to know its gap',
  }),
  fired: countField('How often it fired since it is watched'),
  last_fired_at: nullable(timeField('When it last fired')),
  usual_gap_ms: nullable(countField('Mean time between its recent firings')),
});
export type DefinitionHealth = Static<typeof definitionHealth>;

/** How the tag of a site does. */
export const tagHealthShape = Type.Object({
  site_id: Type.String(),
  state: Type.Enum(['never', 'new', 'receiving', 'quiet'], {
    description:
      'By events from browsers. quiet: less than a fifth of a usual day, or a tenth of a usual hour; new: known for too short a time to say what is usual; never: no event is known',
  }),
  last_event_at: nullable(timeField('When a browser last sent an event')),
  known_since: nullable(timeField('From when on events are counted; Redis forgets when it is emptied')),
  last_hour: volume('Of the last 60 minutes'),
  last_day: volume('Of the last 24 hours'),
  pages: Type.Array(Type.Object({ page: Type.String(), last_event_at: timeField('When it last sent an event') }), {
    description: 'Host and path of the pages that sent last, at most 200, the newest first',
  }),
  definitions: Type.Array(definitionHealth, { description: 'Event definitions that are enabled' }),
  reported: Type.Object(
    {
      retried: countField('Requests that came to nothing at first'),
      dropped: countField('Events that a browser could not keep until they were sent'),
      rejected: countField('Events that the edge refused'),
      blocked: countField("Requests that a page's content security policy forbade"),
    },
    { description: 'What tags counted themselves, of the last 7 days' },
  ),
});
export type TagHealthItem = Static<typeof tagHealthShape>;

export const rejectionQuery = closed({
  from: Type.Optional(timeField('From when on; 7 days before `to` without it. Hours count as a whole')),
  to: Type.Optional(timeField('Until when; now without it')),
  interval: Type.Optional(
    Type.Enum([...REFUSAL_INTERVALS], { description: 'How long each count of `counts` is of; days are those of UTC' }),
  ),
});

const reason = {
  kind: Type.Enum([...WARNING_KINDS], {
    description:
      'rejected: an event that is malformed; dropped: a sound event that does not count; refused: a request of which nothing was taken; warned: an event that was accepted with a fault; historical: a malformed event of the past',
  }),
  code: Type.String({
    description:
      'Of docs/errors.md; of dropped events bot, prefetch, blocked (by a block rule) or quota (over the allowance); of warned ones placeholder_id, id_too_long, uuid_missing, timestamp_invalid, timestamp_too_old, timestamp_ahead or uuid_reused',
  }),
};
const eventCount = Type.Integer({ description: 'Events; of `refused` requests', minimum: 1 });

const sample = Type.Object({
  at: timeField('When it came'),
  ...reason,
  event: nullable(Type.String(), {
    description:
      "The event's name, cleaned; of uuid_reused the names of both events, the first in front; null for a request, and where it had none that could be stored",
  }),
  index: nullable(Type.Integer(), { description: 'Its place in the request; null for a request' }),
  fields: Type.Array(Type.String(), {
    description: 'Names of its fields, and of its properties as `properties.NAME`, cleaned, at most 20; no values',
  }),
  caller: nullable(Type.Enum(['browser', 'server']), {
    description: 'Kind of its key; null where it came without one',
  }),
  key: nullable(
    Type.Object({
      key_id: Type.String({ description: "The first 16 characters of the key's SHA-256" }),
      shown_prefix: nullable(Type.String(), { description: 'Null where the site has no such key any more' }),
      label: nullable(Type.String()),
    }),
    { description: 'The key that it came with; null where it came without one' },
  ),
});
export type RejectionSampleItem = Static<typeof sample>;

const EXAMPLE_AT = Date.UTC(2027, 0, 5, 12, 30, 7);
const MALFORMED = { kind: 'rejected', code: 'timestamp_invalid' } as const;

/** What was not accepted of a site. */
export const rejectionsShape = Type.Object(
  {
    site_id: Type.String(),
    from: timeField('From when on is told'),
    to: timeField('Until when'),
    interval: Type.Enum([...REFUSAL_INTERVALS]),
    known_since: nullable(timeField('From when on is counted, at most 7 days ago; Redis forgets when it is emptied'), {
      description: 'Null while no edge has counted',
    }),
    totals: Type.Array(Type.Object({ ...reason, count: eventCount }), {
      description: 'Of the whole time, the most frequent first',
    }),
    counts: Type.Array(Type.Object({ at: timeField('When the interval begins'), ...reason, count: eventCount }), {
      description: 'By interval, the earliest first; where something is missing, it was 0',
    }),
    samples: nullable(Type.Array(sample), {
      description: 'Of that time, the newest first, at most 20 of a reason and 100 in all; null without query.events',
    }),
  },
  {
    examples: [
      {
        site_id: 'acme-shop',
        from: Date.UTC(2027, 0, 5),
        to: Date.UTC(2027, 0, 6),
        interval: 'day',
        known_since: Date.UTC(2027, 0, 1),
        totals: [{ ...MALFORMED, count: 12 }],
        counts: [{ at: Date.UTC(2027, 0, 5), ...MALFORMED, count: 12 }],
        samples: [
          {
            ...{ at: EXAMPLE_AT, ...MALFORMED, event: 'purchase', index: 1, caller: 'server' },
            fields: ['event', 'timestamp', 'properties', 'properties.value'],
            key: { key_id: '9f86d081884c7d65', shown_prefix: 'svc_sk_AbCd', label: 'till' },
          },
        ],
      },
    ],
  },
);
export type RejectionsItem = Static<typeof rejectionsShape>;
