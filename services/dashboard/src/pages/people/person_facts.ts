import type { Listing } from '#pipelines/analytics/event_lists.ts';
import type { LiveQuery, TrendsQuery } from '#pipelines/analytics/query_schemas.ts';
import type { TrendsAnswer } from '#pipelines/analytics/trends/answer.ts';
import { lifeRange } from './find_people.ts';

type ListedEvent = Listing['events'][number];

const CURRENCIES_MAX = 20;
const DAY_MS = 86_400_000;
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

/** What one person bought, by currency. */
export function boughtQuestion(personId: string, nowMs: number): TrendsQuery {
  return {
    ...lifeRange(nowMs),
    interval: 'month',
    series: [{ events: ['purchase'], measure: { of: 'sum', field: { column: 'value' } } }],
    breakdown: { field: { column: 'currency' }, limit: CURRENCIES_MAX },
    filters: [{ field: { column: 'person_id' }, is: 'equal', to: [personId] }],
  };
}

export interface Bought {
  purchases: number;
  amounts: { currency: string; amount: number }[];
}

/** The answer to boughtQuestion; amounts of different currencies are no sum. */
export function boughtOf({ series: [all] }: TrendsAnswer): Bought {
  const groups = all?.breakdown ?? [];
  return {
    purchases: all?.events ?? 0,
    amounts: groups.flatMap(({ value, measured }) => (measured ? [{ currency: value, amount: measured }] : [])),
  };
}

/** What arrived last, to know who was there. By the minute, so that equal questions share an answer. */
export function newestQuestion(nowMs: number): LiveQuery {
  return { received_after: Math.floor((nowMs - DAY_MS) / MINUTE_MS) * MINUTE_MS, limit: LOOKED_MAX };
}

/** Somebody by the newest event of theirs. */
export interface Seen {
  personId: string;
  last: ListedEvent;
  /** Among those that were looked at. */
  events: number;
}

/** The people of some events, who was there last first. */
export function seenLast(events: readonly ListedEvent[]): Seen[] {
  return [...Map.groupBy(events, ({ person_id }) => person_id)]
    .flatMap(([personId, own]) => {
      const [last] = own.toSorted((a, b) => b.timestamp - a.timestamp);
      return last === undefined ? [] : [{ personId, last, events: own.length }];
    })
    .sort((a, b) => b.last.timestamp - a.last.timestamp);
}
