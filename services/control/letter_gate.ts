import type { Asker } from '#infra/clickhouse/query_ids.ts';
import type { DeadLetterStore } from '#infra/dead_letters/dead_letter_store.ts';
import { isOfDelivery } from '#pipelines/dead_letter_id.ts';
import { createQueryGate } from './query_gate.ts';

/** Dead letters, for somebody who asks. */
export type LettersFor = (asker: Asker) => DeadLetterStore;

/** Each reads Kafka anew and holds a page of letters, 8 MiB, in memory. */
const AT_ONCE = 4;
/** Of one who asks: the others pass by those that wait. */
const ASKER_AT_ONCE = 2;
/** Who waits for deliveries that are under way keeps no reader waiting; one at a time, as the store has them in turn anyway. */
const RESENDS_OF_DELIVERIES = { atOnce: 1, siteAtOnce: 1 };

/**
 * Lets so many through to dead letters at once, as queries to ClickHouse. What is searched for an event has its own queue, which
 * shares equal searches.
 *
 * @param waitingMsMax How long one may wait before it is refused with QueryBusyError.
 */
export function gateLetters(letters: DeadLetterStore, waitingMsMax?: number): LettersFor {
  const gate = createQueryGate({ atOnce: AT_ONCE, siteAtOnce: ASKER_AT_ONCE }, waitingMsMax);
  const deliveries = createQueryGate(RESENDS_OF_DELIVERIES, waitingMsMax);
  return ({ label, signal }) => {
    const pass = <T>(ask: () => Promise<T>): Promise<T> => gate.pass(label, signal, ask);
    return {
      list: (query) => pass(() => letters.list(query)),
      read: (places) => pass(() => letters.read(places)),
      ofEvent: letters.ofEvent,
      async resend(places, rules) {
        const undelivered = places.filter(isOfDelivery);
        const others = places.filter((place) => !isOfDelivery(place));
        const resent =
          undelivered.length === 0
            ? []
            : await deliveries.pass(label, signal, () => letters.resend(undelivered, rules));
        const isAll = others.length === 0 && undelivered.length > 0;
        return new Map([...resent, ...(isAll ? [] : await pass(() => letters.resend(others, rules)))]);
      },
      resolve: (places, note, by) => pass(() => letters.resolve(places, note, by)),
      reopen: (places, by) => pass(() => letters.reopen(places, by)),
    };
  };
}
