// Revenue: what was paid and paid back, each order once.
import {
  calendarSql,
  firstRowsSql,
  querySpan,
  SPILLED,
  spanBefore,
  startOf,
  type TimeSpan,
} from '../event_rows_sql.ts';
import { digestOfText, MARK } from '../packed_events.ts';
import { hasSmallCountValues } from '../personal_fields.ts';
import { queriedSince } from '../query_rewrites.ts';
import { cutOf, EXAMPLE_TIME, question } from '../question.ts';
import { AMOUNT_MAX, allOf, conditionOf, numberOf, textOf, unitsOf } from '../sql_expressions.ts';
import { type Binder, createBinder, type Statement } from '../statement.ts';
import { revenueAnswer, revenueAnswerShape } from './answer.ts';
import {
  CURRENCIES_MAX,
  EARLIER_DAYS,
  EXAMPLES_MAX,
  LATER_DAYS,
  PAYMENTS,
  type RevenueQuery,
  revenueProblems,
  revenueShape,
  VALUES,
} from './query.ts';

/** Of an event: a first payment, the renewal of a subscription, or money that went back. */
const KINDS = { sale: 0, renewal: 1, refund: 2 } as const;
/** Of an order: the same, refunds of renewals apart; and how often it came again. */
const LINES = { ...KINDS, renewalRefund: 3, repeats: 4 } as const;
/** Whether a refund says no amount: then it is of the whole order. A cancellation of what was never paid is none. */
const WHOLE = { no: 0, yes: 1, cancelled: 2 } as const;
const OUTSIDE = 2;

const DAY_MS = 86_400_000;

/**
 * The statement of revenue. Rows: RevenueRow.
 *
 * What is known of an order is put together first, also from before and after the time that is asked about: when it was paid,
 * what it was worth, and how much of that each refund can still take. That is then counted where it happened.
 *
 * @param minPersons Values of a breakdown that can be of few persons are with the rest where fewer paid.
 */
function revenueStatement(siteId: string, query: RevenueQuery, minPersons = 1): Statement {
  const binder = createBinder();
  const cut = { ...cutOf(query), earlier: null };
  const span = querySpan(cut, binder);
  const spans: TimeSpan[] = query.compare === undefined ? [span] : [span, spanBefore(cut, binder)];
  const field = query.breakdown?.field;
  const limit = field === undefined ? 0 : (query.breakdown?.limit ?? VALUES);
  const least = minPersons > 1 && field !== undefined && hasSmallCountValues(field) ? minPersons : 1;
  const ranked = rankedSql(statesSql(linesSql(eventsSql(siteId, query, spans, binder))), limit, least);
  const starts = spans.map(
    (one, period) => `SELECT ('start', ${period}, '', 0, bucket), 0, '', 0, [], [], [], []
FROM (${calendarSql(one, cut, binder)})`,
  );
  return binder.statement(`SELECT * FROM (${[figuresSql(ranked, limit), ...starts].join('\nUNION ALL ')})\n${SPILLED}`);
}

/** A row for each event of an order that has one in the time, or in the time before. */
function eventsSql(siteId: string, query: RevenueQuery, spans: readonly TimeSpan[], binder: Binder): string {
  const { interval, calendar } = cutOf(query);
  const { sales, renewals, refunds, cancellations } = PAYMENTS;
  const names = [...sales, ...renewals, ...refunds, ...cancellations];
  const of = (some: readonly string[]): string => `event IN ${binder.bind([...some], 'Array(String)')}`;
  const between = ({ from, to }: TimeSpan): string => `timestamp >= ${from} AND timestamp < ${to}`;
  const asked = spans.map(between);
  const first = spans.at(-1)?.from ?? '';
  const last = spans[0]?.to ?? '';
  const property = (name: string): string => textOf({ property: [name] }, binder);
  const text = query.breakdown === undefined ? "''" : textOf(query.breakdown.field, binder);
  const ids = `SELECT order_id FROM event_rows WHERE site_id = ${binder.bind(siteId, 'String')}
  AND timestamp >= ${first} AND timestamp < ${last} AND ${of(names)} AND order_id != ''`;
  const isRefund = `(${of([...refunds, ...cancellations])} OR ifNull(value < 0, false))`;
  const isRenewal = `(${of(renewals)} OR ${property('billing_reason')} = 'subscription_cycle'
  OR lowerUTF8(${property('is_renewal')}) IN ('true', '1', 'yes') OR lowerUTF8(${property('$is_renewal')}) IN ('true', '1', 'yes'))`;
  const items = `JSONExtractArrayRaw(if(${property('items')} = '', ${property('products')}, ${property('items')}))`;
  const amountOf = (name: string): string => `abs(${numberOf({ property: [name] }, binder)})`;
  const rows = firstRowsSql(
    {
      siteId,
      span: {
        from: `${first} - toIntervalDay(${EARLIER_DAYS})`,
        to: `${last} + toIntervalDay(${LATER_DAYS})`,
      },
      selections: [{ events: names }],
      // A refund without an order may have come before, under the same id.
      conditions: [
        `(${asked.join(' OR ')} OR if(order_id = '', ${isRefund} AND ${property('refund_id')} != '', order_id GLOBAL IN (${ids})))`,
      ],
      columns: {
        kind: `multiIf(${isRefund}, ${KINDS.refund}, ${isRenewal}, ${KINDS.renewal}, ${KINDS.sale})`,
        refund: `if(${isRefund}, ${digestOfText(property('refund_id'))}, 0)`,
        key: `multiIf(order_id != '', cityHash64('order', order_id), refund != 0, cityHash64('refund', refund), cityHash64('event', event_hash))`,
        id: 'order_id',
        items: `if(${isRefund} AND value IS NULL, ${items}, emptyArrayString())`,
        whole: `multiIf(NOT ${isRefund}, ${WHOLE.no}, ${of(cancellations)}, ${WHOLE.cancelled}, value IS NULL AND empty(items), ${WHOLE.yes}, ${WHOLE.no})`,
        amount: `multiIf(${of(cancellations)}, NULL, value IS NOT NULL, abs(value), arrayExists(one -> JSONHas(one, 'price'), items),
  arraySum(one -> abs(JSONExtractFloat(one, 'price')) * if(JSONHas(one, 'quantity'), JSONExtractFloat(one, 'quantity'), 1), items), NULL)`,
        taxed: amountOf('tax'),
        shipped: amountOf('shipping'),
        code: 'toString(currency)',
        period: `multiIf(${asked.map((condition, at) => `${condition}, ${at}`).join(', ')}, ${OUTSIDE})`,
        bucket: startOf(interval, 'timestamp', calendar, binder),
        person: 'actor',
        passes: allOf((query.filters ?? []).map((filter) => conditionOf(filter, binder))),
        text,
        at: 'toUInt64(toUnixTimestamp64Milli(timestamp))',
        mark: MARK,
      },
    },
    binder,
  );
  return `SELECT *, kind != ${KINDS.refund} AS paid, ${UNITS} AS units, ${unitsOf('taxed', 'tax')} AS tax, ${unitsOf('shipped', 'shipping')} AS shipping FROM (${rows})`;
}

/** Where the sender says no number, or one with more digits than sums are exact for, there is none. */
const UNITS = `if(ifNull(amount < ${AMOUNT_MAX}, false), ${unitsOf('amount')}, NULL)`;
const NOTHING = 'toInt256(0)';

/** What is not as it should be about a refund; more than one may be. */
const FLAGS = { withoutOrder: 1, withoutAmount: 2, cut: 4 } as const;

/**
 * A row for each event that counts in the time, or that came again, with what it counts as. The first event of an order counts,
 * and the amount that the first says which has one and a currency. Refunds take together no more than that amount, which holds
 * where they are of the same currency. Of an order that is paid back whole tax and shipping went back too, whether a refund says
 * so or not.
 *
 * Each level names what the next one uses: ClickHouse would analyse it as often as it is written out.
 */
function linesSql(events: string): string {
  const valued = 'paid AND units IS NOT NULL';
  const amount = `ifNull(units, ${NOTHING})`;
  const ofOrders = `SELECT *, countIf(paid) OVER orders > 0 AS known, countIf(${valued}) OVER orders > 0 AS hasAmount,
    maxIf(kind, paid) OVER orders AS renews, argMinIf((person, text, passes), (at, mark), paid) OVER orders AS sale,
    argMinIf((${amount}, code, tax, shipping), (units IS NULL, code = '', at, mark), paid) OVER orders AS worth,
    minIf((${amount}, code), ${valued}) OVER orders != maxIf((${amount}, code), ${valued}) OVER orders AS differs,
    row_number() OVER (PARTITION BY key, paid ORDER BY at, mark) AS place,
    if(paid OR refund = 0, 1, row_number() OVER (PARTITION BY key, paid, refund ORDER BY at, mark)) AS times
  FROM (${events}) WINDOW orders AS (PARTITION BY key)`;
  const bound = `SELECT *, worth.1 AS most, worth.2 AS currency, worth.3 AS taxPaid, worth.4 AS shippingPaid,
    NOT paid AND hasAmount AND (code = '' OR code = currency) AS bound,
    if(bound, ifNull(units, if(whole != ${WHOLE.no}, most, ${NOTHING})), ${NOTHING}) AS wants
  FROM (${ofOrders}) WHERE times = 1 AND (known OR whole != ${WHOLE.cancelled})`;
  const repeated = 'paid AND place > 1 AND period = 0';
  const sums = `SELECT *, countIf(bound) OVER past AS refunds, sum(wants) OVER past AS wanted,
    sum(if(bound, tax, ${NOTHING})) OVER past AS taxSaid, sum(if(bound, shipping, ${NOTHING})) OVER past AS shippingSaid,
    countIf(${repeated}) OVER past AS repeat, countIf(${repeated}) OVER (PARTITION BY key) AS repeats
  FROM (${bound}) WINDOW past AS (PARTITION BY key ORDER BY at, mark ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)`;
  /** How much of a part is gone after this refund, less what was gone before it. */
  const part = (name: 'tax' | 'shipping'): string => {
    const [paid, said] = [`${name}Paid`, `${name}Said`];
    const gone = (wanted: string, all: string): string => `if(${wanted} >= most, ${paid}, least(${paid}, ${all}))`;
    return `multiIf(paid, ${paid}, NOT bound, ${name}, refunds = 1, ${gone('wanted', said)},
      ${gone('wanted', said)} - ${gone('wanted - wants', `${said} - ${name}`)})`;
  };
  return `SELECT id, period, bucket, repeat = 1 AS isFirst, repeats, multiIf(paid AND place > 1, ${LINES.repeats}, paid, renews, ${LINES.refund} + renews) AS type,
    if(paid OR code = '', currency, code) AS currency, if(known, sale.1, person) AS person, if(known, sale.2, text) AS said,
    multiIf(paid, most, bound, least(wanted, most) - least(wanted - wants, most), ${amount}) AS sum, ${part('tax')} AS tax, ${part('shipping')} AS shipping,
    multiIf(paid AND place > 1, differs, paid, NOT hasAmount, if(known, 0, ${FLAGS.withoutOrder})
      + if(units IS NULL AND NOT (bound AND whole != ${WHOLE.no}), ${FLAGS.withoutAmount}, 0) + if(bound AND sum < ${amount}, ${FLAGS.cut}, 0)) AS flag
  FROM (${sums}) WHERE period < ${OUTSIDE} AND if(known, sale.3, passes)`;
}

/** What a line adds to the sums of a kind of payments, in the order of RevenueRow. */
function partsOf(paid: number, refunded: number): { counts: string[]; units: string[] } {
  const signed = (part: string): string => `multiIf(type = ${paid}, ${part}, type = ${refunded}, -${part}, ${NOTHING})`;
  return {
    counts: [`type = ${paid}`, `type = ${refunded} AND sum > 0`],
    units: [
      `if(type = ${paid}, sum, ${NOTHING})`,
      `if(type = ${refunded}, sum, ${NOTHING})`,
      signed('tax'),
      signed('shipping'),
    ],
  };
}

const flagged = (flag: number): string =>
  `type IN (${LINES.refund}, ${LINES.renewalRefund}) AND bitAnd(flag, ${flag}) != 0`;

/** Once for each order that came again in the time that is asked about. */
const REPEATED = `type = ${LINES.repeats} AND isFirst`;

/** In the order of ISSUES. */
const ISSUES_SQL = [
  REPEATED,
  `type = ${LINES.repeats}`,
  `${REPEATED} AND flag`,
  `type IN (${LINES.sale}, ${LINES.renewal}) AND flag`,
  ...[FLAGS.withoutOrder, FLAGS.withoutAmount, FLAGS.cut].map(flagged),
];

/**
 * Sums by time, currency, value and interval, from which those of greater groups come. Each column that a statement groups by, or
 * aggregates, takes ClickHouse the longer to analyse the longer all is that it comes from, so that there are few.
 */
function statesSql(lines: string): string {
  const [sales, renewals] = [partsOf(LINES.sale, LINES.refund), partsOf(LINES.renewal, LINES.renewalRefund)];
  const counts = [...sales.counts, ...renewals.counts, ...ISSUES_SQL].map((one) => `toUInt64(${one})`);
  const rows = `SELECT (period, currency, said, bucket) AS of, [${counts.join(', ')}] AS number, [${[...sales.units, ...renewals.units].join(', ')}] AS part,
    [if(type = ${LINES.sale}, person, NULL), if(type = ${LINES.renewal}, person, NULL), person] AS payer, if(${REPEATED} AND period = 0, [(-toInt64(repeats), id)], []) AS example
  FROM (${lines})`;
  return `SELECT of, sumForEach(number) AS numbers, sumForEach(part) AS sums, uniqExactForEachState(payer) AS payers,
    groupArraySortedArray(${EXAMPLES_MAX})(example) AS again
  FROM (${rows}) GROUP BY of`;
}

/** The same with the places of their currencies by payments, and as `among` of their values by what came in. */
function rankedSql(states: string, limit: number, least: number): string {
  const named = `SELECT *, of.1 AS period, of.2 AS currency, of.3 AS said, of.4 AS bucket,
    sum(if(period = 0, numbers[1] + numbers[3], 0)) OVER (PARTITION BY currency) AS payments`;
  const place = 'dense_rank() OVER (ORDER BY payments DESC, currency) AS place';
  if (limit === 0) return `SELECT *, ${place}, 0 AS among FROM (${named} FROM (${states}))`;
  const few =
    least > 1 ? ` AND (said = '' OR (uniqExactForEachMergeIf(payers, period = 0) OVER value)[3] >= ${least})` : '';
  return `SELECT *, if(shown AND valuePlace <= ${limit}, valuePlace, 0) AS among
  FROM (SELECT *, ${place}, dense_rank() OVER (PARTITION BY currency ORDER BY shown DESC, came DESC, said) AS valuePlace
    FROM (${named}, sum(if(period = 0, sums[1] + sums[5], ${NOTHING})) OVER value AS came, min(period) OVER value = 0${few} AS shown
      FROM (${states}) WINDOW value AS (PARTITION BY currency, said)))`;
}

/** Each of them in all that it is part of; grouping sets would take longer to analyse. */
function figuresSql(ranked: string, limit: number): string {
  const kinds = ['all', 'interval', ...(limit > 0 ? ['value'] : [])].map((kind) => `'${kind}'`);
  return `SELECT of, any(currencies) AS places, any(said) AS text, uniqExact(said) AS texts, uniqExactForEachMerge(payers) AS persons,
  sumForEach(numbers) AS counts, arrayMap(one -> toString(one), sumForEach(sums)) AS units,
  arrayMap(one -> (-one.1, one.2), groupArraySortedArray(${EXAMPLES_MAX})(again)) AS examples
FROM (SELECT (kind, period, currency, if(kind = 'value', among, 0), if(kind = 'interval', bucket, 0)) AS of,
    max(place) OVER () AS currencies, said, payers, numbers, sums, again
  FROM (${ranked}) ARRAY JOIN if(place <= ${CURRENCIES_MAX}, [${kinds.join(', ')}], []) AS kind) GROUP BY of`;
}

/** What was paid and paid back, by currency. */
export const revenue = question({
  kind: 'revenue',
  summary: 'What was paid and paid back, each order once, by currency and interval; renewals of subscriptions apart',
  schema: revenueShape,
  answerSchema: revenueAnswerShape,
  check: revenueProblems,
  example: {
    ...EXAMPLE_TIME,
    interval: 'day',
    time_zone: 'Europe/Brussels',
    filters: [{ field: { column: 'action_source' }, is: 'equal', to: ['website'] }],
    breakdown: { field: { property: ['utm_campaign'] }, limit: 10 },
    compare: 'previous',
  },
  statement: revenueStatement,
  answer: revenueAnswer,
  suppressesSmallCounts: true,
  reads: (query) => ({
    from: Math.max(0, queriedSince(query) - EARLIER_DAYS * DAY_MS),
    to: query.to + LATER_DAYS * DAY_MS,
  }),
});
