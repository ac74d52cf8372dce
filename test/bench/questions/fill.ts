import type { Warehouse } from '#infra/clickhouse/client.ts';
import { reloadPersons } from '#infra/clickhouse/person_dictionaries.ts';
import { EVENTS } from './questions_config.ts';

export const SITE = 'site0';
/** A site beside it, with a fiftieth of the events. */
export const NEIGHBOUR = 'site1';
const NEIGHBOUR_PART = 50;

export const DAY_MS = 86_400_000;
/** The year that the events are spread over. */
const YEAR_DAYS = 364;
export const TO = Date.UTC(2026, 10, 1);
export const FROM = TO - YEAR_DAYS * DAY_MS;

/** One insert; its rows are of a few days, as those of an insert are. */
const BLOCK = 500_000;
const SESSION_EVENTS = 8;
/** About how many events somebody has in the year. */
const PERSON_EVENTS = 40;
/** One person in so many turned out to be another. */
const MERGED = 20;

/** A list of the site: persons, and hashes of e-mail addresses. */
export const LIST = 'staff.0123456789abcdefghij';
const LISTED = { persons: 50_000, emails: 5_000 };

/** Events of a year in the order of time, made by the server; then merges of persons, and a list. */
export async function fill(warehouse: Warehouse, onProgress: (line: string) => void): Promise<void> {
  const begun = performance.now();
  for (const [site, events] of sites()) {
    for (let at = 0; at < events; at += BLOCK) {
      await warehouse.command({ query: eventsSql(site, events, at, Math.min(BLOCK, events - at)) });
      if (at % (10 * BLOCK) === 0) onProgress(`${at} events of ${site}, ${seconds(begun)} s`);
    }
    await warehouse.command({ query: linksSql(site, events) });
    await warehouse.command({ query: membersSql(site, events) });
  }
  await reloadPersons(warehouse);
  onProgress(`inserted in ${seconds(begun)} s`);
}

const seconds = (begun: number): string => ((performance.now() - begun) / 1_000).toFixed(0);

export function sites(): [site: string, events: number][] {
  return [
    [SITE, EVENTS],
    [NEIGHBOUR, Math.ceil(EVENTS / NEIGHBOUR_PART)],
  ];
}

const people = (events: number): number => Math.ceil(events / PERSON_EVENTS);

/** A person by a number. */
export const personSql = (number: string): string => `concat('p_', lower(hex(MD5(toString(${number})))))`;

function linksSql(site: string, events: number): string {
  const merged = Math.ceil(people(events) / MERGED);
  return `INSERT INTO person_links SELECT '${site}', ${personSql('number')}, ${personSql(`number + ${merged}`)}, now(), 1
  FROM numbers(${merged})`;
}

function membersSql(site: string, events: number): string {
  const every = (of: number): number => Math.max(1, Math.floor(people(events) / of));
  return `INSERT INTO cohort_members (site_id, list, kind, value)
  SELECT '${site}', '${LIST}', 'person', ${personSql(`number * ${every(LISTED.persons)}`)} FROM numbers(${LISTED.persons})
  UNION ALL SELECT '${site}', '${LIST}', 'email', ${emailSql(`number * ${8 * every(8 * LISTED.emails)}`)} FROM numbers(${LISTED.emails})`;
}

const emailSql = (visitor: string): string => `lower(hex(SHA256(toString(${visitor}))))`;

/** Of a session the place of each event, as most go: a page, items, a cart, now and then an order. */
const NAMES = `multiIf(place = 0, 'page_view', luck < 340, 'page_view', luck < 620, 'view_item', luck < 740, 'scroll', luck < 860, 'search',
  luck < 940, 'add_to_cart', luck < 975, 'begin_checkout', 'purchase')`;

const PROPERTIES = `concat('{"$current_url":"https://shop.example/', ['', 'items/', 'search/', 'cart/'][1 + luck % 4], toString(cityHash64(session, place, 7) % 3000),
  '","$browser":"', ['Chrome', 'Safari', 'Firefox', 'Edge', 'Samsung Internet'][1 + visitor % 5], '","$os":"', ['Windows', 'iOS', 'Android', 'macOS'][1 + visitor % 4],
  '","plan":"', ['free', 'pro', 'team'][1 + visitor % 3], '","utm_source":"', ['google', 'newsletter', 'meta', '', 'tiktok'][1 + session % 5], '","utm_campaign":"c',
  toString(cityHash64(session, 5) % 200), '","screen_width":', toString(320 + 40 * (visitor % 50)), ',"load_ms":', toString(cityHash64(session, place, 9) % 4000),
  if(name IN ('view_item', 'add_to_cart', 'purchase'), concat(',"sku":"s', toString(cityHash64(session, place, 11) % 5000), '","items":[{"sku":"s', toString(luck), '","quantity":', toString(1 + luck % 3), '}]'), ''), '}')`;

/** Every other visitor's sender tells the sessions; a visit in five came by nothing. */
const VISIT_KEY = `if(visitor % 2 = 0, bitOr(cityHash64(session, 6), 1), 2 * bitShiftRight(cityHash64(visitor, device), 1))`;
const ARRIVAL = `['c\nPaid Search\ngoogle\ncpc', 'c\nEmail\nnewsletter\nemail', 'c\nPaid Social\nfacebook\ncpc', '', 'c\nPaid Social\ntiktok\ncpc'][1 + session % 5] || if(session % 5 = 3, '', concat('\nc', toString(cityHash64(session, 5) % 200), '\n'))`;

/**
 * A few visit often and most seldom: the square of an even number. Sessions are in the order of time, events a minute apart.
 */
function eventsSql(site: string, events: number, from: number, count: number): string {
  const sessions = Math.ceil(events / SESSION_EVENTS);
  return `INSERT INTO event_rows (site_id, uuid_high, uuid_mixed, distinct_id, arrived_person_id, event, timestamp, received_at, mode, action_source,
    caller, email_sha256, city, country, client_ip, client_user_agent, value, currency, order_id, properties, raw_partition, raw_offset, raw_index, visit_key, arrival)
  SELECT '${site}', rand64(1), rand64(2), concat('d', hex(cityHash64(visitor, device))), ${personSql('visitor')}, name,
    fromUnixTimestamp64Milli(at, 'UTC'), fromUnixTimestamp64Milli(at + 300 + luck, 'UTC'), 'online', 'website', 'browser',
    if(visitor % 8 = 0, ${emailSql('visitor')}, ''), concat('City ', toString(visitor % 400)),
    ['DE', 'FR', 'US', 'GB', 'ES', 'IT', 'NL', 'PL'][1 + visitor % 8], concat('10.', toString(visitor % 256), '.', toString(device), '.', toString(visitor % 251)),
    concat('Mozilla/5.0 (', toString(visitor % 97), ') AppleWebKit/537.36 Chrome/', toString(100 + visitor % 30)),
    if(name = 'purchase', (1 + luck) * 0.37, NULL), if(name = 'purchase', 'EUR', ''), if(name = 'purchase', concat('o', toString(number)), ''),
    ${PROPERTIES}, number % 12, intDiv(number, 5), number % 5, ${VISIT_KEY}, ${ARRIVAL}
  FROM (SELECT number, intDiv(number, ${SESSION_EVENTS}) AS session, number % ${SESSION_EVENTS} AS place,
      toUInt64(pow(cityHash64(session, 1) / 18446744073709551616., 2) * ${people(events)}) AS visitor, cityHash64(session, 2) % 2 AS device,
      cityHash64(number, 3) % 1000 AS luck, ${NAMES} AS name,
      toInt64(${FROM} + (session * ${(YEAR_DAYS - 1) * DAY_MS} / ${sessions}) + cityHash64(session, 4) % ${DAY_MS / 2} + place * 60000 + luck * 50) AS at
    FROM numbers(${from}, ${count}))
  SETTINGS max_insert_block_size = ${BLOCK}, min_insert_block_size_rows = ${BLOCK}, optimize_on_insert = 0`;
}
