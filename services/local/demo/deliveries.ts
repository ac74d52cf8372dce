import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import { request } from 'undici';

const PAGE = Type.Object({
  /** One entry for each idempotency key; `effects` is how often the platform counted it. */
  events: Type.Array(Type.Object({ event_id: Type.String(), times: Type.Integer(), effects: Type.Integer() })),
  next_cursor: Type.Union([Type.Integer(), Type.Null()]),
});
type Page = Static<typeof PAGE>;

const PAGE_ENTRIES = 5_000;

/** What a stand-in did with one event: how often it accepted it, and how often that had an effect. */
export interface Delivery {
  times: number;
  effects: number;
}

/** Deliveries by event id. */
export type Deliveries = ReadonlyMap<string, Delivery>;

export interface DeliveryReader {
  /** How many events of the run have been delivered; reads only what the ledger has got since the last call. */
  count(): Promise<number>;
  /** Every delivery of the run, read anew. */
  list(): Promise<Deliveries>;
}

/** `code` is `standin_unreadable`: it answered with another status, or with something that is not its ledger. */
class StandinError extends Error {
  readonly code = 'standin_unreadable';
}

async function readPage(standin: string, cursor: number): Promise<Page> {
  const url = new URL(`/_standin/ledger?cursor=${cursor}&limit=${PAGE_ENTRIES}`, standin);
  const { statusCode, body } = await request(url);
  const text = await body.text();
  const value: unknown = statusCode === 200 ? JSON.parse(text) : null;
  if (Value.Check(PAGE, value)) return value;
  throw new StandinError(`${url.origin}${url.pathname} answered ${statusCode} with no ledger`);
}

/**
 * Reads a stand-in's ledger, which is in the order of first acceptance and holds other runs as well.
 *
 * @param standin its address
 * @param idPrefix what every event id of the run begins with
 */
export function createDeliveryReader(standin: string, idPrefix: string): DeliveryReader {
  const seen = new Set<string>();
  /** Where the run's first entry was seen, and where the next one may be. */
  let begin: number | null = null;
  let cursor = 0;

  async function* entriesFrom(start: number): AsyncGenerator<{ page: Page; at: number }> {
    for (let at: number | null = start; at !== null; ) {
      const page: Page = await readPage(standin, at);
      yield { page, at };
      at = page.next_cursor;
    }
  }

  async function count(): Promise<number> {
    for await (const { page, at } of entriesFrom(cursor)) {
      const ours = page.events.filter(({ event_id }) => event_id.startsWith(idPrefix));
      for (const { event_id } of ours) seen.add(event_id);
      if (ours.length > 0) begin ??= at;
      cursor = at + page.events.length;
    }
    return seen.size;
  }

  async function list(): Promise<Deliveries> {
    const deliveries = new Map<string, Delivery>();
    for await (const { page } of entriesFrom(begin ?? 0)) {
      for (const { event_id, times, effects } of page.events) {
        if (!event_id.startsWith(idPrefix)) continue;
        const known = deliveries.get(event_id) ?? { times: 0, effects: 0 };
        deliveries.set(event_id, { times: known.times + times, effects: known.effects + effects });
      }
    }
    return deliveries;
  }

  return { count, list };
}
