import { Type } from 'typebox';
import { sqlAnswerShape } from '#pipelines/query/sql_rows.ts';
import { closed, timeField } from '#services/control_api/fields.ts';
import { siteParams } from '#services/control_api/site_shapes.ts';
import { formatQuery, OTHER_FORMATS } from './answer_formats.ts';
import { type Route, refused, route } from './route.ts';
import { inSite } from './route_access.ts';

const SQL_CHARACTERS_MAX = 100_000;

/** What is asked in SQL. */
const sqlShape = closed({
  sql: Type.String({
    minLength: 1,
    maxLength: SQL_CHARACTERS_MAX,
    description:
      'One SELECT of ClickHouse, without SETTINGS, FORMAT and INTO OUTFILE, of the tables that analysts read: `events`, `sessions`, ...',
  }),
});

export const sqlRoute: Route = {
  ...route({
    method: 'POST',
    path: '/v1/query/{site_id}/sql',
    operationId: 'querySql',
    access: inSite('query.sql'),
    tag: 'Queries',
    summary: 'What an analyst asks in SQL: it sees the rows of this site, and writes nothing',
    params: siteParams,
    query: formatQuery,
    body: sqlShape,
    ifMatch: 'none',
    success: {
      status: 200,
      schema: Type.Object({ ...sqlAnswerShape.properties, as_of: timeField('When ClickHouse was asked') }),
      description: 'The rows',
      otherwise: OTHER_FORMATS,
    },
    errors: [
      'site_unknown',
      'sql_refused',
      'query_too_heavy',
      'query_busy',
      'query_cancelled',
      'sql_not_set_up',
      'query_unavailable',
    ],
    run: () => refused('not_found'),
  }),
  ask(input, { view }) {
    const { site_id: siteId } = input.params as { site_id: string };
    if (view.table.site(siteId) === undefined) return refused('site_unknown');
    return { kind: 'sql', siteId, sql: (input.body as { sql: string }).sql };
  },
};
