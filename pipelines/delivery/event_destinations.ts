import { isRecord, type Properties } from './properties.ts';
import { stated, unwrapped } from './stated.ts';

/**
 * The property in which an event says itself where it goes, in the form that event definitions have: `{ "meta": false }`.
 * `all` speaks for those that are not named: `{ "all": false, "webhook": true }`. Absent means send (SPEC 2.4).
 */
export const DESTINATIONS_PROPERTY = '$destinations';

/** Whether the event keeps itself from a destination. What cannot be read counts as a no, as it does of consent. */
export function keepsItselfFrom(properties: Properties, destination: string): boolean {
  const said = unwrapped(properties[DESTINATIONS_PROPERTY]);
  const flag = isRecord(said) ? firstStated(said[destination], said['all']) : stated(said);
  return flag === 'no' || flag === 'unreadable';
}

const firstStated = (own: unknown, all: unknown) => (stated(own) === 'absent' ? stated(all) : stated(own));
