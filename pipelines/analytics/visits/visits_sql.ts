// SQL of visits: which events are one, when it began, and what it tells of how its visitor came, of its pages and of their device.
import { BY_CAMPAIGN } from '#pipelines/visits/arrival.ts';
import { SESSION_GAP_MS } from '../funnels/query.ts';
import { firstRowsSql, type TimeSpan } from '../sql/event_rows.ts';
import { FIRST_ROW, personArraysSql } from '../sql/packed_events.ts';
import { placeOf, textOfJson, textOfProperty } from '../sql/property_text.ts';
import type { Binder } from '../sql/statement.ts';
import { ENTRY_COLUMNS, isOfArrival, kindOf, type VisitKind, type VisitValue, valueIn } from './visit_values.ts';

/** Visits are made of the events of so long before a time and after it, besides: those that go on for longer are cut. */
export const VISIT_MARGIN_MS = 86_400_000;

const TIME_BITS = 42;
const HALF_BITS = TIME_BITS / 2;
const PLACE_BITS = 16;
const CAMPAIGN_BITS = 27;
const FLAG_BITS = 8;

const low = (of: string, bits: number): string => `bitAnd(${of}, ${2 ** bits - 1})`;
/** Zero is the empty text. */
const digestOf = (text: string): string => `if(empty(${text}), 0, bitShiftRight(cityHash64(${text}), ${FLAG_BITS}))`;

/** What a campaign is known by: the source, medium and campaign of an arrival that says one. Zero where it says none. */
const CAMPAIGN = `if(startsWith(arrival, '${BY_CAMPAIGN}'), ${low("cityHash64(arraySlice(splitByChar('\\n', toString(arrival)), 3, 3))", CAMPAIGN_BITS - 1)} + 1, 0)`;

/** The address of an event's page without what comes behind its path, by the first name of it that the event has. */
function pageSql(binder: Binder): string {
  const [usual, other, last] = ['$current_url', 'page_location', 'url'].map((name) => placeOf([name], binder).json);
  const json = binder.name(`if(empty(${usual}), if(empty(${other}), ${last}, ${other}), ${usual})`);
  return `cutQueryStringAndFragment(${textOfJson(json)})`;
}

/** An expression over event_rows: the text that an event has of a kind. */
const TEXTS: Readonly<Record<VisitKind, (binder: Binder) => string>> = {
  arrival: () => 'arrival',
  page: pageSql,
  entry: () => `arrayStringConcat([${ENTRY_COLUMNS.map((name) => `toString(${name})`).join(', ')}], '\\n')`,
};

/** Bits of an event's flags. */
const PAGE_VIEW = 0;
const CONVERSION = 1;
const PASSES = 2;

/**
 * An event as one number of 256 bits, the highest first: its visit's key; its time; whether it says no campaign, so that of one
 * moment those that say one come first; its arrival and its place in the request; its campaign; the digest of its text; its flags.
 */
function packed(digest: string, flags: string): string {
  const ms = (time: string): string => `toUInt64(toUnixTimestamp64Milli(${time}))`;
  const first = `bitShiftLeft(${ms('timestamp')}, ${HALF_BITS + 1}) + bitShiftLeft(toUInt64((${CAMPAIGN} AS told) = 0), ${HALF_BITS}) + bitShiftRight(${ms('received_at')} AS arrived, ${HALF_BITS})`;
  const second = `bitShiftLeft(${low('arrived', HALF_BITS)}, ${PLACE_BITS + CAMPAIGN_BITS}) + bitShiftLeft(toUInt64(toUInt16(raw_index)), ${CAMPAIGN_BITS}) + told`;
  return `bitShiftLeft(toUInt256(bitShiftLeft(toUInt128(visit_key), 64) + (${first})), 128)
  + (bitShiftLeft(toUInt128(${second}), 64) + bitShiftLeft(toUInt64(${digest}), ${FLAG_BITS}) + ${flags})`;
}

const keyOf = (event: string): string => `toUInt64(bitShiftRight(${event}, 192))`;
const timeOf = (event: string): string => `bitShiftRight(toUInt64(bitShiftRight(${event}, 128)), ${HALF_BITS + 1})`;
const campaignOf = (event: string): string => low(`toUInt64(bitShiftRight(${event}, 64))`, CAMPAIGN_BITS);
const flagOf = (event: string, flag: number): string => `bitTest(toUInt8(${event}), ${flag})`;
const digestIn = (event: string): string => `bitShiftRight(toUInt64(${event}), ${FLAG_BITS})`;
const hasDigest = (event: string): string => `toUInt64(${event}) >= ${2 ** FLAG_BITS}`;

/**
 * A row for each visit with its events in order, as `visit`. Where the sender tells the sessions, all events of one; else a browser's
 * events without a pause, up to a moment at which another campaign is told than the visit's own.
 *
 * @param of Expressions over event_rows: the digest of an event's text, and its flags.
 */
function visitArraysSql(
  siteId: string,
  span: TimeSpan,
  { digest = '0', flags = '0' }: { digest?: string; flags?: string },
  binder: Binder,
): string {
  const rows = firstRowsSql(
    {
      siteId,
      span,
      selections: [{}],
      conditions: ['visit_key != 0'],
      columns: { visit_key: 'visit_key', entry: packed(digest, flags) },
    },
    binder,
  );
  const isTold = `bitTest(${keyOf('packed[1]')}, 0)`;
  const changes = (events: string): string => `arrayDifference(arrayMap(x -> toInt64(${timeOf('x')}), ${events}))`;
  const parts = `if(${isTold}, [packed], arraySplit((x, pause) -> pause > ${SESSION_GAP_MS}, packed, ${changes('packed')}))`;
  // The campaign that a moment tells is that of its first event; one that tells none goes on with that of those before.
  const campaigns = `arrayMap((x, later, i) -> if(i = 1 OR later > 0, ${campaignOf('x')}, 0), part, ${changes('part')}, arrayEnumerate(part))`;
  const own = `arrayFill(x -> x != 0, ${campaigns})`;
  const isOther = '(x, own, before) -> own != before AND before != 0';
  const visits = `if(${isTold} OR NOT arrayExists(x -> ${campaignOf('x')} != 0, part), [part],
  arraySplit(${isOther}, part, (${own}) AS owns, arrayPopBack(arrayPushFront(owns, owns[1]))))`;
  return `SELECT visit FROM (${personArraysSql(`SELECT visit_key AS actor, entry FROM (${rows})`, [])})
ARRAY JOIN ${parts} AS part
ARRAY JOIN ${visits} AS visit`;
}

/** The digest of the text by which a visit has a value: SQL over `visit`. */
function digestOfVisit(value: VisitValue): string {
  if (value === 'exit_page') return digestIn(`arrayLast(x -> ${hasDigest('x')}, visit)`);
  if (!isOfArrival(value)) return digestIn(`arrayFirst(x -> ${hasDigest('x')}, visit)`);
  // By a campaign, wherever in the visit it was told; else by what its first event came from.
  return digestIn(`visit[greatest(1, arrayFirstIndex(x -> ${campaignOf('x')} != 0, visit))]`);
}

/** `digest` and `text` of all values that visits may have. */
function visitTextsSql(siteId: string, { from, to }: TimeSpan, value: VisitValue, binder: Binder): string {
  const inside = binder.inside();
  const text = inside.name(TEXTS[kindOf(value)](inside));
  const found = inside.withNames(`SELECT ${digestOf(text)} AS digest, any(${text}) AS found FROM event_rows
  WHERE site_id = ${binder.bind(siteId, 'String')} AND timestamp >= ${from} AND timestamp < ${to} AND visit_key != 0 GROUP BY digest`);
  return `SELECT digest, toString(${valueIn(value, 'found')}) AS text FROM (${found})`;
}

const digestOfKind = (value: VisitValue, binder: Binder): string => digestOf(binder.name(TEXTS[kindOf(value)](binder)));

const KEY = `${keyOf('visit[1]')} AS visit_of`;
const momentOf = (event: string): string => `toInt64(${timeOf(event)})`;

/** A row for each visit: its key as `visit_of`, when it began as `visit_start`, and a value of it as `visit_value`. */
export function visitValuesSql(siteId: string, span: TimeSpan, value: VisitValue, binder: Binder): string {
  const inside = binder.inside();
  const visits = `SELECT ${KEY}, fromUnixTimestamp64Milli(${momentOf('visit[1]')}, 'UTC') AS visit_start, ${digestOfVisit(value)} AS digest
FROM (${visitArraysSql(siteId, span, { digest: digestOfKind(value, inside) }, inside)})`;
  return `SELECT visit_of, visit_start, toLowCardinality(texts.text) AS visit_value
FROM (${visits}) AS visits LEFT JOIN (${visitTextsSql(siteId, span, value, binder)}) AS texts ON visits.digest = texts.digest`;
}

/** What an event itself says of a visit's value; empty where it says nothing. */
export function ownVisitText(value: VisitValue, binder: Binder): string {
  if (kindOf(value) === 'arrival') return `if(empty(arrival), '', ${valueIn(value, 'arrival')})`;
  return kindOf(value) === 'page' ? pageSql(binder) : `toString(${value})`;
}

/** What is counted of visits, and which. */
interface CountedVisits {
  /** Of the events that visits are made of. */
  span: TimeSpan;
  /** When they began. */
  began: TimeSpan;
  value: VisitValue | null;
  /** Conditions over event_rows: what makes an event one of a page that was seen, and one of a conversion. */
  isPageView: string;
  isConversion: string;
  /** Visits are those that have an event which passes. */
  passes: string;
}

/**
 * A row for each visit that began in a time: `visit_of`, `began` (milliseconds since 1970), `lasted`, `page_views`, `has_converted`
 * and, where a value is asked for, `value`.
 */
export function countedVisitsSql(siteId: string, visits: CountedVisits, binder: Binder): string {
  const { span, began, value, isPageView, isConversion, passes } = visits;
  const flags = [isPageView, isConversion, passes].map((flag, bit) => `bitShiftLeft(toUInt8(${flag}), ${bit})`);
  const digest = value === null ? {} : { digest: digestOfKind(value, binder) };
  const arrays = visitArraysSql(siteId, span, { ...digest, flags: flags.join(' + ') }, binder);
  const [from, to] = [began.from, began.to].map((time) => `toUnixTimestamp64Milli(${time})`);
  const rows = `SELECT ${KEY}, ${momentOf('visit[1]')} AS began, ${momentOf('visit[-1]')} - began AS lasted,
  arrayCount(x -> ${flagOf('x', PAGE_VIEW)}, visit) AS page_views, arrayExists(x -> ${flagOf('x', CONVERSION)}, visit) AS has_converted${value === null ? '' : `, ${digestOfVisit(value)} AS digest`}
FROM (${arrays}) WHERE began >= ${from} AND began < ${to} AND arrayExists(x -> ${flagOf('x', PASSES)}, visit)`;
  if (value === null) return rows;
  return `SELECT visits.*, texts.text AS value FROM (${rows}) AS visits
LEFT JOIN (${visitTextsSql(siteId, span, value, binder)}) AS texts ON visits.digest = texts.digest`;
}

/** `visitor_of` and `visitor` of each key: the person whom the last event of it belongs to. */
export function visitorsSql(siteId: string, { from, to }: TimeSpan, binder: Binder): string {
  return `SELECT visit_key AS visitor_of, argMax(actor, ${FIRST_ROW}) AS visitor FROM event_rows
WHERE site_id = ${binder.bind(siteId, 'String')} AND timestamp >= ${from} AND timestamp < ${to} AND visit_key != 0 GROUP BY visit_key`;
}

/** GA4's name of the milliseconds that a page was in view before an event, and PostHog's of seconds; then percents that were scrolled. */
const ENGAGED = ['engagement_time_msec', '$prev_pageview_duration'] as const;
const SCROLLED = ['percent_scrolled', '$prev_pageview_max_scroll_percentage'] as const;

/** A row for each visit, by `attention_of` and `attention_began`: `engaged` milliseconds, and `scrolled`, the most percents of a page; -1 where none is said. */
export function attentionSql(siteId: string, span: TimeSpan, binder: Binder): string {
  const inside = binder.inside();
  const [milliseconds, seconds] = ENGAGED.map((name) => numberOf(name, inside));
  const [percent, part] = SCROLLED.map((name) => numberOf(name, inside));
  const engaged = `if(${milliseconds} > 0, ${milliseconds}, 1000 * ${seconds})`;
  const scrolled = `multiIf(${percent} > 0, ${percent}, ${part} > 0, 100 * ${part}, -1)`;
  const digest = `bitShiftLeft(toUInt64(round(least(${engaged}, ${ENGAGED_MS_MAX}))), 8) + toUInt64(1 + round(least(${scrolled}, 100)))`;
  return `SELECT ${keyOf('visit[1]')} AS attention_of, ${momentOf('visit[1]')} AS attention_began,
  arraySum(x -> bitShiftRight(${digestIn('x')}, 8), visit) AS engaged, arrayMax(x -> toInt64(bitAnd(${digestIn('x')}, 255)), visit) - 1 AS scrolled
FROM (${visitArraysSql(siteId, span, { digest }, inside)})`;
}

/** More is a mistake of a sender's: nobody looks at a page for so long at a time. */
const ENGAGED_MS_MAX = 86_400_000;

/** A number that a property is, 0 at least. */
const numberOf = (name: string, binder: Binder): string =>
  `greatest(0, ifNull(toFloat64OrNull(${textOfProperty([name], binder)}), 0))`;
