// Schemas of saved questions and boards, of analysts who write SQL, and of rates of currencies.

import { type Static, Type } from 'typebox';
import { currencyCode } from '#pipelines/analytics/revenue/query.ts';
import { RATES_MAX } from '#pipelines/analytics/revenue/rates.ts';
import { ID_PATTERN } from '#pipelines/settings/problems.ts';
import {
  closed,
  countField,
  idField,
  labelField,
  type Meta,
  metaFields,
  nameField,
  nullable,
  refusedAs,
  timeField,
} from './fields.ts';
import { userIdField } from './users.ts';

const BOARD_QUESTIONS_MAX = 50;

const owner = labelField('Whose it is: the label of an admin token');
const revision = Type.Integer({ minimum: 1, description: 'Counts what it said so far' });

const questionFields = {
  id: idField('Its id'),
  name: nameField('What people call it'),
  query: Type.String({
    pattern: '^[a-z]{1,32}$',
    description: 'Kind of query: the last part of a path of `/v1/query`',
  }),
  question: Type.Record(Type.String(), Type.Unknown(), { description: 'The body that is sent there' }),
};

const boardFields = {
  id: idField('Its id'),
  name: nameField('What people call it'),
  questions: Type.Array(Type.String({ pattern: ID_PATTERN.source, ...refusedAs('id_malformed') }), {
    maxItems: BOARD_QUESTIONS_MAX,
    description: 'Ids of saved questions, in their order',
  }),
};

/** A saved item as it is written. Without an owner it is of whoever makes it, and stays with whom it is. */
export const savedInputs = {
  question: closed({ ...questionFields, owner: Type.Optional(owner) }),
  board: closed({ ...boardFields, owner: Type.Optional(owner) }),
} as const;

export const savedShapes = {
  question: Type.Object({ ...questionFields, owner, revision, ...metaFields }),
  board: Type.Object({ ...boardFields, owner, revision, ...metaFields }),
} as const;

/** What the command line reads of either kind. */
export type SavedView = Meta & { id: string; name: string; owner: string; revision: number };

export const savedParams = closed({ site_id: idField('The site it belongs to'), id: idField('Its id') });

export const SHARE_DAYS = 30;
const SHARE_DAYS_MAX = 365;

const sharedKind = Type.Enum(['question', 'board'], { description: 'What it shows' });

const shareFields = {
  kind: sharedKind,
  item_id: idField('Id of the board or the saved question'),
  name: nameField('What the link is for; whoever opens it does not see it'),
  last_days: nullable(Type.Integer({ minimum: 1, maximum: 400 }), {
    description:
      'Days up to now that it shows, in the zone of the site; null: the time that each question was saved with',
  }),
  may_embed: Type.Boolean({ description: "Whether pages of the site's `embed_origins` may have it in a frame" }),
};

export const shareShape = Type.Object({
  link_id: Type.String({ description: 'Stands in its address; opens nothing by itself' }),
  ...shareFields,
  created_at: timeField('When it was made'),
  created_by: Type.String({ description: 'Who made it' }),
  expires_at: timeField('When it ends'),
  revoked_at: nullable(timeField('When it was revoked, or what it shows was removed')),
  state: Type.Enum(['active', 'expired', 'revoked']),
  opened: nullable(countField('How often it was opened'), { description: 'Null: that is not known now' }),
  last_opened_at: nullable(timeField('When it was last opened'), { description: 'Null: never, or that is not known' }),
  ...metaFields,
});
export type ShareItem = Static<typeof shareShape>;

export const newShare = closed({
  kind: sharedKind,
  item_id: shareFields.item_id,
  name: shareFields.name,
  last_days: Type.Optional(shareFields.last_days),
  may_embed: Type.Optional(shareFields.may_embed),
  days: Type.Optional(
    Type.Integer({
      description: 'After how many days it ends',
      minimum: 1,
      maximum: SHARE_DAYS_MAX,
      default: SHARE_DAYS,
      ...refusedAs('days_malformed'),
    }),
  ),
});

export const madeShareShape = Type.Object({
  path: Type.String({ description: 'Of its page, with the secret in the fragment; shown once' }),
  share: shareShape,
});
export type MadeShare = Static<typeof madeShareShape>;

export const shareParams = closed({
  site_id: idField('The site it belongs to'),
  link_id: Type.String({ description: 'The link', maxLength: 64 }),
});

/** What a shared page has, whatever was sent for it: what is no link is answered as one that has ended. */
const linkId = Type.String({ description: 'The link, as its address has it' });
export const sharedParams = closed({ link_id: linkId });
export const sharedQuestionParams = closed({ link_id: linkId, id: Type.String({ description: 'A question of it' }) });

export const sharedShape = Type.Object({
  name: Type.String({ description: 'Of the board or the question' }),
  site_name: Type.String(),
  time_zone: Type.String(),
  week_start: Type.String(),
  last_days: shareFields.last_days,
  questions: Type.Array(
    Type.Object({
      id: questionFields.id,
      name: questionFields.name,
      query: questionFields.query,
      question: Type.Record(Type.String(), Type.Unknown(), {
        description: 'What is asked, with the time of now; not compared where the two times would overlap',
      }),
    }),
  ),
  left_out: countField('Questions of the board that no link shows, as they are about single persons or in SQL'),
});
export type SharedView = Static<typeof sharedShape>;

export const sharedAnswerShape = Type.Object(
  { as_of: timeField('When ClickHouse was queried') },
  { additionalProperties: true },
);

const analystId = Type.String({
  description: 'The analyst: up to 32 of a-z, 0-9 and -',
  pattern: '^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$',
  ...refusedAs('id_malformed'),
});
const siteIds = (options: { minItems: number }) =>
  Type.Array(idField('A site'), { description: 'Sites that it reads', maxItems: 100, ...options });

export const analystShape = Type.Object({
  analyst_id: analystId,
  clickhouse_user: Type.String({ description: 'What it logs in to ClickHouse as; its database has the same name' }),
  site_ids: siteIds({ minItems: 0 }),
  created_at: nullable(timeField('When it was made'), { description: 'Null: ClickHouse does not say' }),
  expires_at: nullable(timeField('When its logins end'), { description: 'Null: never, or ClickHouse does not say' }),
  created_by: Type.String({ description: 'Who made it' }),
  made_by: nullable(userIdField, {
    description: 'The user who made it, by themselves or by a token of theirs; null: no user, or it is not known',
  }),
});
export type AnalystItem = Static<typeof analystShape>;

export const analystsShape = Type.Object({ items: Type.Array(analystShape, { description: 'By their ids' }) });
export type AnalystsAnswer = Static<typeof analystsShape>;

export const madeAnalystShape = Type.Object({
  password: Type.String({ description: 'Shown once; only its SHA-256 is stored, by ClickHouse' }),
  analyst: analystShape,
});
export type MadeAnalyst = Static<typeof madeAnalystShape>;

export const analystParams = closed({ analyst_id: analystId });
export const newAnalyst = closed({
  analyst_id: analystId,
  site_ids: siteIds({ minItems: 1 }),
  expires_at: Type.Optional(
    nullable(
      timeField('When its logins end, to the second; null: never. Left out: in 90 days'),
      refusedAs('expiry_malformed'),
    ),
  ),
});

const currency = (description: string) => Type.Unsafe<string>({ ...currencyCode, description });
const day = (description: string) => Type.String({ description, maxLength: 10 });

export const ratesInput = closed({
  base: currency('The currency that the rates are against'),
  rates: Type.Array(
    closed({
      day: day('As 2026-10-01'),
      currency: currency('The other currency'),
      rate: Type.Number({ description: 'How much of it one of the base is' }),
    }),
    { minItems: 1, maxItems: RATES_MAX, description: 'They replace those of the same currencies and days' },
  ),
});
export type RatesInput = Static<typeof ratesInput>;

export const ratesShape = Type.Object({
  base: nullable(Type.String(), { description: 'What all rates are against; null: none are loaded' }),
  currencies: Type.Array(
    Type.Object({
      currency: Type.String(),
      first: day('The first day that there is a rate of'),
      last: day('The last one'),
      days: countField('Of how many days there are rates'),
    }),
    { description: 'The base is among them' },
  ),
});
export type RatesItem = Static<typeof ratesShape>;
