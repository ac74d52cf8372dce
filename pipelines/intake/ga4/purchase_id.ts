import { canonicalJson } from '#pipelines/intake/canonical_json.ts';
import { digestId } from '#pipelines/intake/event_id.ts';
import { readShortText } from '#pipelines/intake/short_text.ts';
import { isPlaceholderId } from '#pipelines/privacy/placeholder_id.ts';
import type { Caller } from '#schemas/event.ts';

/** What a purchase is known by that has no id of its own, and who says so. */
export interface SentPurchase {
  transactionId: unknown;
  clientId: unknown;
  caller: Caller;
}

/** An id that says something; a placeholder would be that of many. */
export function statedId(sent: unknown): string | null {
  const id = readShortText(sent);
  return id === null || isPlaceholderId(id) ? null : id;
}

/** A client id as gtag keeps it in its cookie: a random number of 31 bits, and the second in which it was made. */
const OF_GTAG = /^\d{1,10}\.\d{10}$/;

/**
 * The id of a purchase by its transaction and its client, as GA4 takes purchases for one by transaction and user. The
 * transaction alone is often an order number that can be guessed: with that as id, a stranger's hit would make the real
 * order a duplicate. A server that states no browser's client id is believed, and its purchase is known by the
 * transaction alone, whatever it makes up as client id. Null where a browser states no client.
 */
export function purchaseId({ transactionId, clientId, caller }: SentPurchase, secret: Buffer): string | null {
  const transaction = statedId(transactionId);
  if (transaction === null) return null;
  const client = readShortText(clientId);
  if (caller === 'server' && !OF_GTAG.test(client ?? '')) return transaction;
  return client === null ? null : digestId(canonicalJson(['ga4 purchase', client, transaction]), secret);
}
