// Revenue: what may be asked, and what of it no schema can say.

import { type Static, Type } from 'typebox';
import { type Problem, problem } from '#pipelines/settings/problems.ts';
import { SAME_EVENTS } from '../event_names.ts';
import { closed, fieldShape } from '../filters.ts';
import { calendarFields, common, interval, limitOf } from '../question.ts';
import { INTERVAL_MS_MIN } from '../trends/query.ts';

const namesOf = (ours: string): readonly string[] => SAME_EVENTS.find(([name]) => name === ours) ?? [ours];

/** The events that say what was paid, and what was paid back. */
export const PAYMENTS = {
  sales: namesOf('purchase'),
  renewals: namesOf('subscription_renewed'),
  refunds: namesOf('refund'),
  /** Nothing of such an order is left, whatever they say. */
  cancellations: namesOf('order_cancelled'),
} as const;

/** How long before the time that is asked about the orders may be that its refunds and copies belong to. */
export const EARLIER_DAYS = 400;
/** How long after it is looked for what belongs to its orders: an amount that only a copy says, a sale that came after its refund. */
export const LATER_DAYS = 7;

/** A rate holds on its day and so many days after it: over Easter there are none for four. */
export const RATE_DAYS = 7;

/** Values of a breakdown that are given one by one. */
export const VALUES = 20;
/** The same of currencies, as anybody can send some that there are not. */
export const CURRENCIES_MAX = 20;
export const EXAMPLES_MAX = 10;

/** A code of ISO 4217. */
export const currencyCode = Type.String({ pattern: '^[A-Z]{3}$' });

export const revenueShape = closed({
  ...common,
  currency: Type.Optional(
    Type.Unsafe<string>({
      ...Type.String({ pattern: '^([A-Z]{3})?$' }),
      description:
        'Amounts of other currencies are converted into this one by the rate of the day on which their order was paid, or of one of the seven days before; where there is none they stay apart. Empty: as sent; left out: that of the site',
    }),
  ),
  interval,
  ...calendarFields,
  breakdown: Type.Optional(
    closed({ field: fieldShape, limit: limitOf(VALUES, 'How many values each currency has at the most') }),
  ),
  compare: Type.Optional(Type.Enum(['previous'], { description: 'Beside it the time before, of as many intervals' })),
});
export type RevenueQuery = Static<typeof revenueShape>;

/** Intervals that an answer may have, those of the time before among them. */
const INTERVALS_MAX = 5_000;

/** What of the question no schema can say. */
export function revenueProblems({ from, to, interval: cut, compare }: RevenueQuery): Problem[] {
  const times = compare === undefined ? 1 : 2;
  const intervals = (Math.ceil(Math.max(0, to - from) / INTERVAL_MS_MIN[cut]) + 1) * times;
  if (intervals <= INTERVALS_MAX) return [];
  const message = `an answer has at most ${INTERVALS_MAX} intervals, and this would have ${intervals}: ask for longer ones`;
  return [problem('too_many', 'interval', message)];
}

export interface RevenueRow {
  /**
   * `start`: an interval begins, whether money came in it or not. Of the time that was asked for, or 1: the one before it. The place
   * of a value among the greatest of its currency, from 1; 0: of all others together. When the interval begins, else 0.
   */
  of: [kind: 'all' | 'interval' | 'value' | 'start', period: number, currency: string, slot: number, start: number];
  /** How many currencies there are, those without a row among them. */
  places: number;
  /** The value; any of them where there are several. */
  text: string;
  /** How many there are. */
  texts: number;
  /** Who bought, who renewed, and all whom it is about. */
  persons: number[];
  /** Of what was bought, then of renewals: payments, refunds. Then ISSUES. */
  counts: number[];
  /** Likewise in whole millionths, each with its tax and its shipping. */
  units: string[];
  /** Orders that came more than once: how often they did, and their ids. */
  examples: [times: number, id: string][];
}

/** What is not as it should be, or as it was sent, in the order of a row's `counts`. */
export const ISSUES = [
  'repeated_orders',
  'repeats',
  'differing_orders',
  'without_amount',
  'refunds_without_order',
  'refunds_without_amount',
  'refunds_cut',
  'converted',
] as const;
