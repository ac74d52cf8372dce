import { type Static, type TObject, type TSchema, type TUnion, Type } from 'typebox';
import type { Statement } from '#infra/clickhouse/queries/statement.ts';
import type { Span } from '#infra/clickhouse/row_estimates.ts';
import { filterProblems } from '#pipelines/query/check_filters.ts';
import { withEveryName } from '#pipelines/query/event_names.ts';
import { keptMs } from '#pipelines/query/freshness.ts';
import { withPersonsOf } from '#pipelines/query/person_fields.ts';
import { namesPersons } from '#pipelines/query/personal_fields.ts';
import { withPhoneHmacs } from '#pipelines/query/phone_filters.ts';
import { askedSince, timeRead } from '#pipelines/query/time_read.ts';
import type { Permission } from '#pipelines/settings/access.ts';
import type { Problem } from '#pipelines/settings/problem.ts';
import { closed, idField, timeField } from '#services/control_api/fields.ts';
import { formatQuery, OTHER_FORMATS } from './answer_formats.ts';
import { type Question, type Route, refused, type World } from './route.ts';
import { inSite, type Needs } from './route_access.ts';
import type { Input } from './route_input.ts';

/** Of fewer a value may tell who they are. */
const LEAST_PERSONS = 5;

const siteParams = closed({ site_id: idField('The site') });

interface QuerySpec<Query extends TObject | TUnion, Plan, Row> {
  name: string;
  operationId: string;
  /** Without it, that for figures of many. */
  permission?: 'query.events' | 'query.persons';
  summary: string;
  shape: Query;
  answerShape: TObject;
  problems(query: Static<Query>): Problem[];
  plan(query: Static<Query>, nowMs: number): Plan;
  /** @param leastPersons Persons that a value has at the least to be told. */
  statement(siteId: string, plan: Plan, leastPersons: number): Statement;
  answer(query: Static<Query>, rows: readonly Row[], leastPersons: number): object;
  keptMs(query: Static<Query>, nowMs: number): number;
  /** Whether values that few persons have are left to those who may see persons. */
  hidesFew?: true;
  /** Whether the answer lists persons or their events. */
  listsPersons?: true;
  /** The time whose events are read, where that is not what `timeRead` makes of the query. */
  reads?(query: Static<Query>): Span | null;
}

/** Figures or events of many; of one person where the question names what singles one out. */
const ofPersons = (permission: Permission): Needs => ({
  ...inSite(permission),
  ...(permission === 'query.persons' ? {} : { others: ['query.persons'] }),
  choose: ({ body }) => (namesPersons(body) ? 'query.persons' : permission),
});

/** A route that asks ClickHouse about the events of one site. */
export function queryRoute<Query extends TObject | TUnion, Plan, Row>(spec: QuerySpec<Query, Plan, Row>): Route {
  return {
    method: 'POST',
    path: `/v1/query/{site_id}/${spec.name}`,
    operationId: spec.operationId,
    access: ofPersons(spec.permission ?? 'query.aggregates'),
    tag: 'Queries',
    summary: spec.summary,
    params: siteParams,
    query: formatQuery,
    body: spec.shape,
    ifMatch: 'none',
    success: { status: 200, schema: answered(spec.answerShape), description: 'The answer', otherwise: OTHER_FORMATS },
    errors: [
      'site_unknown',
      'query_pattern_invalid',
      'query_too_heavy',
      'query_busy',
      'query_cancelled',
      'query_unavailable',
    ],
    run: () => refused('not_found'),
    ask: (input, world) => ask(spec, input, world),
  };
}

function ask<Query extends TObject | TUnion, Plan, Row>(
  spec: QuerySpec<Query, Plan, Row>,
  input: Input,
  world: World,
): Question {
  const { site_id: siteId } = input.params as Static<typeof siteParams>;
  if (world.view.table.site(siteId) === undefined) return refused('site_unknown');
  const query = withPhoneHmacs(input.body as Static<Query>, (sha256) => world.phoneHmacs(siteId, sha256));
  const problems = [...filterProblems(query), ...spec.problems(query)];
  if (problems.length > 0) return refused('settings_invalid', problems);
  const isCut = spec.hidesFew === true && !world.may('query.persons', { site: siteId });
  const leastPersons = isCut ? LEAST_PERSONS : 1;
  const since = spec.reads === undefined ? askedSince(query as object) : (spec.reads(query)?.from ?? 0);
  return {
    kind: 'ask',
    siteId,
    about: spec.name,
    isShared: spec.listsPersons !== true,
    ofPersons: spec.permission !== undefined || namesPersons(query) || (spec.hidesFew === true && !isCut),
    reads: spec.reads === undefined ? timeRead(query as object) : spec.reads(query),
    asked: { ...(query as object), fresh: undefined, ...(isCut ? { leastPersons } : {}) },
    statement: spec.statement(
      siteId,
      spec.plan(withPersonsOf(withEveryName(query), siteId, since), world.nowMs),
      leastPersons,
    ),
    keptMs: spec.keptMs(query, world.nowMs),
    answer: (rows) => spec.answer(query, rows as Row[], leastPersons),
  };
}

function answered(shape: TObject): TSchema {
  return Type.Object({ ...shape.properties, as_of: timeField('When ClickHouse was asked') });
}

interface Ranged {
  to: number;
  fresh?: boolean;
}

/** How long an answer about a time may be kept. */
export const byRange = ({ to, fresh }: Ranged, nowMs: number): number => (fresh === true ? 0 : keptMs(to, nowMs));
