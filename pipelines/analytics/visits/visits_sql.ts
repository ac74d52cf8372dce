// SQL of visits: which events are one, when it began, and what it tells of how its visitor came, of its pages and of their device.
import {
  ARRIVAL_PARTS,
  type ArrivalPart,
  BY_CAMPAIGN,
  type Channel,
  ENTRY_COLUMNS,
  isOfArrival,
  kindOf,
  type VisitKind,
  type VisitValue,
} from '#pipelines/visits/arrival.ts';
import type { VisitField } from '../filters.ts';
import { SESSION_GAP_MS } from '../funnels/query.ts';
import { PAGE_ADDRESS, pageOfEvent } from '../pages/page_sql.ts';
import { FIRST_ROW, firstRowsSql, personArraysSql, type TimeSpan } from '../sql/event_rows.ts';
import { type Binder, textOfJson } from '../sql/statement.ts';

/** Visits are made of the events of so long before a time and after it, besides: those that go on for longer are cut. */
export const VISIT_MARGIN_MS = 86_400_000;

const TIME_BITS = 42;
const HALF_BITS = TIME_BITS / 2;
const PLACE_BITS = 16;
const CAMPAIGN_BITS = 27;
const FLAG_BITS = 8;

const low = (of: string, bits: number): string => `bitAnd(${of}, ${2 ** bits - 1})`;
/** Of no text, too: `NO_TEXT`. */
const digestOf = (text: string): string => `bitShiftRight(cityHash64(${text}), ${FLAG_BITS})`;
const NO_TEXT = digestOf("''");

/** What a campaign is known by: the source, medium and campaign of an arrival that says one; else empty. */
const CAMPAIGN = `extract(arrival, '^${BY_CAMPAIGN}\\n[^\\n]*\\n([^\\n]*\\n[^\\n]*\\n[^\\n]*)')`;

/**
 * What an event says of a kind, made in two steps: `given` over event_rows, then the text of that. As ClickHouse analyses a text as
 * often as it is written out, these are columns of two SELECTs where they can be.
 */
interface Said {
  given: string;
  textOf(given: string): string;
}

const propertyJson = (name: string): string => `property_texts['${name}']`;
const NO_ENTRY = '\\n'.repeat(ENTRY_COLUMNS.length - 1);

const SAID: Readonly<Record<VisitKind, Said>> = {
  arrival: { given: 'arrival', textOf: (given) => given },
  page: { given: PAGE_ADDRESS, textOf: (given) => `cutQueryString(cutFragment(${textOfJson(given)}))` },
  entry: {
    given: `arrayStringConcat([${ENTRY_COLUMNS.map((name) => `toString(${name})`).join(', ')}], '\\n')`,
    textOf: (given) => `if(${given} = '${NO_ENTRY}', '', ${given})`,
  },
};

/** Of a page by rules of its site all of it is a column of one SELECT, as it has steps that are named in it. */
function saidFor({ visit, pages }: OfVisit, binder: Binder): Said {
  const kind = kindOf(visit);
  if (kind !== 'page' || pages === undefined) return SAID[kind];
  return { given: pageOfEvent(pages, binder), textOf: (given) => given };
}

/** Bits of an event's flags. */
const PAGE_VIEW = 0;
const CONVERSION = 1;
const PASSES = 2;

/** What is packed of an event, over event_rows. */
const PACKED = {
  visit_key: 'visit_key',
  at: 'toUInt64(toUnixTimestamp64Milli(timestamp))',
  arrived: 'toUInt64(toUnixTimestamp64Milli(received_at))',
  place: 'toUInt64(toUInt16(raw_index))',
  campaign: CAMPAIGN,
} as const;

/**
 * An event as one number of 256 bits, the highest first: its visit's key; its time; whether it says no campaign, so that of one
 * moment those that say one come first; its arrival and its place in the request; its campaign; the digest of its text; its flags.
 * Over PACKED and `flags`.
 */
function packed(digest: string): string {
  const told = `if(empty(campaign), 0, ${low('cityHash64(campaign)', CAMPAIGN_BITS - 1)} + 1)`;
  const first = `bitShiftLeft(at, ${HALF_BITS + 1}) + bitShiftLeft(toUInt64(empty(campaign)), ${HALF_BITS}) + bitShiftRight(arrived, ${HALF_BITS})`;
  const second = `bitShiftLeft(${low('arrived', HALF_BITS)}, ${PLACE_BITS + CAMPAIGN_BITS}) + bitShiftLeft(place, ${CAMPAIGN_BITS}) + ${told}`;
  return `bitShiftLeft(toUInt256(bitShiftLeft(toUInt128(visit_key), 64) + (${first})), 128)
  + (bitShiftLeft(toUInt128(${second}), 64) + bitShiftLeft(toUInt64(${digest}), ${FLAG_BITS}) + flags)`;
}

const keyOf = (event: string): string => `toUInt64(bitShiftRight(${event}, 192))`;
const timeOf = (event: string): string => `bitShiftRight(toUInt64(bitShiftRight(${event}, 128)), ${HALF_BITS + 1})`;
const campaignOf = (event: string): string => low(`toUInt64(bitShiftRight(${event}, 64))`, CAMPAIGN_BITS);
const flagOf = (event: string, flag: number): string => `bitTest(toUInt8(${event}), ${flag})`;
const digestIn = (event: string): string => `bitShiftRight(toUInt64(${event}), ${FLAG_BITS})`;
const hasText = (event: string): string => `${digestIn(event)} != ${NO_TEXT}`;

/** A value of a visit; a page by the rules of its site, where it has any. */
export type OfVisit = Pick<VisitField, 'visit' | 'pages'>;

interface SaidOfEvents {
  /** Expressions over event_rows by the names they are given. */
  columns: Record<string, string>;
  /** Of an event's text, over these names. */
  digest: string;
}

/**
 * A row for each visit with its events in order, as `visit`. Where the sender tells the sessions, all events of one; else a browser's
 * events without a pause, up to a moment at which another campaign is told than the visit's own.
 *
 * @param flags Over event_rows.
 */
function visitArraysSql(
  siteId: string,
  span: TimeSpan,
  { columns, digest }: SaidOfEvents,
  flags: string,
  binder: Binder,
): string {
  const rows = firstRowsSql(
    { siteId, span, selections: [{}], conditions: ['visit_key != 0'], columns: { ...PACKED, ...columns, flags } },
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
  return `SELECT visit FROM (${personArraysSql(`SELECT visit_key AS actor, ${packed(digest)} AS entry FROM (${rows})`, [])})
ARRAY JOIN ${parts} AS part
ARRAY JOIN ${visits} AS visit`;
}

/** The digest of the text by which a visit has a value: SQL over `visit`. */
function digestOfVisit(value: VisitValue): string {
  if (value === 'exit_page') return digestIn(`arrayLast(x -> ${hasText('x')}, visit)`);
  if (!isOfArrival(value)) return digestIn(`arrayFirst(x -> ${hasText('x')}, visit)`);
  // By a campaign, wherever in the visit it was told; else by what its first event came from.
  return digestIn(`visit[greatest(1, arrayFirstIndex(x -> ${campaignOf('x')} != 0, visit))]`);
}

/** `digest` and `text` of all values that visits may have. */
function visitTextsSql(siteId: string, { from, to }: TimeSpan, value: OfVisit, binder: Binder): string {
  const { given, textOf } = saidFor(value, binder);
  const rows = binder.withNames(`SELECT ${given} AS given FROM event_rows
  WHERE site_id = ${binder.bind(siteId, 'String')} AND timestamp >= ${from} AND timestamp < ${to} AND visit_key != 0`);
  return `SELECT digest, ${valueIn(value.visit, 'found')} AS text
FROM (SELECT ${digestOf('said')} AS digest, toString(any(said)) AS found FROM (SELECT ${textOf('given')} AS said FROM (${rows})) GROUP BY digest)`;
}

/** What events say by which their visit has a value, for visitArraysSql. */
function saidOf(value: OfVisit, binder: Binder): SaidOfEvents {
  const { given, textOf } = saidFor(value, binder);
  return { columns: { given }, digest: digestOf(textOf('given')) };
}

const KEY = `${keyOf('visit[1]')} AS visit_of`;
const momentOf = (event: string): string => `toInt64(${timeOf(event)})`;

/** A row for each visit: its key as `visit_of`, when it began as `visit_start`, and a value of it as `visit_value`. */
export function visitValuesSql(siteId: string, span: TimeSpan, value: OfVisit, binder: Binder): string {
  const visits = `SELECT ${KEY}, fromUnixTimestamp64Milli(${momentOf('visit[1]')}, 'UTC') AS visit_start, ${digestOfVisit(value.visit)} AS digest
FROM (${visitArraysSql(siteId, span, saidOf(value, binder), '0', binder)})`;
  return `SELECT visit_of, visit_start, toLowCardinality(texts.text) AS visit_value
FROM (${visits}) AS visits LEFT JOIN (${visitTextsSql(siteId, span, value, binder)}) AS texts ON visits.digest = texts.digest`;
}

/** What an event itself says of a visit's value; empty where it says nothing. */
export function ownVisitText({ visit, pages }: OfVisit, binder: Binder): string {
  if (isOfArrival(visit)) return partOfArrival(visit, 'arrival');
  return kindOf(visit) === 'page' ? pageOfEvent(pages, binder) : `toString(${visit})`;
}

/** What is counted of visits, and which. */
interface CountedVisits {
  /** Of the events that visits are made of. */
  span: TimeSpan;
  /** When they began. */
  began: TimeSpan;
  value: OfVisit | null;
  /** Whether it is asked for how long pages were looked at, and how far down. */
  attention: boolean;
  /** Conditions over event_rows: what makes an event one of a page that was seen, and one of a conversion. */
  isPageView: string;
  isConversion: string;
  /** Visits are those that have an event which passes. */
  passes: string;
}

/**
 * A row for each visit that began in a time: `visit_of`, `began` (milliseconds since 1970), `lasted`, `page_views`, `has_converted`;
 * where a value is asked for, `value`; and with attention `engaged` milliseconds, and `scrolled`, the most percents of a page; -1
 * where none is said.
 */
export function countedVisitsSql(siteId: string, visits: CountedVisits, binder: Binder): string {
  const { span, began, value, attention, isPageView, isConversion, passes } = visits;
  const flags = [isPageView, isConversion, passes].map((flag, bit) => `bitShiftLeft(toUInt8(${flag}), ${bit})`);
  const said = value === null ? NOTHING_SAID : saidOf(value, binder);
  const arrays = visitArraysSql(siteId, span, attention ? ATTENTION : said, flags.join(' + '), binder);
  const [from, to] = [began.from, began.to].map((time) => `toUnixTimestamp64Milli(${time})`);
  const told = value === null ? '' : `, ${digestOfVisit(value.visit)} AS digest`;
  const rows = `SELECT ${KEY}, ${momentOf('visit[1]')} AS began, ${momentOf('visit[-1]')} - began AS lasted,
  arrayCount(x -> ${flagOf('x', PAGE_VIEW)}, visit) AS page_views, arrayExists(x -> ${flagOf('x', CONVERSION)}, visit) AS has_converted${attention ? ATTENDED : told}
FROM (${arrays}) WHERE began >= ${from} AND began < ${to} AND arrayExists(x -> ${flagOf('x', PASSES)}, visit)`;
  if (value === null) return rows;
  if (attention) {
    return `SELECT visits.*, visit_value AS value FROM (${rows}) AS visits
LEFT JOIN (${visitValuesSql(siteId, span, value, binder)}) AS told ON visits.visit_of = told.visit_of AND visits.began = toUnixTimestamp64Milli(told.visit_start)`;
  }
  return `SELECT visits.*, texts.text AS value FROM (${rows}) AS visits
LEFT JOIN (${visitTextsSql(siteId, span, value, binder)}) AS texts ON visits.digest = texts.digest`;
}

/** `visitor_of` and `visitor` of each key: the person whom the last event of it belongs to. */
export function visitorsSql(siteId: string, { from, to }: TimeSpan, binder: Binder): string {
  return `SELECT visit_key AS visitor_of, argMax(actor, ${FIRST_ROW}) AS visitor FROM event_rows
WHERE site_id = ${binder.bind(siteId, 'String')} AND timestamp >= ${from} AND timestamp < ${to} AND visit_key != 0 GROUP BY visit_key`;
}

const NOTHING_SAID: SaidOfEvents = { columns: {}, digest: '0' };

/** A number that a property is; 0 where it is none. */
const numberOf = (name: string): string => `toFloat64OrZero(trim(BOTH '"' FROM ${propertyJson(name)}))`;

/** GA4's name of the milliseconds that a page was in view before an event, and PostHog's of seconds; then percents that were scrolled. */
const LOOKED = {
  milliseconds: numberOf('engagement_time_msec'),
  seconds: numberOf('$prev_pageview_duration'),
  percent: numberOf('percent_scrolled'),
  part: numberOf('$prev_pageview_max_scroll_percentage'),
};
/** More is a mistake of a sender's: nobody looks at a page for so long at a time. */
const ENGAGED_MS_MAX = 86_400_000;

/** In place of the digest of a text: how long a page was looked at, above 8 bits of one more than the percents that it was scrolled. */
const ATTENTION: SaidOfEvents = {
  columns: LOOKED,
  digest: `bitShiftLeft(toUInt64(round(least(multiIf(milliseconds > 0, milliseconds, seconds > 0, 1000 * seconds, 0), ${ENGAGED_MS_MAX}))), 8)
  + toUInt64(1 + round(least(multiIf(percent > 0, percent, part > 0, 100 * part, -1), 100)))`,
};
const ATTENDED = `, toInt64(arraySum(x -> bitShiftRight(${digestIn('x')}, 8), visit)) AS engaged, arrayMax(x -> toInt64(bitAnd(${digestIn('x')}, 255)), visit) - 1 AS scrolled`;

const DIRECT: Channel = 'Direct';

/** SQL of a part of an arrival's text, behind the sign of what told it. As one function of it, so that it is worked out once for all equal ones. */
const partOfArrival = (value: ArrivalPart, arrival: string): string =>
  `extract(${arrival}, '^(?:[^\\n]*\\n){${ARRIVAL_PARTS.indexOf(value) + 1}}([^\\n]*)')`;

/** SQL of a value in the text of its kind. A visit of which nothing is told came directly. */
function valueIn(value: VisitValue, text: string): string {
  if (value === 'channel') return `if(empty(${text}), '${DIRECT}', ${partOfArrival(value, text)})`;
  if (isOfArrival(value)) return partOfArrival(value, text);
  if (value === 'landing_page' || value === 'exit_page') return text;
  return `splitByChar('\\n', ${text})[${ENTRY_COLUMNS.indexOf(value) + 1}]`;
}
