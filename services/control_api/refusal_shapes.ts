import { type Static, Type } from 'typebox';
import { REFUSAL_INTERVALS } from '#pipelines/refusals/refusal_counts.ts';
import { REFUSAL_KINDS } from '#pipelines/refusals/refusal_notes.ts';
import { closed, nullable, timeField } from './fields.ts';

export const refusalQuery = closed({
  from: Type.Optional(timeField('From when on; 7 days before `to` without it. Hours count as a whole')),
  to: Type.Optional(timeField('Until when; now without it')),
  interval: Type.Optional(
    Type.Enum([...REFUSAL_INTERVALS], { description: 'How long each count of `counts` is of; days are those of UTC' }),
  ),
});

const reason = {
  kind: Type.Enum([...REFUSAL_KINDS], {
    description:
      'rejected: an event that is malformed; dropped: a sound event that does not count; refused: a request of which nothing was taken; warned: an event that was accepted with a fault',
  }),
  code: Type.String({
    description:
      'Of docs/errors.md; of dropped events bot, prefetch, blocked (by a block rule) or quota (over the allowance); of warned ones placeholder_id, timestamp_invalid, timestamp_too_old, timestamp_ahead or uuid_reused',
  }),
};
const count = Type.Integer({ description: 'Events; of `refused` requests', minimum: 1 });

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
export type RefusalSampleItem = Static<typeof sample>;

const EXAMPLE_AT = Date.UTC(2027, 0, 5, 12, 30, 7);
const MALFORMED = { kind: 'rejected', code: 'timestamp_invalid' } as const;

/** What was not accepted of a site. */
export const refusalsShape = Type.Object(
  {
    site_id: Type.String(),
    from: timeField('From when on is told'),
    to: timeField('Until when'),
    interval: Type.Enum([...REFUSAL_INTERVALS]),
    known_since: nullable(timeField('From when on is counted, at most 7 days ago; Redis forgets when it is emptied'), {
      description: 'Null while no edge has counted',
    }),
    totals: Type.Array(Type.Object({ ...reason, count }), {
      description: 'Of the whole time, the most frequent first',
    }),
    counts: Type.Array(Type.Object({ at: timeField('When the interval begins'), ...reason, count }), {
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
export type RefusalsItem = Static<typeof refusalsShape>;
