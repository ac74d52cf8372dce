import { type Static, Type } from 'typebox';
import { closed, idField, nullable, refusedAs, timeField } from './fields.ts';

const queryId = Type.String({
  description: 'The query',
  pattern: '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$',
  ...refusedAs('id_malformed'),
});

export const runningQueryShape = Type.Object({
  id: queryId,
  site_id: nullable(idField('The site that it is about'), { description: 'Null: all sites' }),
  kind: Type.String({ description: 'The last part of its path: `funnel`, `sql`, ...' }),
  asked_by: Type.String({ description: 'Label of who asked' }),
  running_ms: Type.Integer({ description: 'For how long ClickHouse has been at work on it', minimum: 0 }),
  rows_read: Type.Integer({ description: 'Rows read by now, of all servers', minimum: 0 }),
  memory_bytes: Type.Integer({ description: 'Memory that it has now, of all servers', minimum: 0 }),
});
export type RunningQueryItem = Static<typeof runningQueryShape>;

export const runningQueriesShape = Type.Object({
  items: Type.Array(runningQueryShape, { description: 'The longest first' }),
  as_of: timeField('When ClickHouse was asked'),
});
export type RunningQueriesAnswer = Static<typeof runningQueriesShape>;

export const runningQueryParams = closed({ id: queryId });
