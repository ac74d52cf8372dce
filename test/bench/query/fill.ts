import type { Warehouse } from '#infra/clickhouse/client.ts';
import { reloadPersons } from '#infra/clickhouse/person_dictionaries.ts';
import { personSql } from '../questions/fill.ts';

export const EVENTS = 5_000_000;
const SITES = 10;
export const SITE_EVENTS = EVENTS / SITES;
export const SITE = 'site0';
const PEOPLE = 40_000;
const DAY_MS = 86_400_000;
export const FROM = Date.UTC(2026, 9, 1);
export const TO = FROM + 30 * DAY_MS;
const BLOCK = 250_000;
/** One person in ten turned out to be another. */
const MERGED = PEOPLE / 10;

/** Events of ten sites over 30 days, six names, 40,000 people each, made by the server; then merges of one person in ten. */
export async function fill(warehouse: Warehouse): Promise<void> {
  for (let at = 0; at < EVENTS; at += BLOCK) await warehouse.command({ query: eventsSql(at) });
  await warehouse.command({
    query: `INSERT INTO person_links SELECT concat('site', toString(number % ${SITES})), ${personSql(`intDiv(number, ${SITES})`)},
            ${personSql(`intDiv(number, ${SITES}) + ${MERGED}`)}, now(), 1 FROM numbers(${MERGED * SITES})`,
  });
  await reloadPersons(warehouse);
}

function eventsSql(from: number): string {
  return `INSERT INTO event_rows (site_id, uuid_high, uuid_mixed, distinct_id, arrived_person_id, event, timestamp, received_at, mode, action_source,
    caller, properties, raw_partition, raw_offset, raw_index)
  SELECT concat('site', toString(number % ${SITES})), rand64(1), rand64(2), concat('d', toString(person)), ${personSql('person')},
    ['page_view', 'page_view', 'page_view', 'page_view', 'view_item', 'view_item', 'view_item', 'add_to_cart', 'add_to_cart',
     'begin_checkout', 'purchase', 'scroll', 'scroll', 'scroll'][1 + sipHash64(number, 2) % 14],
    fromUnixTimestamp64Milli(at, 'UTC'), fromUnixTimestamp64Milli(at + 500, 'UTC'), 'online', 'website', 'browser',
    concat('{"url":"https://shop.example/', toString(number % 1000), '"}'), number % 12, intDiv(number, 5), number % 5
  FROM (SELECT number, sipHash64(number, 1) % ${PEOPLE} AS person, toInt64(${FROM} + sipHash64(number, 3) % ${TO - FROM}) AS at
        FROM numbers(${from}, ${BLOCK}))
  SETTINGS max_insert_block_size = ${BLOCK}, min_insert_block_size_rows = ${BLOCK}`;
}
