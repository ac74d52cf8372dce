import { Type } from 'typebox';
import { type Problem, problem } from '#pipelines/settings/problem.ts';
import { closed, timeField } from '#services/control_api/fields.ts';
import { savedParams } from '#services/control_api/saved_shapes.ts';
import { actorQueryRoutes } from './actor_queries.ts';
import { formatQuery, OTHER_FORMATS } from './answer_formats.ts';
import { queryRoutes } from './query.ts';
import { type Question, type Route, refused, route, type World } from './route.ts';
import { inSite, type Needs } from './route_access.ts';
import { schemaProblems } from './schema_problems.ts';
import { sqlRoute } from './sql_route.ts';

interface Saved {
  query: string;
  question: Record<string, unknown>;
}

/** What a saved question may ask, by the last part of its path. */
const ASKED = new Map(
  [...queryRoutes, ...actorQueryRoutes, sqlRoute].map((one) => [one.path.slice(one.path.lastIndexOf('/') + 1), one]),
);

/** What of a saved question could not be asked. */
export function questionProblems(siteId: string, saved: Saved, world: World): Problem[] {
  const question = questionOf(siteId, saved, world);
  if (question.kind !== 'refused') return [];
  const { problems } = question;
  return problems.map((one) => ({ ...one, field: one.field === 'query' ? one.field : `question.${one.field}` }));
}

function questionOf(siteId: string, { query, question }: Saved, world: World): Question {
  const asked = ASKED.get(query);
  if (asked?.ask === undefined || asked.body === null) {
    return invalid([problem('not_there', 'query', `is none of: ${[...ASKED.keys()].join(', ')}`)]);
  }
  const problems = schemaProblems(asked.body, question);
  if (problems.length > 0) return invalid(problems);
  return asked.ask({ params: { site_id: siteId }, query: {}, body: question, ifMatch: null }, world);
}

const invalid = (problems: Problem[]): Question => refused('settings_invalid', problems);

interface Times {
  from?: number;
  to?: number;
}

/** The times that are asked for, where a question of that kind has such. */
function timesFor(query: string, { from, to }: Times): Times {
  const fields = (ASKED.get(query)?.body as { properties?: object } | null | undefined)?.properties ?? {};
  if (!('from' in fields)) return {};
  return { ...(from !== undefined && { from }), ...(to !== undefined && { to }) };
}

/** What asking a saved question needs: what asking it itself does. */
const ofQuestion: Needs = {
  ...inSite('query.aggregates'),
  others: ['query.events', 'query.persons', 'query.sql'],
  choose(input, view) {
    const { site_id: siteId, id } = input.params as { site_id: string; id: string };
    const item = view.table.savedItems(siteId).find((one) => one.kind === 'question' && one.id === id);
    const { query, question: body }: Partial<Saved> = item === undefined ? {} : JSON.parse(item.definition);
    const access = query === undefined ? undefined : ASKED.get(query)?.access;
    if (access === undefined || typeof access === 'string') return 'query.aggregates';
    return access.choose?.({ ...input, body }, view) ?? access.permission;
  },
};

/** Asks a saved question. */
export const savedAnswerRoute: Route = {
  ...route({
    method: 'GET',
    path: '/v1/query/{site_id}/questions/{id}',
    operationId: 'answerQuestion',
    access: ofQuestion,
    tag: 'Queries',
    summary: 'The answer to a saved question, as it is now, or of another time',
    params: savedParams,
    query: closed({
      ...formatQuery.properties,
      from: Type.Optional(timeField('In the place of the saved `from`; a question in SQL has times of its own')),
      to: Type.Optional(timeField('In the place of the saved `to`; a question in SQL has times of its own')),
    }),
    body: null,
    ifMatch: 'none',
    success: {
      status: 200,
      schema: Type.Object({ as_of: timeField('When ClickHouse was asked') }, { additionalProperties: true }),
      description: 'What the path of its `query` answers',
      otherwise: OTHER_FORMATS,
    },
    errors: [
      'site_unknown',
      'question_unknown',
      'query_pattern_invalid',
      'sql_refused',
      'query_too_heavy',
      'query_busy',
      'query_cancelled',
      'sql_not_set_up',
      'query_unavailable',
    ],
    run: () => refused('not_found'),
  }),
  ask({ params, query }, world) {
    const { site_id: siteId, id } = params as { site_id: string; id: string };
    const { table } = world.view;
    if (table.site(siteId) === undefined) return refused('site_unknown');
    const item = table.savedItems(siteId).find((one) => one.kind === 'question' && one.id === id);
    if (item === undefined) return refused('question_unknown');
    const saved = JSON.parse(item.definition) as Saved;
    return questionOf(
      siteId,
      { ...saved, question: { ...saved.question, ...timesFor(saved.query, query as Times) } },
      world,
    );
  },
};
