import { atRate } from '../load/request_rate.ts';
import { send } from '../load/send.ts';
import type { Row, RowContext } from '../row.ts';

const COPIES = 20;
const SENDERS = 8;
const EVENTS_IN_REQUEST = 40;
/** Below the limit of 1000 requests in 10 s for a key. */
const REQUESTS_PER_SECOND = 80;

/**
 * Every event is sent twenty times over: by several connections at once, to all edges, in requests mixed anew each time,
 * so that copies of one event lie on several partitions.
 */
export const DUPLICATE_STORM: Row = {
  name: 'duplicate_storm',
  smoke: true,
  async fault(context) {
    await context.untilSent(context.events);
    await sendAgain(context, COPIES - 1);
  },
};

/** Sends all that was sent so far again, so many times, from several connections to all edges, in requests mixed anew each time. */
export async function sendAgain({ world, site, ledger, random }: RowContext, times: number): Promise<void> {
  const originals = ledger.entries().map(({ event }) => event);
  const requests = Array.from({ length: times }, () => {
    const mixed = originals.map((event) => ({ event, place: random.next() })).sort((a, b) => a.place - b.place);
    return Array.from({ length: Math.ceil(mixed.length / EVENTS_IN_REQUEST) }, (_, index) =>
      mixed.slice(index * EVENTS_IN_REQUEST, (index + 1) * EVENTS_IN_REQUEST).map(({ event }) => event),
    );
  }).flat();
  const nextTurn = atRate(REQUESTS_PER_SECOND);
  const sender = async (name: string): Promise<void> => {
    for (let request = requests.pop(); request !== undefined; request = requests.pop()) {
      await nextTurn();
      const edge = world.edges[requests.length % world.edges.length] as string;
      ledger.note(request, await send(edge, site.serverKey, request, name));
    }
  };
  await Promise.all(Array.from({ length: SENDERS }, (_, index) => sender(`198.51.100.${100 + index}`)));
}
