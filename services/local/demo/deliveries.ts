import { request } from 'undici';
import type { LedgerEntry, LedgerPage } from '../platforms/acceptance_ledger.ts';

const PAGE_ENTRIES = 5_000;

/** What a stand-in did with one event: how often it accepted it, and how often that had an effect. */
export type Delivery = Pick<LedgerEntry, 'times' | 'effects'>;

/** Deliveries by event id. */
export type Deliveries = ReadonlyMap<string, Delivery>;

export interface DeliveryReader {
  /** How many events of the run have been delivered; reads only what the ledger has got since the last call. */
  count(): Promise<number>;
  /** Every delivery of the run, read anew. */
  list(): Promise<Deliveries>;
}

/** `code` is `standin_unreadable`: something else than the stand-in's ledger was answered. */
class StandinError extends Error {
  readonly code = 'standin_unreadable';
}

async function readPage(standin: string, cursor: number): Promise<LedgerPage> {
  const url = new URL(`/_standin/ledger?cursor=${cursor}&limit=${PAGE_ENTRIES}`, standin);
  const { statusCode, body } = await request(url);
  if (statusCode === 200) return (await body.json()) as LedgerPage;
  await body.dump();
  throw new StandinError(`${url.origin}${url.pathname} answered ${statusCode} with no ledger`);
}

/**
 * Reads a stand-in's ledger, which is in the order of first acceptance and holds other runs as well.
 *
 * @param idPrefix what every event id of the run begins with
 */
export function createDeliveryReader(standin: string, idPrefix: string): DeliveryReader {
  const seen = new Set<string>();
  /** How far the ledger has been counted, and how far it held nothing of the run. */
  let counted = 0;
  let before: number | null = null;

  async function* entriesFrom(start: number): AsyncGenerator<LedgerEntry[]> {
    for (let at: number | null = start; at !== null; ) {
      const page: LedgerPage = await readPage(standin, at);
      counted = Math.max(counted, at + page.events.length);
      const ours = page.events.filter(({ event_id }) => event_id.startsWith(idPrefix));
      if (ours.length > 0) before ??= at;
      yield ours;
      at = page.next_cursor;
    }
  }

  return {
    async count() {
      for await (const entries of entriesFrom(counted)) for (const { event_id } of entries) seen.add(event_id);
      return seen.size;
    },
    async list() {
      const deliveries = new Map<string, Delivery>();
      for await (const entries of entriesFrom(before ?? 0)) {
        for (const { event_id, times, effects } of entries) {
          const known = deliveries.get(event_id) ?? { times: 0, effects: 0 };
          deliveries.set(event_id, { times: known.times + times, effects: known.effects + effects });
        }
      }
      return deliveries;
    },
  };
}
