import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import { request } from 'undici';
import type { Deliveries } from './compare.ts';

const LEDGER = Type.Object({
  events: Type.Array(Type.Object({ event_id: Type.String(), times: Type.Integer({ minimum: 1 }) })),
});
type StandinLedger = Static<typeof LEDGER>;

/** `code` is `standin_unreadable`: it answered with another status, or with something that is not its ledger. */
export class StandinError extends Error {
  readonly code = 'standin_unreadable';
}

async function readLedger(standin: string): Promise<StandinLedger> {
  const url = new URL('/_standin/ledger', standin);
  const { statusCode, body } = await request(url);
  const value: unknown = statusCode === 200 ? await body.json() : null;
  if (Value.Check(LEDGER, value)) return value;
  throw new StandinError(`${url.href} answered ${statusCode} with no ledger`);
}

/** The run's events that a stand-in has accepted, each with how often. */
export async function readDeliveries(standin: string, idPrefix: string): Promise<Deliveries> {
  const { events } = await readLedger(standin);
  return new Map(
    events.filter(({ event_id }) => event_id.startsWith(idPrefix)).map(({ event_id, times }) => [event_id, times]),
  );
}
