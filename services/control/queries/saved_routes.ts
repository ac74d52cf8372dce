// Saved questions and boards, and the answer to a saved question.

import { type Static, Type } from 'typebox';
import { withPhoneHmacs } from '#pipelines/analytics/query_rewrites.ts';
import { type TrendsQuery, withoutOverlap } from '#pipelines/analytics/trends/query.ts';
import { trends } from '#pipelines/analytics/trends/sql.ts';
import { holdsPersonalText } from '#pipelines/privacy/redact_text.ts';
import type { Permission } from '#pipelines/settings/access.ts';
import type { SettingsView } from '#pipelines/settings/journal.ts';
import { type Problem, problem, unless } from '#pipelines/settings/problems.ts';
import { endedShares } from '#pipelines/settings/share_links.ts';
import { savedKey } from '#pipelines/settings/table.ts';
import type { SavedItem, SavedKind } from '#schemas/setting.ts';
import { closed, timeField } from '#services/control_api/fields.ts';
import { savedInputs, savedParams, savedShapes } from '#services/control_api/queries.ts';
import { metaOf } from '../changes.ts';
import { definitionRoutes } from '../definition_routes.ts';
import {
  inSite,
  type Needs,
  type PreparedQuery,
  type RequestContext,
  type Route,
  refused,
  refusedFor,
  resource,
  route,
  schemaProblems,
} from '../route.ts';
import { formatQuery, OTHER_FORMATS } from './formats.ts';
import { queryRoutes } from './routes.ts';

type Definition = Static<(typeof savedInputs)[SavedKind]>;

/** Every process reads the settings at its start. */
const DEFINITION_CHARACTERS_MAX = 32_768;
/** Of all questions and boards of a site together. */
const SITE_CHARACTERS_MAX = 256 * 1024;

export const itemsOf = (view: SettingsView, siteId: string, kind: SavedKind): SavedItem[] =>
  view.table.savedItems(siteId).filter((item) => item.kind === kind);

const isOnBoard = (view: SettingsView, siteId: string, id: string): boolean =>
  itemsOf(view, siteId, 'board').some(({ definition }) => JSON.parse(definition).questions.includes(id));

const invalid = (problems: Problem[]): PreparedQuery => refused('settings_invalid', problems);

/** What a saved question may ask, by the last part of its path. */
const ROUTE_OF_KIND = new Map(queryRoutes.map((one) => [one.path.slice(one.path.lastIndexOf('/') + 1), one]));

const KINDS = {
  question: {
    ...{ path: 'questions', max: 500 },
    codes: { unknown: 'question_unknown', exists: 'question_exists', kept: 'question_on_board' },
  },
  board: { path: 'boards', max: 100, codes: { unknown: 'board_unknown', exists: 'board_exists' } },
} as const;

export const savedRoutes: Route[] = (['question', 'board'] as const).flatMap((kind) =>
  definitionRoutes<SavedItem>({
    ...KINDS[kind],
    tag: 'Saved questions and boards',
    kind,
    called: `saved ${kind}`,
    says: { create: `Save a ${kind}`, created: `The ${kind}`, remove: `Remove a saved ${kind}` },
    permissions: { read: 'query.aggregates', change: 'saved.change' },
    input: savedInputs[kind],
    shape: savedShapes[kind],
    itemsOf: (view, siteId) => itemsOf(view, siteId, kind),
    keyOf: (siteId, id) => savedKey(siteId, kind, id),
    viewOf(view, { site_id, id, version, owner, definition }) {
      const fields = JSON.parse(definition) as Definition;
      return { ...fields, owner, revision: version, ...metaOf(view, savedKey(site_id, kind, id)) };
    },
    read(body) {
      const { owner: _owner, ...definition } = body as Definition;
      return { ok: true, definition };
    },
    write(stored, body, before, world) {
      const { owner = before?.owner ?? world.principal.actor } = body as Definition;
      const item = { ...stored, kind, owner };
      const refusal = refusedFor(itemProblems(world, item));
      if (refusal !== null) return refusal;
      // Settings are kept for long: no bare hash of a phone number is among them.
      const keyed = withPhoneHmacs(JSON.parse(item.definition), (sha256) => world.phoneHmacs(item.site_id, sha256));
      return { body: { saved: { ...item, definition: JSON.stringify(keyed) } } };
    },
    alsoEnded: ({ table }, siteId, id, nowMs) => endedShares(table, siteId, { kind, id }, nowMs),
    isKept: isOnBoard,
  }),
);

function itemProblems(world: RequestContext, item: SavedItem): Problem[] {
  const { site_id, kind, definition } = item;
  return [
    ...unless(definition.length <= DEFINITION_CHARACTERS_MAX, 'too_large', kind, 'is more than 32 KiB of JSON'),
    ...unless(
      charactersBeside(world.view, item) + definition.length <= SITE_CHARACTERS_MAX,
      'too_large',
      kind,
      'would make the questions and boards of the site more than 256 KiB of JSON together',
    ),
    ...unless(
      !textsIn(JSON.parse(definition)).some((text) => holdsPersonalText(text)),
      'personal_text',
      kind,
      'holds an e-mail address or a phone number',
    ),
    ...(kind === 'question'
      ? questionProblems(site_id, JSON.parse(definition), world)
      : boardProblems(world.view, site_id, JSON.parse(definition).questions)),
  ];
}

/** Characters of what the site has saved beside an item. */
function charactersBeside(view: SettingsView, { site_id, kind, id }: SavedItem): number {
  const others = view.table.savedItems(site_id).filter((other) => other.kind !== kind || other.id !== id);
  return others.reduce((total, { definition }) => total + definition.length, 0);
}

/** Every text of a JSON value, names of members too. */
function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => [name, ...textsIn(inner)]);
}

function boardProblems(view: SettingsView, siteId: string, questions: readonly string[]): Problem[] {
  const known = new Set(itemsOf(view, siteId, 'question').map(({ id }) => id));
  return [
    ...unless(new Set(questions).size === questions.length, 'repeated', 'questions', 'one of them is there twice'),
    ...unless(
      questions.every((id) => known.has(id)),
      'not_there',
      'questions',
      'one of them is no saved question of the site',
    ),
  ];
}

export interface Saved {
  query: string;
  question: Record<string, unknown>;
}

/** What of a saved question could not be asked. */
function questionProblems(siteId: string, saved: Saved, world: RequestContext): Problem[] {
  const question = questionOf(siteId, saved, world);
  if (question.kind !== 'refused') return [];
  const { problems } = question;
  return problems.map((one) => ({ ...one, field: one.field === 'query' ? one.field : `question.${one.field}` }));
}

/** What a saved question asks, or why it cannot. */
export function questionOf(siteId: string, { query, question }: Saved, world: RequestContext): PreparedQuery {
  const target = ROUTE_OF_KIND.get(query);
  if (target?.prepare === undefined || target.body === null) {
    return invalid([problem('not_there', 'query', `is none of: ${[...ROUTE_OF_KIND.keys()].join(', ')}`)]);
  }
  const problems = schemaProblems(target.body, question);
  if (problems.length > 0) return invalid(problems);
  return target.prepare({ params: { site_id: siteId }, query: {}, body: question, ifMatch: null }, world);
}

/** A saved question of the time that it is asked of: where that overlaps what it is compared with, it is not compared. */
export function comparable({ query, question }: Saved): Saved {
  const isTrends = query === trends.kind && schemaProblems(trends.schema, question).length === 0;
  return { query, question: isTrends ? withoutOverlap(question as unknown as TrendsQuery) : question };
}

interface Times {
  from?: number;
  to?: number;
}

/** The times that are asked for, where a question of that kind has such. */
export function timesFor(query: string, { from, to }: Times): Times {
  const fields = (ROUTE_OF_KIND.get(query)?.body as { properties?: object } | null | undefined)?.properties ?? {};
  if (!('from' in fields)) return {};
  return { ...(from !== undefined && { from }), ...(to !== undefined && { to }) };
}

/** What asking a saved question needs: what asking it itself does. */
const ofQuestion: Needs = {
  ...inSite('query.aggregates'),
  others: ['query.events', 'query.persons', 'query.sql'],
  choose(input, view) {
    const { site_id: siteId, id } = input.params as { site_id: string; id: string };
    const item = itemsOf(view, siteId, 'question').find((one) => one.id === id);
    return item === undefined ? 'query.aggregates' : permissionFor(siteId, JSON.parse(item.definition), view);
  },
};

/** What asking a question takes, which may name what singles people out. */
export function permissionFor(siteId: string, { query, question: body }: Saved, view: SettingsView): Permission {
  const access = ROUTE_OF_KIND.get(query)?.access;
  if (access === undefined || typeof access === 'string') return 'query.aggregates';
  const input = { params: { site_id: siteId }, query: {}, body, ifMatch: null };
  return access.choose?.(input, view) ?? access.permission;
}

/** Asks a saved question. */
export const savedAnswerRoutes = resource('Queries', [
  route('GET', '/v1/query/{site_id}/questions/{id}', 'answerQuestion', {
    access: ofQuestion,
    summary:
      'The answer to a saved question, as it is now, or of another time; not compared where the two would overlap',
    params: savedParams,
    query: closed({
      ...formatQuery.properties,
      from: Type.Optional(timeField('In the place of the saved `from`; a question in SQL has times of its own')),
      to: Type.Optional(timeField('In the place of the saved `to`; a question in SQL has times of its own')),
    }),
    success: {
      status: 200,
      schema: Type.Object({ as_of: timeField('When ClickHouse was queried') }, { additionalProperties: true }),
      description: 'What the path of its `query` answers',
      otherwise: OTHER_FORMATS,
    },
    errors: [
      'site_unknown',
      'question_unknown',
      'cohort_unknown',
      'query_pattern_invalid',
      'sql_refused',
      'sql_not_set_up',
    ],
    prepare({ params: { site_id: siteId, id }, query }, world) {
      const { table } = world.view;
      if (table.site(siteId) === undefined) return refused('site_unknown');
      const item = table.savedItems(siteId).find((one) => one.kind === 'question' && one.id === id);
      if (item === undefined) return refused('question_unknown');
      const saved = JSON.parse(item.definition) as Saved;
      const question = { ...saved.question, ...timesFor(saved.query, query) };
      return questionOf(siteId, comparable({ ...saved, question }), world);
    },
  }),
]);
