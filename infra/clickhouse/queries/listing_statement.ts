import type { LivePlan, TimelinePlan } from '#pipelines/query/listing.ts';
import { allOf, inScope, selects } from './conditions.ts';
import { type Binder, createBinder, type Statement } from './statement.ts';

const LISTED = `event_id, event, toUnixTimestamp64Milli(timestamp) AS happened, toUnixTimestamp64Milli(received_at) AS received,
  distinct_id, person_id AS person, action_source, mode, country, value, currency, order_id, properties`;

/** The statement of the events that arrived last, newest first. Rows: ListedRow. */
export function liveStatement(siteId: string, plan: LivePlan): Statement {
  const binder = createBinder();
  const after = binder.bind(plan.receivedAfterMs, 'Int64');
  const wanted = allOf([
    `site_id = ${binder.bind(siteId, 'String')}`,
    `received_at > fromUnixTimestamp64Milli(${after}, 'UTC')`,
    selects(plan.selection, binder),
  ]);
  return binder.statement(`SELECT ${LISTED} FROM event_rows WHERE ${wanted}
ORDER BY received_at DESC, raw_index DESC, event_id LIMIT 1 BY event_id LIMIT ${plan.limit}`);
}

/**
 * The statement of what a person did, newest first, under whichever of its ids: the person that was named, or that it has
 * become part of, or that a distinct id belongs to. Rows: ListedRow.
 */
export function timelineStatement(siteId: string, plan: TimelinePlan): Statement {
  const binder = createBinder();
  const site = binder.bind(siteId, 'String');
  const named =
    'personId' in plan.of
      ? `arrived_person_id = ${binder.bind(plan.of.personId, 'String')} OR person_id = ${binder.bind(plan.of.personId, 'String')}`
      : `distinct_id = ${binder.bind(plan.of.distinctId, 'String')}`;
  const persons = `SELECT person_id FROM event_rows WHERE site_id = ${site} AND (${named})${mergedInto(site, plan.of, binder)}`;
  const wanted = allOf([...inScope(siteId, plan, binder), `person_id GLOBAL IN (${persons})`]);
  return binder.statement(`SELECT ${LISTED} FROM event_rows WHERE ${wanted}
ORDER BY timestamp DESC, received_at DESC, raw_index DESC, event_id LIMIT 1 BY event_id LIMIT ${plan.limit}`);
}

/** Once merges are written into the rows, only the links still know a person that became part of another. */
function mergedInto(site: string, of: TimelinePlan['of'], binder: Binder): string {
  if (!('personId' in of)) return '';
  return ` UNION ALL SELECT argMax(target, version) FROM person_links
  WHERE site_id = ${site} AND person_id = ${binder.bind(of.personId, 'String')} HAVING count() > 0`;
}
