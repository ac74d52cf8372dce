import type { LivePlan, TimelinePlan } from '#pipelines/query/listing.ts';
import { allOf, inScope, selects } from './conditions.ts';
import { type Binder, createBinder, type Statement } from './statement.ts';

const LISTED = `event_id, event, toUnixTimestamp64Milli(timestamp) AS happened, toUnixTimestamp64Milli(received_at) AS received,
  distinct_id, person_id AS person, action_source, mode, country, value, currency, order_id, properties`;

/** The statement of the events that arrived last, newest first. Rows: ListedRow. */
export function liveStatement(siteId: string, plan: LivePlan): Statement {
  const binder = createBinder();
  const { receivedAfterMs, receivedBeforeMs: before } = plan;
  const wanted = allOf([
    `site_id = ${binder.bind(siteId, 'String')}`,
    `received_at > ${binder.time(receivedAfterMs)}`,
    ...(before === null ? [] : [`received_at < ${binder.time(before)}`]),
    selects(plan.selection, binder),
  ]);
  return binder.statement(
    binder.withNames(`SELECT ${LISTED} FROM event_rows WHERE ${wanted}
ORDER BY received_at DESC, raw_index DESC, event_id LIMIT 1 BY event_id LIMIT ${plan.limit}`),
  );
}

/**
 * The statement of what a person did, newest first, under whichever of its ids: the person that was named, or that it has
 * become part of, or that a distinct id belongs to. Rows: ListedRow.
 *
 * The projections of event_rows by person and by visitor say where the rows are, so that others are not read.
 */
export function timelineStatement(siteId: string, plan: TimelinePlan): Statement {
  const binder = createBinder();
  const site = binder.bind(siteId, 'String');
  const persons = 'personId' in plan.of ? personsNow(site, plan.of.personId, binder) : ownersOf(site, plan.of, binder);
  const arrived = `SELECT cityHash64(person_id) FROM (${persons}
  UNION ALL SELECT person_id FROM person_links WHERE site_id = ${site} AND target GLOBAL IN (${persons}))`;
  const wanted = allOf([
    ...inScope(siteId, plan, binder),
    `person_hash GLOBAL IN (${arrived})`,
    `person_id GLOBAL IN (${persons})`,
  ]);
  return binder.statement(
    binder.withNames(`SELECT ${LISTED} FROM event_rows WHERE ${wanted}
ORDER BY timestamp DESC, received_at DESC, raw_index DESC, event_id LIMIT 1 BY event_id LIMIT ${plan.limit}
${ROWS_BY_PLACE}`),
  );
}

/** Who a distinct id belongs to: the projection by visitor has each person of it once. */
function ownersOf(site: string, { distinctId }: { distinctId: string }, binder: Binder): string {
  return `SELECT person_id FROM event_rows
  WHERE site_id = ${site} AND cityHash64(distinct_id) = cityHash64(${binder.bind(distinctId, 'String')}) GROUP BY person_id`;
}

/** Who a person is now: itself, or whom it became part of. */
function personsNow(site: string, personId: string, binder: Binder): string {
  const person = binder.bind(personId, 'String');
  return `SELECT ${person} AS person_id UNION ALL SELECT argMax(target, version) FROM person_links
  WHERE site_id = ${site} AND person_id = ${person} HAVING count() > 0`;
}

/** Projections tell places in tables of any size. */
const ROWS_BY_PLACE = 'SETTINGS min_table_rows_to_use_projection_index = 0';
