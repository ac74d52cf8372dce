// Revenue: what was paid and paid back, each order once.

import { hasSmallCountValues } from '../personal_fields.ts';
import { queriedSince } from '../query_rewrites.ts';
import { cutOf, EXAMPLE_TIME, question } from '../question.ts';
import {
  calendarSql,
  EVENT_BY_HASH,
  firstRowsSql,
  MARK,
  querySpan,
  SPILLED,
  spanBefore,
  startOf,
  type TimeSpan,
} from '../sql/event_rows.ts';
import { AMOUNT_UNITS, allOf, conditionOf, textOf } from '../sql/expressions.ts';
import { type Binder, createBinder, type Statement } from '../sql/statement.ts';
import { revenueAnswer, revenueAnswerShape } from './answer.ts';
import { currencyCodes } from './currency_digits.ts';
import {
  CURRENCIES_MAX,
  EARLIER_DAYS,
  EXAMPLES_MAX,
  ISSUES,
  LATER_DAYS,
  PAYMENTS,
  RATE_DAYS,
  type RevenueQuery,
  revenueProblems,
  revenueShape,
  VALUES,
} from './query.ts';

/** What an event counts as: a first payment, the renewal of a subscription, money that went back of either; or not again. */
const LINES = { sale: 0, renewal: 1, refund: 2, renewalRefund: 3, repeats: 4 } as const;
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
  const { currency = '' } = query;
  const lines = linesSql(eventsSql(siteId, query, spans, binder), currency !== '');
  const inOne = currency === '' ? lines : convertedSql(lines, currency, spans, binder);
  const ranked = rankedSql(statesSql(inOne), limit, least, binder.bind(['', ...currencyCodes()], 'Array(String)'));
  const starts = `SELECT ('start', period, '', 0, bucket), 0, '', 0, [], [], [], []\nFROM (${calendarSql(spans, cut, binder)})`;
  return binder.statement(`SELECT * FROM (${figuresSql(ranked, limit)}\nUNION ALL ${starts})\n${SPILLED}`);
}

/** The time in which an order may have events that say something of those that are asked about. */
function lookedSpan(query: RevenueQuery, spans: readonly TimeSpan[], binder: Binder): TimeSpan {
  const from = Math.max(0, query.from - EARLIER_DAYS * DAY_MS);
  const span = querySpan({ from, to: query.to + LATER_DAYS * DAY_MS }, binder);
  const before = spans[1];
  if (before === undefined) return span;
  const earlier = (time: string): string => binder.scalar(`${time} - toIntervalDay(${EARLIER_DAYS})`);
  return { since: earlier(before.since), from: earlier(before.from), to: span.to };
}

/** A row for each event of an order that has one in the time, or in the time before. */
function eventsSql(siteId: string, query: RevenueQuery, spans: readonly TimeSpan[], binder: Binder): string {
  const { interval, calendar } = cutOf(query);
  const { sales, renewals, refunds, cancellations } = PAYMENTS;
  const names = [...sales, ...renewals, ...refunds, ...cancellations];
  const of = (some: readonly string[]): string => `event IN ${binder.bind([...some], 'Array(String)')}`;
  const between = (from: string, to: string): string => `timestamp >= ${from} AND timestamp < ${to}`;
  const asked = spans.map(({ from, to }) => between(from, to));
  const first = spans.at(-1)?.from ?? '';
  const last = spans[0]?.to ?? '';
  const json = (name: string): string => `property_texts['${name}']`;
  const numberIn = (name: string): string => `toFloat64OrNull(trim(BOTH '"' FROM ${json(name)}))`;
  const ids = `SELECT order_id FROM event_rows WHERE site_id = ${binder.bind(siteId, 'String')} AND ${between(first, last)} AND ${of(names)}`;
  return firstRowsSql(
    {
      siteId,
      span: lookedSpan(query, spans, binder),
      selections: [{ events: names }],
      // A refund without an order may have come before, under the same id.
      conditions: [`(${between(first, last)} OR if(order_id = '', refund != 0, order_id GLOBAL IN (${ids})))`],
      columns: {
        paid: `NOT (${of([...refunds, ...cancellations])} OR ifNull(value < 0, false))`,
        renewal: `${of(renewals)} OR ${json('billing_reason')} = '"subscription_cycle"' OR hasAny(${RENEWAL_WORDS}, [lower(${json('is_renewal')}), lower(${json('$is_renewal')})])`,
        refund: `if(paid OR ${json('refund_id')} IN ('', '""', 'null'), 0, cityHash64(${json('refund_id')}))`,
        key: `multiIf(order_id != '', cityHash64(1, order_id), refund != 0, cityHash64(2, refund), cityHash64(3, ${EVENT_BY_HASH}))`,
        id: 'order_id',
        items: `if(paid OR value IS NOT NULL, [], JSONExtractArrayRaw(if(${json('items')} = '', ${json('products')}, ${json('items')})))`,
        cancelled: of(cancellations),
        whole: `cancelled OR NOT paid AND value IS NULL AND empty(items)`,
        units: unitsOf(
          `multiIf(cancelled, NULL, value IS NOT NULL, value, arrayExists(one -> JSONHas(one, 'price'), items),
  arraySum(one -> JSONExtractFloat(one, 'price') * if(JSONHas(one, 'quantity'), JSONExtractFloat(one, 'quantity'), 1), items), NULL)`,
          'given',
        ),
        parts: `[ifNull(${unitsOf(numberIn('tax'), 'tax')}, ${NOTHING}), ifNull(${unitsOf(numberIn('shipping'), 'ship')}, ${NOTHING})]`,
        code: 'upper(trim(currency))',
        period: `multiIf(${asked.map((condition, at) => `${condition}, ${at}`).join(', ')}, ${OUTSIDE})`,
        bucket: startOf(interval, 'timestamp', calendar, binder),
        person: 'actor',
        passes: allOf((query.filters ?? []).map((filter) => conditionOf(filter, binder))),
        text: query.breakdown === undefined ? "''" : textOf(query.breakdown.field, binder),
        at: 'timestamp',
        mark: MARK,
      },
    },
    binder,
  );
}

/** What the JSON of a property says that tells renewals. */
const RENEWAL_WORDS = `['true', '1', '"true"', '"1"', '"yes"']`;

const NOTHING = 'toInt128(0)';
/** No order is worth more; in millionths it is as much as 64 bits hold. */
const AMOUNT_MAX = 9e12;

/** An amount as whole millionths without its sign; NULL where it is no number, or greater than any order. */
const unitsOf = (amount: string, name: string): string =>
  `if((abs(${amount}) AS ${name}) < ${AMOUNT_MAX}, toInt128(toInt64(round(${name} * ${AMOUNT_UNITS}))), NULL)`;

/**
 * A row for each event that counts in the time, or that came again, with what it counts as. The first event of an order counts,
 * and the amount that the first says which has one and a currency. Refunds take together no more than that amount, which holds
 * where they are of the same currency. Of an order that is paid back whole tax and shipping went back too, whether a refund says
 * so or not.
 *
 * Each level names what the next one uses: ClickHouse would analyse it as often as it is written out.
 *
 * @param withDay Also the `day` on which its order was paid, else its own, by whose rate it is converted: of an order that is paid
 *   back whole nothing is left.
 */
function linesSql(events: string, withDay: boolean): string {
  const valued = 'paid AND units IS NOT NULL';
  const amount = `ifNull(units, ${NOTHING})`;
  const ofOrders = `SELECT *, countIf(paid) OVER orders > 0 AS known, countIf(${valued}) OVER orders > 0 AS hasAmount,
    maxIf(renewal, paid) OVER orders AS renews, argMinIf((person, text, passes${withDay ? ', at' : ''}), (at, mark), paid) OVER orders AS sale,
    argMinIf((${amount}, code, parts), (units IS NULL, code = '', at, mark), paid) OVER orders AS worth,
    minIf((${amount}, code), ${valued}) OVER orders != maxIf((${amount}, code), ${valued}) OVER orders AS differs,
    paid AND row_number() OVER (PARTITION BY key, paid ORDER BY at, mark) > 1 AS again,
    paid OR refund = 0 OR row_number() OVER (PARTITION BY key, paid, refund ORDER BY at, mark) = 1 AS counts
  FROM (${events}) WINDOW orders AS (PARTITION BY key)`;
  const bound = `SELECT *, worth.1 AS most, worth.2 AS currency, NOT paid AND hasAmount AND code IN ('', currency) AS bound,
    multiIf(NOT bound, ${NOTHING}, whole, most, ${amount}) AS wants FROM (${ofOrders}) WHERE counts AND (known OR NOT cancelled)`;
  const repeated = 'countIf(again AND period = 0) OVER';
  const sums = `SELECT *, countIf(bound) OVER past AS refunds, sum(wants) OVER past AS wanted,
    sumForEach(if(bound, parts, [${NOTHING}, ${NOTHING}])) OVER past AS told, ${repeated} past AS repeat, ${repeated} (PARTITION BY key) AS repeats
  FROM (${bound}) WINDOW past AS (PARTITION BY key ORDER BY at, mark ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)`;
  // How much of tax and shipping is gone with so much of the order.
  const gone = (taken: string, all: string): string =>
    `arrayMap((part, told) -> if(${taken} >= most, part, least(part, told)), worth.3, ${all})`;
  const less = (a: string, b: string): string => `arrayMap((a, b) -> a - b, ${a}, ${b})`;
  return `SELECT id, period, bucket, repeats, if(again, ${LINES.repeats}, renews + if(paid, 0, ${LINES.refund})) AS type,
    if(paid OR code = '', currency, code) AS currency, if(known, sale.1, person) AS person, if(known, sale.2, text) AS said,${withDay ? ' toDate(if(known, sale.4, at)) AS day,' : ''}
    multiIf(paid, most, bound, least(wanted, most) - least(wanted - wants, most), ${amount}) AS sum,
    multiIf(paid, worth.3, NOT bound, parts, refunds = 1, ${gone('wanted', 'told')},
      ${less(gone('wanted', 'told'), gone('wanted - wants', less('told', 'parts')))}) AS parts,
    multiIf(again, 2 + if(repeat = 1, 1 + 4 * differs, 0), paid, 8 * (NOT hasAmount),
      16 * (NOT known) + 32 * (units IS NULL AND NOT (bound AND whole)) + 64 * (bound AND sum < ${amount})) AS issues
  FROM (${sums}) WHERE period < ${OUTSIDE} AND if(known, sale.3, passes)`;
}

/**
 * The lines with what there is a rate for in one currency. Rates are compared with those of their day and base alone: two bases may
 * stand there where two operators loaded at once.
 */
function convertedSql(lines: string, currency: string, spans: readonly TimeSpan[], binder: Binder): string {
  const into = binder.bind(currency, 'String');
  const asked = `day >= toDate(${spans.at(-1)?.from} - toIntervalDay(${EARLIER_DAYS + RATE_DAYS}))
      AND day <= toDate(${spans[0]?.to} + toIntervalDay(${LATER_DAYS}))`;
  const rates = `SELECT one.1 AS other, day AS since, into / one.2 AS factor
    FROM (SELECT day, groupArray((currency, rate)) AS rates, anyIf(rate, currency = ${into}) AS into FROM currency_rates FINAL
      WHERE rate > 0 AND ${asked} GROUP BY day, base)
    ARRAY JOIN rates AS one WHERE into > 0`;
  const same = 'id, period, bucket, repeats, type, person, said';
  const found = `SELECT ${same}, issues AS flags, currency AS code, sum AS units, parts AS shares,
    if(code = ${into} OR day > since + ${RATE_DAYS}, 0, factor) AS times
  FROM (${lines}) AS lines GLOBAL ASOF LEFT JOIN (${rates}) AS rates ON lines.currency = rates.other AND lines.day >= rates.since`;
  const converted = (of: string): string => `if(times > 0, toInt128(round(toFloat64(${of}) * times)), ${of})`;
  return `SELECT ${same}, flags + ${2 ** ISSUES.indexOf('converted')} * (times > 0 AND type != ${LINES.repeats}) AS issues, if(times > 0, ${into}, code) AS currency, ${converted('units')} AS sum,
    arrayMap(part -> ${converted('part')}, shares) AS parts FROM (${found})`;
}

/** What a line is of, in the order of RevenueRow. */
const TYPES = `[${LINES.sale}, ${LINES.refund}, ${LINES.renewal}, ${LINES.renewalRefund}]`;

/**
 * Sums by time, currency, value and interval, from which those of greater groups come. Each column that a statement groups by, or
 * aggregates, takes ClickHouse the longer to analyse the longer all is that it comes from, so that there are few.
 */
function statesSql(lines: string): string {
  const rows = `SELECT (period, currency, said, bucket) AS of,
arrayConcat(arrayMap(one -> type = one AND (one < ${LINES.refund} OR sum > 0), ${TYPES}), arrayMap(one -> bitTest(issues, one), range(${ISSUES.length}))) AS number,
arrayFlatten(arrayMap(one -> arrayMap(part -> if(type = one, part, ${NOTHING}), arrayPushFront(parts, sum)), ${TYPES})) AS part,
[if(type = ${LINES.sale}, person, NULL), if(type = ${LINES.renewal}, person, NULL), person] AS payer,
if(bitTest(issues, 0) AND period = 0, [(-toInt64(repeats), id)], []) AS example
FROM (${lines})`;
  return `SELECT of, sumForEach(number) AS numbers, sumForEach(part) AS sums, uniqExactForEachState(payer) AS payers,
groupArraySortedArray(${EXAMPLES_MAX})(example) AS again
FROM (${rows}) GROUP BY of`;
}

/**
 * The same with the places of their currencies, and as `among` of their values by what came in. Anybody can send payments in
 * currencies that there are not: however many these are, the others have the first places.
 */
function rankedSql(states: string, limit: number, least: number, codes: string): string {
  const named = `SELECT *, of.1 AS period, of.2 AS currency, of.3 AS said, of.4 AS bucket,
    sum(if(period = 0, numbers[1] + numbers[3], 0)) OVER (PARTITION BY currency) AS payments`;
  const place = `dense_rank() OVER (ORDER BY currency NOT IN ${codes}, payments DESC, currency) AS place`;
  if (limit === 0) return `SELECT *, ${place}, 0 AS among FROM (${named} FROM (${states}))`;
  const few =
    least > 1 ? ` AND (said = '' OR (uniqExactForEachMergeIf(payers, period = 0) OVER value)[3] >= ${least})` : '';
  return `SELECT *, if(shown AND valuePlace <= ${limit}, valuePlace, 0) AS among
  FROM (SELECT *, ${place}, dense_rank() OVER (PARTITION BY currency ORDER BY shown DESC, came DESC, said) AS valuePlace
    FROM (${named}, sum(if(period = 0, sums[1] + sums[7], ${NOTHING})) OVER value AS came, min(period) OVER value = 0${few} AS shown
      FROM (${states}) WINDOW value AS (PARTITION BY currency, said)))`;
}

/** Each of them in all that it is part of; grouping sets would take longer to analyse. */
function figuresSql(ranked: string, limit: number): string {
  const kinds = ['all', 'interval', ...(limit > 0 ? ['value'] : [])].map((kind) => `'${kind}'`);
  return `SELECT of, any(ranks) AS places, any(said) AS text, uniqExact(said) AS texts, uniqExactForEachMerge(payers) AS persons,
  sumForEach(numbers) AS counts, arrayMap(one -> toString(one), sumForEach(sums)) AS units,
  arrayMap(one -> (-one.1, one.2), groupArraySortedArray(${EXAMPLES_MAX})(again)) AS examples
FROM (SELECT (kind, period, currency, if(kind = 'value', among, 0), if(kind = 'interval', bucket, 0)) AS of,
    ranks, said, payers, numbers, sums, again
  FROM (SELECT *, max(place) OVER () AS ranks FROM (${ranked})) ARRAY JOIN if(place <= ${CURRENCIES_MAX}, [${kinds.join(', ')}], []) AS kind) GROUP BY of`;
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
