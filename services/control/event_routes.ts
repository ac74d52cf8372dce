import { type Static, Type } from 'typebox';
import {
  attemptsStatement,
  duplicatesStatement,
  identifiedStatement,
  linksStatement,
  storedEventStatement,
} from '#infra/clickhouse/queries/event_trace_statements.ts';
import type { Statement } from '#infra/clickhouse/queries/statement.ts';
import type { ShownLetter } from '#infra/dead_letters/dead_letter_store.ts';
import { sentId } from '#pipelines/intake/event_id.ts';
import type { AttemptRow, TracedDestination } from '#pipelines/query/delivery_trace.ts';
import {
  type DuplicateRow,
  eventTrace,
  type IdentifiedRow,
  type LinkRow,
  personsOf,
  type StoredEventRow,
  type TracedKey,
  type TracedLetter,
} from '#pipelines/query/event_trace.ts';
import { eventTraceShape } from '#pipelines/query/event_trace_shapes.ts';
import { keyIdOf } from '#pipelines/settings/keys.ts';
import { closed, idField, nothing, timeField } from '#services/control_api/fields.ts';
import type { ControlErrorCode } from './errors.ts';
import { EVENT_TRACE_EXAMPLE } from './event_trace_example.ts';
import { done, type GatheredAnswer, type Route, refused, route, type Sources, type World } from './route.ts';
import { inSite } from './route_access.ts';
import type { Input } from './route_input.ts';

const EVENT_ID_CHARACTERS_MAX = 200;
/** Equal questions of one second share an answer. */
const KEPT_MS = 1_000;

const params = closed({
  site_id: idField('The site'),
  event_id: Type.String({
    description: 'The event, by the id that its row has: the UUID it was sent with, or the one that was made for it',
    minLength: 1,
    maxLength: EVENT_ID_CHARACTERS_MAX,
  }),
});

export const eventTraceRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/v1/query/{site_id}/events/{event_id}',
    operationId: 'getEvent',
    access: inSite('query.events'),
    tag: 'Queries',
    summary:
      'What became of one event: when it was accepted, its row, its person and why, and each attempt to deliver it',
    params,
    query: nothing,
    body: null,
    ifMatch: 'none',
    success: {
      status: 200,
      schema: Type.Object(
        { ...eventTraceShape.properties, as_of: timeField('When ClickHouse was asked') },
        { examples: [EVENT_TRACE_EXAMPLE] },
      ),
      description: 'What is known of it',
    },
    errors: [
      'site_unknown',
      'event_unknown',
      'query_too_heavy',
      'query_busy',
      'query_cancelled',
      'query_unavailable',
      'dead_letters_unavailable',
    ],
    run: () => done([], () => ({ body: {} })),
    gather: traceEvent,
  }),
];

/** Ends a trace that a source did not answer. */
class SourceRefusal extends Error {
  readonly code: ControlErrorCode;

  constructor(code: ControlErrorCode) {
    super(code);
    this.code = code;
  }
}

async function traceEvent(input: Input, sources: Sources, world: World): Promise<GatheredAnswer> {
  const { site_id: siteId, event_id: sent } = input.params as Static<typeof params>;
  if (world.view.table.site(siteId) === undefined) return refused('site_unknown');
  try {
    const trace = await gatherTrace(siteId, sentId(sent), sources, world);
    if (trace === null) return refused('event_unknown');
    sources.wasRead(siteId, 'event', 1);
    return { kind: 'answered', body: { ...trace, as_of: world.nowMs } };
  } catch (error) {
    if (error instanceof SourceRefusal) return refused(error.code);
    throw error;
  }
}

async function gatherTrace(siteId: string, eventId: string, sources: Sources, world: World) {
  const { letters } = sources;
  const ask = async <Row>(statement: Statement): Promise<Row[]> => {
    const answered = await askRows<Row>(siteId, sources, statement);
    if (typeof answered === 'string') throw new SourceRefusal(answered);
    return answered;
  };
  const [rows, attempts, duplicates] = await Promise.all([
    ask<StoredEventRow>(storedEventStatement(siteId, eventId)),
    ask<AttemptRow>(attemptsStatement(siteId, eventId)),
    ask<DuplicateRow>(duplicatesStatement(siteId, eventId)),
  ]);
  const [first] = rows;
  const found = { siteId, eventId, rows, attempts, duplicates, ...settingsOf(siteId, world) };
  if (first === undefined) {
    const dead = await letters.ofEvent(siteId, eventId);
    return eventTrace({ ...found, links: [], identified: null, letters: dead.map(letterOf) });
  }
  const [links, identified] = await Promise.all([
    ask<LinkRow>(linksStatement(siteId, personsOf(siteId, first))),
    askRows<IdentifiedRow>(siteId, sources, identifiedStatement(siteId, first.distinct_id)),
  ]);
  if (identified === 'query_unavailable') throw new SourceRefusal(identified);
  return eventTrace({ ...found, links, letters: null, identified: typeof identified === 'string' ? null : identified });
}

/** Rows, or the code by which the statement was refused. */
async function askRows<Row>(
  siteId: string,
  { queries, asker }: Sources,
  statement: Statement,
): Promise<Row[] | ControlErrorCode> {
  const about = { siteId, about: 'event', asked: { rows_of: 'event' }, reads: null, isShared: false };
  const answered = await queries.answer(
    { kind: 'ask', ...about, statement, keptMs: KEPT_MS, answer: (rows) => ({ rows }) },
    asker,
  );
  return answered.ok ? (answered.body as { rows: Row[] }).rows : answered.code;
}

function settingsOf(siteId: string, world: World) {
  return { destinations: destinationsOf(siteId, world), keys: keysOf(siteId, world) };
}

function destinationsOf(siteId: string, { view }: World): TracedDestination[] {
  return view.table
    .destinations()
    .filter(({ site_id }) => site_id === siteId)
    .map(({ name, enabled, created_at }) => ({ name, enabled, createdAtMs: created_at ?? null }));
}

function keysOf(siteId: string, { view }: World): TracedKey[] {
  return [...view.table.keysOfSite(siteId).values()].map(({ key_hash, shown_prefix, label }) => ({
    keyId: keyIdOf(key_hash),
    shownPrefix: shown_prefix,
    label,
  }));
}

function letterOf({ id, letter, resentAtMs }: ShownLetter): TracedLetter {
  const { stage, reason, died_at } = letter;
  return { id, stage, reason, died_at, resent_at: resentAtMs };
}
