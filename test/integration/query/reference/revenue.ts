import type { RevenueAnswer } from '#pipelines/analytics/revenue/answer.ts';
import type { RevenueQuery } from '#pipelines/analytics/revenue/query.ts';
import type { Rate } from '#pipelines/analytics/revenue/rates.ts';
import type { Random } from '#services/local/demo/world/random.ts';
import { FIELDS, filters, given, maybe, range } from './questions.ts';
import { type Deed, inOrder, type Ledger } from './reference_ledger.ts';
import { passesAll, textOf } from './selecting.ts';
import { FROM } from './worlds.ts';
import { zonedCalendar, zonedEarlier, zonedStart } from './zoned.ts';

const DAY_MS = 86_400_000;
/** One has whole hours only, the clocks of the others change in the time of the worlds, or before it. */
const ZONES = ['UTC', 'Australia/Sydney', 'America/New_York'] as const;
const DIGITS: Readonly<Record<string, number>> = { EUR: 2, JPY: 0, KWD: 3, USD: 2, '': 2 };

/** Rates against the euro; of dinars there are none for a while, and of some days there are none at all. */
export const RATES: readonly Rate[] = Array.from({ length: 24 }, (_, at) => at).flatMap((at) => {
  const day = new Date(FROM + (3 * at - 4) * DAY_MS).toISOString().slice(0, 10);
  const found = [
    { day, currency: 'USD', rate: 1.0831 + at / 977 },
    { day, currency: 'JPY', rate: 161.37 + at / 7 },
  ];
  return at > 5 && at < 13 ? found : [...found, { day, currency: 'KWD', rate: 0.3312 + at / 1_009 }];
});

/** How much of a currency one of another is on a day; null where no rate holds. */
function factorOf(from: string, into: string, at: number): number | null {
  for (let back = 0; back <= 7; back++) {
    const day = new Date(at - back * DAY_MS).toISOString().slice(0, 10);
    const ofDay = RATES.filter((rate) => rate.day === day);
    const rateOf = (currency: string): number | undefined =>
      currency === 'EUR' && ofDay.length > 0 ? 1 : ofDay.find((rate) => rate.currency === currency)?.rate;
    const [one, other] = [rateOf(into), rateOf(from)];
    if (one !== undefined && other !== undefined) return one / other;
  }
  return null;
}

/** What was paid by the rate of the day on which its order was. */
function converted(entry: Entry, into: string | undefined): Entry {
  const factor = into === undefined || into === entry.currency ? null : factorOf(entry.currency, into, entry.paidAt);
  if (into === undefined || factor === null) return entry;
  const times = (units: bigint): bigint => BigInt(Math.round(Number(units) * factor));
  const { amount, tax, shipping } = entry;
  const amounts = { amount: times(amount), tax: times(tax), shipping: times(shipping) };
  return { ...entry, ...amounts, currency: into, flags: { ...entry.flags, converted: true } };
}

/** A question of revenue. */
export function anyRevenue(random: Random): RevenueQuery {
  const { from, to } = range(random);
  const compare = maybe(random, 0.4, () => 'previous' as const);
  return given({
    from: compare === undefined ? from : from + 20 * DAY_MS,
    to,
    interval: random.pick(['hour', 'day', 'week', 'month'] as const),
    time_zone: random.pick(ZONES),
    filters: maybe(random, 0.3, () => filters(random)),
    breakdown: maybe(random, 0.5, () => given({ field: random.pick(FIELDS), limit: maybe(random, 0.5, () => 2) })),
    compare,
    currency: maybe(random, 0.5, () => random.pick(['EUR', 'USD', 'KWD', 'JPY'] as const)),
  }) as RevenueQuery;
}

/** Something that came in, went back, or came again; amounts in millionths. */
interface Entry {
  what: 'paid' | 'refunded' | 'repeated';
  renewal: boolean;
  at: number;
  /** When its order was paid; of one that is not known, when it went back. */
  paidAt: number;
  person: string;
  currency: string;
  amount: bigint;
  tax: bigint;
  shipping: bigint;
  text: string;
  orderId: string;
  flags: { differs?: boolean; noAmount?: boolean; noOrder?: boolean; cut?: boolean; converted?: boolean };
}

const millionths = (amount: number | null): bigint => BigInt(Math.round(Math.abs(amount ?? 0) * 1e6));
const least = (a: bigint, b: bigint): bigint => (a < b ? a : b);
const isCancelled = ({ name }: Deed): boolean => name === 'order_cancelled';
const isBack = (deed: Deed): boolean => deed.name === 'refund' || isCancelled(deed) || (deed.value ?? 0) < 0;

/** What a refund takes: an amount, the whole order, or nobody knows. */
function taken(deed: Deed): bigint | 'whole' | 'unknown' {
  if (isCancelled(deed)) return 'whole';
  if (deed.value !== null) return millionths(deed.value);
  return deed.items.length === 0 ? 'whole' : 'unknown';
}

/** What is known of one order, as entries. */
function entriesOf(deeds: readonly Deed[], query: RevenueQuery): Entry[] {
  const sales = inOrder(deeds.filter((deed) => !isBack(deed)));
  const [sale] = sales;
  const withAmount = sales.filter(({ value }) => value !== null);
  const worth = withAmount.find(({ currency }) => currency !== '') ?? withAmount[0] ?? null;
  const currency = worth?.currency ?? sales.find((one) => one.currency !== '')?.currency ?? '';
  const { tax, shipping } = worth ?? sales.find((one) => one.currency !== '') ?? sale ?? { tax: null, shipping: null };
  const left = { amount: millionths(worth?.value ?? null), tax: millionths(tax), shipping: millionths(shipping) };
  const renewal = sales.some((one) => one.name === 'subscription_renewed' || one.isRenewal);
  const of = (deed: Deed): Pick<Entry, 'renewal' | 'at' | 'paidAt' | 'person' | 'text' | 'orderId'> => ({
    renewal,
    at: deed.at,
    paidAt: (sale ?? deed).at,
    person: (sale ?? deed).person,
    text: query.breakdown === undefined ? '' : textOf(query.breakdown.field, sale ?? deed),
    orderId: deed.orderId,
  });
  const entries: Entry[] = [];
  if (sale !== undefined && passesAll(query.filters, sale)) {
    entries.push({ ...of(sale), ...left, what: 'paid', currency, flags: { noAmount: worth === null } });
    const differs = withAmount.some((one) => one.value !== worth?.value || one.currency !== currency);
    for (const again of sales.slice(1)) {
      entries.push({ ...of(again), what: 'repeated', currency, amount: 0n, tax: 0n, shipping: 0n, flags: { differs } });
    }
  }
  const seen = new Set<string>();
  const whole = left.amount;
  const said = { tax: 0n, shipping: 0n };
  for (const back of inOrder(deeds.filter(isBack))) {
    if (back.refundId !== '' && seen.has(back.refundId)) continue;
    seen.add(back.refundId);
    if (sale === undefined && isCancelled(back)) continue;
    if (!passesAll(query.filters, sale ?? back)) continue;
    const takes = taken(back);
    const isOfOrder = worth !== null && (back.currency === '' || back.currency === currency);
    const entry = { ...of(back), what: 'refunded' as const, currency: back.currency || currency };
    const noOrder = sale === undefined;
    if (!isOfOrder) {
      const amount = typeof takes === 'bigint' ? takes : 0n;
      const rest = { tax: millionths(back.tax), shipping: millionths(back.shipping) };
      entries.push({ ...entry, amount, ...rest, flags: { noOrder, noAmount: typeof takes !== 'bigint' } });
      continue;
    }
    const wanted = takes === 'whole' ? whole : takes === 'unknown' ? 0n : takes;
    const amount = least(wanted, left.amount);
    left.amount -= amount;
    const part = (name: 'tax' | 'shipping'): bigint => {
      said[name] += millionths(back[name]);
      const paid = millionths(worth?.[name] ?? null);
      const gone = left.amount === 0n ? paid : least(paid, said[name]);
      const now = gone - (paid - left[name]);
      left[name] -= now;
      return now;
    };
    const flags = { noAmount: takes === 'unknown', cut: typeof takes === 'bigint' && amount < takes };
    entries.push({ ...entry, amount, tax: part('tax'), shipping: part('shipping'), flags });
  }
  return entries;
}

function amountOf(units: bigint, currency: string): number {
  const digits = DIGITS[currency] ?? Number.NaN;
  const last = 10 ** (6 - digits);
  const [whole, part] = [units / BigInt(last), Number(units % BigInt(last))];
  const up = Math.abs(part) * 2 >= last ? (units < 0n ? -1n : 1n) : 0n;
  return Number(whole + up) / 10 ** digits;
}

function payments(entries: readonly Entry[], currency: string) {
  const paid = entries.filter(({ what }) => what === 'paid');
  const refunded = entries.filter(({ what }) => what === 'refunded');
  const sum = (of: readonly Entry[], part: 'amount' | 'tax' | 'shipping'): bigint =>
    of.reduce((all, one) => all + one[part], 0n);
  const less = (part: 'amount' | 'tax' | 'shipping'): number =>
    amountOf(sum(paid, part) - sum(refunded, part), currency);
  return {
    orders: paid.length,
    persons: new Set(paid.map(({ person }) => person)).size,
    gross: amountOf(sum(paid, 'amount'), currency),
    refunded: refunded.filter(({ amount }) => amount > 0n).length,
    refunds: amountOf(sum(refunded, 'amount'), currency),
    net: less('amount'),
    tax: less('tax'),
    shipping: less('shipping'),
  };
}

function figures(entries: readonly Entry[], currency: string) {
  const [renewals = [], others = []] = [true, false].map((is) => entries.filter(({ renewal }) => renewal === is));
  return { ...payments(others, currency), renewals: payments(renewals, currency) };
}

/** Revenue by looking at each order. */
export function revenueByHand(query: RevenueQuery, ledger: Ledger): RevenueAnswer {
  const { from, to, interval, time_zone: zone = 'UTC', breakdown } = query;
  const starts = zonedCalendar(zone, interval, query);
  const before = [from, to].map((at) => zonedEarlier(zone, interval, at - (at === to ? 1 : 0), starts.length));
  const earlier = { from: before[0] ?? 0, to: (before[1] ?? 0) + 1 };
  const compares = query.compare !== undefined;
  const isIn = ({ from: begin, to: end }: { from: number; to: number }, { at }: { at: number }): boolean =>
    at >= begin && at < end;
  const names = ['purchase', 'refund', 'subscription_renewed', 'order_cancelled'];
  const orders = Map.groupBy(
    ledger.filter((deed) => names.includes(deed.name) && deed.at < to + 7 * DAY_MS),
    (deed) => {
      if (deed.orderId !== '') return `order ${deed.orderId}`;
      return isBack(deed) && deed.refundId !== '' ? `refund ${deed.refundId}` : `event ${deed.id}`;
    },
  );
  const all = [...orders.values()]
    .flatMap((deeds) => entriesOf(deeds, query))
    .map((entry) => converted(entry, query.currency));
  const now = all.filter((entry) => isIn(query, entry));
  const then = compares ? all.filter((entry) => isIn(earlier, entry)) : [];
  const currencies = [...new Set([...now, ...then].map(({ currency }) => currency))].map((currency) => {
    const [ofNow, ofThen] = [now, then].map((some) => some.filter((one) => one.currency === currency)) as [
      Entry[],
      Entry[],
    ];
    const cut = (some: Entry[], begins: number[]) => {
      const byStart = Map.groupBy(some, ({ at }) => zonedStart(zone, interval, at));
      const intervals = begins.map((start) => ({ from: start, ...figures(byStart.get(start) ?? [], currency) }));
      return { ...figures(some, currency), intervals };
    };
    const groupOf = (pick: (text: string) => boolean) => ({
      ...figures(
        ofNow.filter(({ text }) => pick(text)),
        currency,
      ),
      ...(compares
        ? {
            before: figures(
              ofThen.filter(({ text }) => pick(text)),
              currency,
            ),
          }
        : {}),
    });
    const came = (text: string): bigint =>
      ofNow.reduce((sum, one) => (one.text === text && one.what === 'paid' ? sum + one.amount : sum), 0n);
    const texts = [...new Set(ofNow.map(({ text }) => text))].sort(
      (a, b) => Number(came(b) - came(a)) || (a < b ? -1 : 1),
    );
    const listed = breakdown === undefined ? [] : texts.slice(0, breakdown.limit ?? 20);
    const others = new Set([...ofNow, ...ofThen].map(({ text }) => text).filter((text) => !listed.includes(text)));
    const hasOthers = breakdown !== undefined && others.size > 0;
    return {
      currency,
      digits: DIGITS[currency] ?? Number.NaN,
      ...cut(ofNow, starts),
      ...(compares ? { before: cut(ofThen, zonedCalendar(zone, interval, earlier)) } : {}),
      breakdown: listed.map((value) => ({ value, ...groupOf((text) => text === value) })),
      other: hasOthers ? { values: texts.length - listed.length, ...groupOf((text) => others.has(text)) } : null,
    };
  });
  const count = (what: Entry['what'], flag: keyof Entry['flags']): number =>
    now.filter((entry) => entry.what === what && entry.flags[flag] === true).length;
  const repeated = Map.groupBy(
    now.filter(({ what }) => what === 'repeated'),
    ({ orderId }) => orderId,
  );
  return {
    currencies: currencies.sort(
      (a, b) => b.orders + b.renewals.orders - a.orders - a.renewals.orders || (a.currency < b.currency ? -1 : 1),
    ),
    more_currencies: 0,
    repeated_orders: repeated.size,
    repeats: now.filter(({ what }) => what === 'repeated').length,
    differing_orders: [...repeated.values()].filter(([one]) => one?.flags.differs).length,
    repeated: [...repeated]
      .map(([order_id, { length: times }]) => ({ order_id, times }))
      .sort((a, b) => b.times - a.times || (a.order_id < b.order_id ? -1 : 1))
      .slice(0, 10),
    without_amount: count('paid', 'noAmount'),
    refunds_without_order: count('refunded', 'noOrder'),
    refunds_without_amount: count('refunded', 'noAmount'),
    refunds_cut: count('refunded', 'cut'),
    converted: count('paid', 'converted') + count('refunded', 'converted'),
  };
}
