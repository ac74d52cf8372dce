// Filters of a query: fields, conditions, and how a date in one is written.
import { type Static, type TProperties, Type } from 'typebox';
import { ID_PATTERN } from '#pipelines/settings/problems.ts';
import { VISIT_VALUES } from '#pipelines/visits/arrival.ts';
import type { PageRules } from '#schemas/setting.ts';
import type { CohortRule } from './cohorts/cohort.ts';

/** Conditions of one list of filters, all of its groups together. */
export const CONDITIONS_MAX = 50;
/** Conditions on persons in one query: each looks through all events of the site. */
export const PERSON_CONDITIONS_MAX = 5;
/** Different values of visits and persons in one query. */
export const JOINED_VALUES_MAX = 6;
const FILTERS_MAX = 20;
const TEXT_MAX = 1_000;
const PATTERN_MAX = 500;

export const closed = <Properties extends TProperties>(properties: Properties) =>
  Type.Object(properties, { additionalProperties: false });

/** Columns that a query may name: `event_rows` has them, and all but the key the view `events`. */
export const COLUMNS = [
  'event',
  'event_id',
  'distinct_id',
  'person_id',
  'mode',
  'action_source',
  'caller',
  'key_id',
  'identify',
  'email_sha256',
  'phone_hmac',
  'external_id_sha256',
  'city',
  'state',
  'zip',
  'country',
  'client_ip',
  'client_user_agent',
  'value',
  'currency',
  'order_id',
  'ad_storage',
  'analytics_storage',
  'ad_user_data',
  'ad_personalization',
  'consent_defaults',
  'limited_data_use',
  'historical',
  'geo_country',
  'geo_region',
  'geo_city',
  'browser',
  'browser_version',
  'os',
  'os_version',
  'device_type',
  'language',
  'screen_class',
] as const;
export type Column = (typeof COLUMNS)[number];

const pathPart = Type.String({ minLength: 1, maxLength: 200 });
const property = Type.Array(pathPart, {
  description: 'Path into the properties: ["cart", "size"] is 2 in {"cart": {"size": 2}}',
  minItems: 1,
  maxItems: 10,
});

/** What of a property that is a web address is asked about. */
const ADDRESS_PARTS = ['page', 'host', 'other_host'] as const;
export type AddressPart = (typeof ADDRESS_PARTS)[number];

/** Which events visits are made of. Set by the service, not by who asks. */
interface VisitsAmong {
  siteId: string;
  since: number;
  before: number;
}
const visitFieldShape = closed({
  visit: Type.Enum([...VISIT_VALUES], { description: 'A value of the visit that the event is of' }),
});
/** Which addresses are one page. Set by the service where the site has rules, not by who asks. */
interface OfPages {
  pages?: PageRules | undefined;
}
export type VisitField = Static<typeof visitFieldShape> & OfPages & { among?: VisitsAmong };

/** A cohort of the site, by its id. Its rule is set by the service, not by who asks. */
export interface CohortField {
  cohort: string;
  rule?: CohortRule;
}
const cohortFieldShape = closed({
  cohort: Type.String({
    description: 'A cohort of the site: broken down by it, events are `in` or `not_in`',
    pattern: ID_PATTERN.source,
  }),
});

const ownFieldShape = Type.Union([
  closed({ column: Type.Enum([...COLUMNS]) }),
  closed({
    property,
    part: Type.Optional(
      Type.Enum([...ADDRESS_PARTS], {
        description:
          'Of a web address its page, which is all before the first ? or #, and of the site’s own pages what its rules make of it; its host, in small letters and without the port; or other_host, the host where it is not that of the page of the event itself ($current_url, page_location)',
      }),
    ),
  }),
]);
/** A field of an event's own. */
export type OwnField = Static<typeof ownFieldShape> & OfPages;

const seenShape = Type.Enum(['first', 'last'], {
  description: "The first or last value that one of the person's events has",
});
/** Whose events tell a person's values: those of a site before a time, or all of them. Set by the service, not by who asks. */
interface Among {
  siteId: string;
  before: number | null;
  /** The condition holds for events since then alone: who has none since then is not looked for. */
  since: number;
}
/** A value of a person: of an event's own, or what an event says of its visit. */
export interface PersonField {
  person: OwnField | VisitField;
  seen: Static<typeof seenShape>;
  among?: Among;
}

const valueShape = Type.Union([
  ...ownFieldShape.anyOf,
  Type.Unsafe<VisitField>(visitFieldShape),
  Type.Unsafe<PersonField>(closed({ person: Type.Union([...ownFieldShape.anyOf, visitFieldShape]), seen: seenShape })),
]);
/** What events may be told apart by: a field of their own, a value of their visit or their person, or who is in a cohort. */
export const fieldShape = Type.Union([...valueShape.anyOf, Type.Unsafe<CohortField>(cohortFieldShape)]);
/** A field with a value of the sender's. */
export type ValueField = OwnField | VisitField | PersonField;
export type Field = ValueField | CohortField;

const elementsShape = closed({
  property,
  each: Type.Array(pathPart, {
    description: 'The elements of an array, each by this path into it; empty: the elements themselves',
    maxItems: 10,
  }),
});
/** The elements of an array among the properties. */
export type Elements = Static<typeof elementsShape>;

const filteredShape = Type.Union([...valueShape.anyOf, elementsShape]);

const textValue = Type.String({ maxLength: TEXT_MAX });
const anyValue = Type.Union([textValue, Type.Number(), Type.Boolean()]);

/** One condition. */
export const conditionShape = Type.Union([
  closed({
    field: filteredShape,
    is: Type.Enum(['equal', 'not_equal']),
    to: Type.Array(anyValue, {
      description: 'Any of these; of `phone_hmac` also the SHA-256 of a number in E.164, with its plus',
      minItems: 1,
      maxItems: 100,
    }),
  }),
  closed({
    field: filteredShape,
    is: Type.Enum(['containing', 'not_containing', 'starting_with', 'ending_with']),
    to: textValue,
    ignore_case: Type.Optional(
      Type.Boolean({ description: "True: both in capitals by Unicode's mapping, so that ß is SS", default: false }),
    ),
  }),
  closed({
    field: filteredShape,
    is: Type.Enum(['matching', 'not_matching']),
    to: Type.String({
      description: 'A regular expression as RE2 has them, found anywhere in the text; . is a line break too',
      minLength: 1,
      maxLength: PATTERN_MAX,
    }),
  }),
  closed({ field: filteredShape, is: Type.Enum(['above', 'at_least', 'below', 'at_most']), to: Type.Number() }),
  closed({
    field: filteredShape,
    is: Type.Enum(['before', 'at_or_before', 'after', 'at_or_after']),
    to: Type.String({ description: 'A date as 2026-03-31, 2026-03-31T08:00Z or with +02:00', maxLength: 40 }),
  }),
  closed({ field: filteredShape, is: Type.Enum(['set', 'not_set']) }),
  closed({
    field: Type.Unsafe<CohortField>(cohortFieldShape),
    is: Type.Enum(['in', 'not_in'], { description: 'Whether the person of the event is in the cohort as it is now' }),
  }),
]);
export type Condition = Static<typeof conditionShape>;

/** One that compares a value. */
export type ValueCondition = Exclude<Condition, { is: 'in' | 'not_in' }>;
/** One that asks who is in a cohort. */
export const isOnCohort = (condition: Condition): condition is Extract<Condition, { is: 'in' | 'not_in' }> =>
  condition.is === 'in' || condition.is === 'not_in';

/** A condition, or a group of which all or any hold. */
export type Filter = Condition | { all: Filter[] } | { any: Filter[] };

const filterOf = (...groups: ReturnType<typeof groupsOf>) => Type.Union([conditionShape, ...groups]);
const groupsOf = (item: typeof conditionShape | ReturnType<typeof Type.Union>) => {
  const items = Type.Array(item, { minItems: 1, maxItems: FILTERS_MAX });
  return [closed({ all: items }), closed({ any: items })];
};

/** Groups may lie in each other three deep, so that every shape is a plain one. */
export const innerFilterShape = filterOf(...groupsOf(conditionShape));
export const middleFilterShape = filterOf(...groupsOf(innerFilterShape));
export const filterShape = filterOf(...groupsOf(middleFilterShape));

export const filtersShape = Type.Unsafe<Filter[]>(
  Type.Array(filterShape, { description: 'All of these', maxItems: FILTERS_MAX }),
);

/**
 * How a date is written, in ISO 8601: `2026-03-31`, or with a time and a zone. Both JavaScript and RE2 read this pattern. Years
 * are those that ClickHouse's DateTime64 has.
 */
export const DATE_PATTERN =
  '^(?:19|2[0-2])[0-9]{2}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])(?:[T ](?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:[.][0-9]{1,9})?)?(?:Z|[+-](?:0[0-9]|1[0-4]):[0-5][0-9])?)?$';
const DATE = new RegExp(DATE_PATTERN);
const DAY_LENGTH = 10;

/** A date in milliseconds since 1970; without a zone it is UTC, without a time midnight. NaN for what is no date. */
export function dateMs(text: string): number {
  if (!DATE.test(text) || !isDay(text.slice(0, DAY_LENGTH))) return Number.NaN;
  const written = text.replace(' ', 'T');
  return Date.parse(written.length === DAY_LENGTH || /(?:Z|[+-]..:..)$/.test(written) ? written : `${written}Z`);
}

/** JavaScript takes 30 February for 2 March. */
function isDay(day: string): boolean {
  return new Date(Date.parse(day)).toISOString().startsWith(day);
}
