import { type Static, Type } from 'typebox';
import { closed, idField, nullable, refusedAs, timeField } from './fields.ts';
import { userIdField } from './session_shapes.ts';

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
  password: Type.String({ description: 'Shown this once; ClickHouse keeps its SHA-256, and nobody the password' }),
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
