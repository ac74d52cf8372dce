import type { Listing, RecentEventsQuery } from '#pipelines/analytics/event_lists.ts';
import { OUR_NAMES } from '#pipelines/analytics/event_names.ts';
import type { Filter } from '#pipelines/analytics/filters.ts';
import type { RevenueAnswer } from '#pipelines/analytics/revenue/answer.ts';
import type { RevenueQuery } from '#pipelines/analytics/revenue/query.ts';
import type { TopQuery } from '#pipelines/analytics/top.ts';
import { normaliseEmail } from '#pipelines/privacy/normalise_text.ts';
import { money, queryCalendar } from '../../format.ts';

const DAY_MS = 86_400_000;
/** As long as a question may be about. */
const SEARCHED_MS = 799 * DAY_MS;
const FOUND_MAX = 50;
const SHA256 = /^[0-9a-f]{64}$/i;
/** As rows have phone numbers. */
const PHONE_HMAC = /^[\w-]{32}$/;
/** A phone number with the code of its country, however it is grouped. */
const PHONE = /^\+(?:[\s()./-]*\d){7,15}$/;

/** An e-mail address or a phone number as it is hashed; null where a text is neither. */
function addressIn(text: string): { column: 'email_sha256' | 'phone_hmac'; normal: string } | null {
  const email = normaliseEmail(text);
  if (email !== null) return { column: 'email_sha256', normal: email };
  return PHONE.test(text) ? { column: 'phone_hmac', normal: `+${text.replaceAll(/\D/g, '')}` } : null;
}

/** The SHA-256 of a text in hex, by the browser itself; null where it does not offer that, on a page without HTTPS. */
async function sha256(text: string): Promise<string | null> {
  if (globalThis.isSecureContext === false) return null;
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

const isHash = (hash: string): Filter[] =>
  (['email_sha256', 'phone_hmac', 'external_id_sha256'] as const).map((column) => ({
    ...{ field: { column }, is: 'equal', to: [hash.toLowerCase()] },
  }));

/**
 * The question whose answer are the persons that a text stands for, by how many events each has: an e-mail address or a phone
 * number, which only its hash leaves the browser of, a hash, or an id. Null: it is an address, and cannot be hashed here.
 */
export async function peopleQuestion(text: string, nowMs: number): Promise<TopQuery | null> {
  const any = await filtersOf(text.trim());
  if (any === null) return null;
  const to = Math.ceil(nowMs / DAY_MS) * DAY_MS;
  return { from: to - SEARCHED_MS, to, field: { column: 'person_id' }, filters: [{ any }], limit: FOUND_MAX };
}

/** What a search is told by in the address of the page: an address or number by its hash; null where it cannot be hashed. */
export async function searchInAddress(text: string): Promise<string | null> {
  const address = addressIn(text.trim());
  return address === null ? text.trim() : sha256(address.normal);
}

async function filtersOf(text: string): Promise<Filter[] | null> {
  const address = addressIn(text);
  const hash = await sha256(address?.normal ?? text);
  if (address !== null) return hash === null ? null : [{ field: { column: address.column }, is: 'equal', to: [hash] }];
  return [
    { field: { column: 'person_id' }, is: 'equal', to: [text] },
    { field: { column: 'distinct_id' }, is: 'equal', to: [text] },
    { field: { column: 'order_id' }, is: 'equal', to: [text] },
    ...(SHA256.test(text) ? isHash(text) : []),
    ...(PHONE_HMAC.test(text) ? [{ field: { column: 'phone_hmac' } as const, is: 'equal' as const, to: [text] }] : []),
    ...(hash === null ? [] : [{ field: { column: 'external_id_sha256' } as const, is: 'equal' as const, to: [hash] }]),
  ];
}

export function ofPerson(personId: string, column: 'distinct_id' | 'client_user_agent', nowMs: number): TopQuery {
  const to = Math.ceil(nowMs / DAY_MS) * DAY_MS;
  return {
    ...{ from: to - SEARCHED_MS, to, field: { column }, limit: FOUND_MAX },
    filters: [{ field: { column: 'person_id' }, is: 'equal', to: [personId] }],
  };
}

export function lifeRange(nowMs: number): { from: number; to: number } {
  const to = Math.ceil(nowMs / DAY_MS) * DAY_MS;
  return { from: to - SEARCHED_MS, to };
}

type ListedEvent = Listing['events'][number];

const MINUTE_MS = 60_000;
const LOOKED_MAX = 1_000;

/** Where an event happened, in a few words: the path of its page and the page's title; empty where it names none. */
export function pageText(properties: Readonly<Record<string, unknown>>): string {
  const text = (...names: string[]): string => {
    const found = names.map((name) => properties[name]).find((value) => typeof value === 'string' && value !== '');
    return typeof found === 'string' ? found : '';
  };
  const address = text('$current_url', 'page_location', 'url');
  const title = text('$title', 'page_title', 'title');
  const path = URL.parse(address)?.pathname ?? address;
  return [path, title].filter((part) => part !== '').join(' · ');
}

/** The amount of an event as it counts: less than nothing of a refund, however it was sent; empty where it has none. */
export function amountText({ event, value, currency }: Pick<ListedEvent, 'event' | 'value' | 'currency'>): string {
  if (value === null) return '';
  const isRefund = (OUR_NAMES.get(event) ?? event) === 'refund';
  return money(isRefund ? -Math.abs(value) : value, currency);
}

/** What somebody paid, each order once, since the first event of theirs that is known. */
export const boughtQuestion = (personId: string, sinceMs: number, nowMs: number): RevenueQuery => ({
  ...{ from: Math.floor(sinceMs / DAY_MS) * DAY_MS, to: lifeRange(nowMs).to },
  ...{ interval: 'month', ...queryCalendar() },
  filters: [{ field: { column: 'person_id' }, is: 'equal', to: [personId] }],
});

interface Bought {
  purchases: number;
  amounts: { currency: string; amount: number }[];
}

/** The answer to boughtQuestion, renewals included; amounts of different currencies are no sum. */
export const boughtOf = ({ currencies }: RevenueAnswer): Bought => ({
  purchases: currencies.reduce((all, { orders, renewals }) => all + orders + renewals.orders, 0),
  amounts: currencies
    .filter(({ gross, renewals }) => gross + renewals.gross > 0)
    .map(({ currency, net, renewals }) => ({ currency, amount: net + renewals.net })),
});

/** What arrived last, to know who was there. By the minute, so that equal questions share an answer. */
export const newestQuestion = (nowMs: number): RecentEventsQuery => ({
  received_after: Math.floor((nowMs - DAY_MS) / MINUTE_MS) * MINUTE_MS,
  limit: LOOKED_MAX,
});

/** Somebody by the newest event of theirs. */
export interface Seen {
  personId: string;
  last: ListedEvent;
  /** Among those that were looked at. */
  events: number;
}

export const seenLast = (events: readonly ListedEvent[]): Seen[] =>
  [...Map.groupBy(events, ({ person_id }) => person_id)]
    .flatMap(([personId, own]) => {
      const [last] = own.toSorted((a, b) => b.timestamp - a.timestamp);
      return last === undefined ? [] : [{ personId, last, events: own.length }];
    })
    .sort((a, b) => b.last.timestamp - a.last.timestamp);

/** The first that a user agent names is meant: each of them names those after it as well. */
const PROGRAMS: readonly [pattern: RegExp, name: string][] = [
  [/\bEdg(?:A|iOS)?\//, 'Edge'],
  [/\b(?:OPR|Opera)\//, 'Opera'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\b(?:Firefox|FxiOS)\//, 'Firefox'],
  [/\b(?:Chrome|Chromium|CriOS)\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
];
const SYSTEMS: readonly [pattern: RegExp, name: string][] = [
  [/\b(?:iPhone|iPod)\b/, 'iPhone'],
  [/\biPad\b/, 'iPad'],
  [/\bAndroid\b/, 'Android'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b/, 'macOS'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bLinux\b/, 'Linux'],
];

/** What a user agent says of itself, in two words; itself where it says neither. */
export function deviceName(userAgent: string): string {
  if (userAgent === '') return 'No browser';
  const named = (list: typeof PROGRAMS): string[] =>
    list.filter(([pattern]) => pattern.test(userAgent)).map(([, name]) => name);
  const [program] = named(PROGRAMS);
  const [system] = named(SYSTEMS);
  if (program === undefined && system === undefined) return userAgent;
  return [program ?? 'Other browser', ...(system === undefined ? [] : [`on ${system}`])].join(' ');
}
