// Revenue: the answer, and its figures.

import { type Static, Type } from 'typebox';
import { AMOUNT_UNITS } from '../sql/expressions.ts';
import { currencyCodes, digitsOf } from './currency_digits.ts';
import { EXAMPLES_MAX, ISSUES, type RevenueQuery, type RevenueRow } from './query.ts';

const amount = (description: string) => Type.Number({ description });
const payments = {
  orders: Type.Integer({ minimum: 0, description: 'Payments: orders, or renewals' }),
  persons: Type.Integer({ minimum: 0, description: 'Who paid' }),
  gross: amount('What was paid'),
  refunded: Type.Integer({ minimum: 0, description: 'Refunds that took something back' }),
  refunds: amount('What was paid back'),
  net: amount('gross less refunds'),
  tax: amount('Tax of it where sent, less what was paid back'),
  shipping: amount('Likewise shipping'),
};
const figures = {
  ...payments,
  renewals: Type.Object(payments, { description: 'Of subscriptions; not in the others' }),
};
const intervals = Type.Array(Type.Object({ from: Type.Integer(), ...figures }));
const before = Type.Optional(Type.Object(figures));

/** The answer to revenue. */
export const revenueAnswerShape = Type.Object({
  currencies: Type.Array(
    Type.Object({
      currency: Type.String({ description: 'Empty: of events that say none' }),
      digits: Type.Integer({ description: 'How many its amounts have behind the point (ISO 4217)' }),
      ...figures,
      intervals,
      before: Type.Optional(Type.Object({ ...figures, intervals })),
      breakdown: Type.Array(Type.Object({ value: Type.String(), ...figures, before }), {
        description: 'The values by which most came in, renewals included; the empty text is for no value',
      }),
      other: Type.Union([Type.Object({ values: Type.Integer({ minimum: 0 }), ...figures, before }), Type.Null()], {
        description: 'All other values together, and how many they are; null where there are none',
      }),
    }),
    { description: 'Those of ISO 4217 first, then by payments. Amounts of different currencies are not added' },
  ),
  more_currencies: Type.Integer({ minimum: 0, description: 'How many are not among them' }),
  repeated_orders: Type.Integer({ description: 'Orders that came again in this time, and are counted once' }),
  repeats: Type.Integer({ description: 'How often they did' }),
  differing_orders: Type.Integer({ description: 'Those of them that came with another amount or currency' }),
  repeated: Type.Array(Type.Object({ order_id: Type.String(), times: Type.Integer({ minimum: 1 }) }), {
    description: 'Those that came again most often, for whoever may see persons',
  }),
  without_amount: Type.Integer({ description: 'Payments of which no event says an amount; they count as nothing' }),
  refunds_without_order: Type.Integer({ description: 'Refunds of orders that are not known; they count' }),
  refunds_without_amount: Type.Integer({ description: 'Refunds of which it is not known how much they took' }),
  refunds_cut: Type.Integer({ description: 'Refunds of more than was left of their order; the rest does not count' }),
  converted: Type.Integer({ description: 'Payments and refunds that were converted into the asked currency' }),
});
export type RevenueAnswer = Static<typeof revenueAnswerShape>;
type Payments = RevenueAnswer['currencies'][number]['renewals'];
type Figures = Payments & { renewals: Payments };

const KIND_COUNTS = 2;
const KIND_UNITS = 6;

/** The answer from the rows of the statement. */
export function revenueAnswer(query: RevenueQuery, rows: readonly RevenueRow[], minPersons: number): RevenueAnswer {
  const compares = query.compare !== undefined;
  const starts = [0, 1].map((period) => startsOf(rows, period));
  const byCurrency = Map.groupBy(
    rows.filter(({ of: [kind] }) => kind !== 'start'),
    ({ of: [, , currency] }) => currency,
  );
  const currencies = [...byCurrency].map(([currency, of]) => {
    const digits = digitsOf(currency);
    const find = (period: number): Figures & { intervals: (Figures & { from: number })[] } => {
      const all = of.find((row) => row.of[0] === 'all' && row.of[1] === period);
      const found = new Map(
        of.filter((row) => row.of[0] === 'interval' && row.of[1] === period).map((row) => [row.of[4], row]),
      );
      const intervals = (starts[period] ?? []).map((from) => ({ from, ...figuresOf(found.get(from), digits) }));
      return { ...figuresOf(all, digits), intervals };
    };
    return {
      ...{ currency, digits, ...find(0) },
      ...(compares ? { before: find(1) } : {}),
      ...valuesOf(of, digits, compares),
    };
  });
  const all = rows.filter(({ of: [kind, period] }) => kind === 'all' && period === 0);
  const issues = ISSUES.map(
    (name, at) => [name, sum(all.map((row) => row.counts[2 * KIND_COUNTS + at] ?? 0))] as const,
  );
  const codes = new Set(['', ...currencyCodes()]);
  const placeOf = ({ currency }: { currency: string }): number => (codes.has(currency) ? 0 : 1);
  return {
    currencies: currencies.sort(
      (a, b) =>
        placeOf(a) - placeOf(b) ||
        b.orders + b.renewals.orders - a.orders - a.renewals.orders ||
        (a.currency < b.currency ? -1 : 1),
    ),
    more_currencies: Math.max(0, ...rows.map((row) => row.places)) - currencies.length,
    ...(Object.fromEntries(issues) as Record<(typeof ISSUES)[number], number>),
    repeated: minPersons > 1 ? [] : examplesOf(all),
  };
}

const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0);

const startsOf = (rows: readonly RevenueRow[], period: number): number[] =>
  rows
    .filter((row) => row.of[0] === 'start' && row.of[1] === period)
    .map((row) => row.of[4])
    .sort((a, b) => a - b);

function valuesOf(rows: readonly RevenueRow[], digits: number, compares: boolean) {
  const slots = Map.groupBy(
    rows.filter((row) => row.of[0] === 'value'),
    (row) => row.of[3],
  );
  const figuresIn = (slot: number) => {
    const of = (period: number) =>
      figuresOf(
        slots.get(slot)?.find((row) => row.of[1] === period),
        digits,
      );
    return { ...of(0), ...(compares ? { before: of(1) } : {}) };
  };
  const rest = slots.get(0);
  return {
    breakdown: [...slots.keys()]
      .filter((slot) => slot > 0)
      .sort((a, b) => a - b)
      .map((slot) => ({ value: slots.get(slot)?.[0]?.text ?? '', ...figuresIn(slot) })),
    other: rest === undefined ? null : { values: rest.find((row) => row.of[1] === 0)?.texts ?? 0, ...figuresIn(0) },
  };
}

function figuresOf(row: RevenueRow | undefined, digits: number): Figures {
  return { ...paymentsOf(row, 0, digits), renewals: paymentsOf(row, 1, digits) };
}

function paymentsOf(row: RevenueRow | undefined, kind: number, digits: number): Payments {
  const [orders = 0, refunded = 0] = row?.counts.slice(kind * KIND_COUNTS) ?? [];
  const persons = row?.persons[kind] ?? 0;
  const units = (row?.units ?? []).slice(kind * KIND_UNITS).map(BigInt);
  const [gross = 0n, tax = 0n, shipping = 0n, refunds = 0n, taxBack = 0n, shippingBack = 0n] = units;
  const shown = (part: bigint): number => rounded(part, digits);
  return {
    ...{ orders, persons, gross: shown(gross), refunded, refunds: shown(refunds) },
    ...{ net: shown(gross - refunds), tax: shown(tax - taxBack), shipping: shown(shipping - shippingBack) },
  };
}

/** Millionths as an amount with so many digits, half of the last one away from zero. */
function rounded(units: bigint, digits: number): number {
  const step = BigInt(AMOUNT_UNITS) / 10n ** BigInt(digits);
  const half = units < 0n ? -step / 2n : step / 2n;
  return Number(((units + half) / step) * step) / AMOUNT_UNITS;
}

function examplesOf(all: readonly RevenueRow[]): RevenueAnswer['repeated'] {
  const examples = all.flatMap((row) => row.examples);
  return examples
    .toSorted(([times, id], [others, other]) => others - times || (id < other ? -1 : 1))
    .slice(0, EXAMPLES_MAX)
    .map(([times, id]) => ({ order_id: id, times }));
}
