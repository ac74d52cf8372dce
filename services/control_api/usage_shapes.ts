import { type Static, Type } from 'typebox';
import { MONTH_PATTERN } from '#pipelines/quota/month.ts';
import { closed, idField, timeField } from './fields.ts';

const month = (description: string) => Type.String({ description, pattern: MONTH_PATTERN.source });
const count = (description: string) => Type.Integer({ description, minimum: 0 });

export const usageQuery = closed({
  month: Type.Optional(month('Which month (UTC), as YYYY-MM; without it, the month that is now')),
});

export const usageShape = Type.Object({
  account_id: idField('The account'),
  month: month('UTC, as YYYY-MM'),
  events: count('Events of all days below'),
  days: Type.Array(
    Type.Object({
      day: Type.String({ description: 'UTC, as YYYY-MM-DD' }),
      events: count('Events that arrived on this day, duplicates not counted'),
      sites: Type.Record(Type.String(), Type.Integer(), {
        description: 'Of these, by site; a site of which none came is left out',
      }),
    }),
    { description: 'Every day of the month up to now' },
  ),
  as_of: timeField('When ClickHouse was asked'),
});
export type UsageAnswer = Static<typeof usageShape>;
