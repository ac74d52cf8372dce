import type { ActorsPlan, ListedPart } from '#pipelines/query/actor_lists.ts';
import { FIRST_ROW } from './conditions.ts';
import { SPILLED } from './first_rows.ts';
import { askedSpan, spanBefore, type TimeSpan } from './interval_starts.ts';
import { barActorsSql, cohortActorsSql, funnelActorsSql } from './listed_actors.ts';
import { MARK } from './packed_events.ts';
import { pathActorsSql } from './path_actors.ts';
import { type Binder, createBinder, type Statement } from './statement.ts';

/**
 * The statement of who is in a part of a chart, a page of them. Rows: ActorRow, one more than the page has.
 *
 * Actors are in the order of their digests, which no event changes, so that a page begins where the one before ended
 * whatever arrives between them. Only of those on the page the event is looked up that they are there by.
 */
export function actorsStatement(siteId: string, { part, limit, after }: ActorsPlan): Statement {
  const binder = createBinder();
  const behind =
    after === null
      ? ''
      : `WHERE (actor, part) > (${binder.bind(after.actor, 'UInt64')}, ${binder.bind(after.part, 'UInt64')})`;
  const page = `SELECT * FROM (SELECT actor, part, at, mark, count() OVER () AS total FROM (${listedSql(siteId, part, binder)}))
${behind} ORDER BY actor, part LIMIT ${limit + 1}`;
  const entry = 'tuple(person_id, event_id, toString(event), distinct_id, happened)';
  return binder.statement(`SELECT toString(listed.actor) AS actor, toString(listed.part) AS part, any(listed.total) AS total,
  argMin(${entry}, ${FIRST_ROW}) AS entry
FROM (${eventsSql(siteId, spanOf(part, binder), binder)}) AS stored INNER JOIN (${page}) AS listed
  ON stored.of = listed.actor AND stored.happened = listed.at AND stored.mark = listed.mark
GROUP BY listed.actor, listed.part ORDER BY listed.actor, listed.part
${SPILLED}`);
}

function eventsSql(siteId: string, { from, to }: TimeSpan, binder: Binder): string {
  return `SELECT actor AS of, toUnixTimestamp64Milli(timestamp) AS happened, ${MARK} AS mark,
  person_id, event_id, event, distinct_id, timestamp, received_at, raw_index
FROM event_rows WHERE site_id = ${binder.bind(siteId, 'String')} AND timestamp >= ${from} AND timestamp < ${to}`;
}

/** When the events happened that actors are there by. */
function spanOf(part: ListedPart, binder: Binder): TimeSpan {
  return part.kind === 'trends' && part.before ? spanBefore(part.plan, binder) : askedSpan(part.plan, binder);
}

/** `actor`, `part` (0, or which session of the actor), and `at` and `mark` of the event that each is there by. */
function listedSql(siteId: string, part: ListedPart, binder: Binder): string {
  switch (part.kind) {
    case 'funnel':
      return funnelActorsSql(siteId, part, binder);
    case 'trends':
      return barActorsSql(siteId, part, spanOf(part, binder), binder);
    case 'retention':
      return cohortActorsSql(siteId, part, binder);
    case 'paths':
      return pathActorsSql(siteId, part, binder);
  }
}
