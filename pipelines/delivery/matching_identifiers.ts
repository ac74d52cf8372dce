import { noIdentifiers } from '#pipelines/privacy/identifiers.ts';
import type { EventEntry, Identifiers } from '#schemas/event.ts';
import type { MapContext } from './contract.ts';

const NONE = noIdentifiers();

/** A base and its variants are taken from one source together: a variant that is null equals its own base. */
function pick<Keys extends keyof Identifiers>(
  base: keyof Identifiers,
  keys: readonly Keys[],
  own: Identifiers,
  known: Identifiers,
): Pick<Identifiers, Keys> {
  const source = own[base] === null ? known : own;
  return Object.fromEntries(keys.map((key) => [key, source[key]])) as Pick<Identifiers, Keys>;
}

/**
 * The identifiers to match an event by: its own, completed by those known of the person. Nothing is added to an event
 * taken in offline mode, which stays anonymous.
 */
export function matchingIdentifiers(entry: EventEntry): Identifiers {
  const own = entry.event.identifiers ?? NONE;
  const known = entry.event.mode === 'offline' ? NONE : (entry.person?.identifiers ?? NONE);
  return {
    ...pick('email', ['email', 'email_google', 'email_stripped'], own, known),
    ...pick('phone', ['phone', 'phone_digits'], own, known),
    ...pick('first_name', ['first_name', 'first_name_google'], own, known),
    ...pick('last_name', ['last_name', 'last_name_google'], own, known),
    ...pick('external_id', ['external_id'], own, known),
  };
}

/** Every hash of one kind that the event may be matched by, each once, that of `identifiers` first. */
export function everyHash(
  { identifiers, further }: Pick<MapContext<unknown>, 'identifiers' | 'further'>,
  variant: (identifiers: Identifiers) => string | null,
): string[] {
  return [...new Set([identifiers, ...further].flatMap((one) => variant(one) ?? []))];
}
