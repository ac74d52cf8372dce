// What a destination's rules make of an event, before it is mapped: whether it goes, under which name, without which properties.

import { folded, isRecord, type Properties } from '#pipelines/events/vocabulary.ts';
import { matchesText } from '#pipelines/settings/url_pattern.ts';
import type { Event, EventEntry, Identifiers } from '#schemas/event.ts';
import type { DestinationRule } from '#schemas/setting.ts';

/** Skipped by a rule. */
export const RULE_SKIP = 'rule';

/**
 * The first rule that is for an event, of whose names (its own, its definition's conversion event, the standard one) one fits a
 * pattern: `*` is any text, case and separators do not matter. Null where none is: then it goes as it is.
 */
export function ruleFor(rules: readonly DestinationRule[], names: readonly (string | null)[]): DestinationRule | null {
  if (rules.length === 0) return null;
  const given = names.flatMap((name) => (name === null ? [] : [folded(name)]));
  const fits = (pattern: string): boolean => given.some((name) => matchesText(folded(pattern), name));
  return rules.find(({ events }) => events.length === 0 || events.some(fits)) ?? null;
}

type EventField = Exclude<keyof Event, 'event' | 'properties'>;

/** Recognised properties that are fields of an event: they are dropped there too. */
const FIELDS: Readonly<Record<string, EventField>> = {
  ...{ value: 'value', currency: 'currency', order_id: 'order_id' },
  ...{ city: 'city', state: 'state', zip: 'zip', country: 'country' },
  ...{ client_ip_address: 'client_ip', client_user_agent: 'client_user_agent' },
};

/** Those that are kept as hashes, in every variant; also what is known of the person is not sent then. */
const HASHES: Readonly<Record<string, readonly (keyof Identifiers)[]>> = {
  email: ['email', 'email_google', 'email_stripped'],
  phone: ['phone', 'phone_digits'],
  first_name: ['first_name', 'first_name_google'],
  last_name: ['last_name', 'last_name_google'],
  external_id: ['external_id'],
};

/** An event as a rule lets it go. */
export interface RuledEvent {
  entry: EventEntry;
  properties: Properties;
  /** What was dropped, by path, each once, in order. */
  dropped: string[];
}

/** Renames an event and drops properties of it. What it was given stays as it was. */
export function applyRule(
  { rename_to, drop_properties }: Pick<DestinationRule, 'rename_to' | 'drop_properties'>,
  { entry, properties }: Pick<RuledEvent, 'entry' | 'properties'>,
): RuledEvent {
  const dropped = new Set<string>();
  const kept = drop_properties.reduce<unknown>(
    (value, pattern) => without(value, pattern.split('.'), '', dropped),
    properties,
  ) as Properties;
  const isDropped = (name: string): boolean => drop_properties.some((pattern) => matchesText(pattern, name));
  const event = { ...entry.event, event: rename_to ?? entry.event.event };
  for (const [name, field] of Object.entries(FIELDS)) {
    if (!isDropped(name) || event[field] === null) continue;
    Object.assign(event, { [field]: null });
    dropped.add(name);
  }
  const hashes = Object.keys(HASHES).filter(isDropped);
  const nulls = Object.fromEntries(hashes.flatMap((name) => HASHES[name] ?? []).map((field) => [field, null]));
  const bare = <Of extends Identifiers | null>(of: Of): Of => (of === null ? of : { ...of, ...nulls });
  const has = (of: Identifiers | null | undefined, name: string): boolean =>
    (HASHES[name] ?? []).some((field) => of?.[field] != null);
  const known = [entry.event.identifiers, entry.person?.identifiers, ...(entry.event.further_identifiers ?? [])];
  for (const name of hashes) if (known.some((of) => has(of, name))) dropped.add(name);
  const { person } = entry;
  return {
    entry: {
      ...entry,
      person: person === null ? null : { ...person, identifiers: bare(person.identifiers) },
      event: {
        ...event,
        identifiers: bare(event.identifiers),
        ...(event.further_identifiers && { further_identifiers: event.further_identifiers.map(bare) }),
      },
    },
    properties: kept,
    dropped: [...dropped],
  };
}

/** A value without what a path leads to, through lists as through their items. What it was given stays as it was. */
function without(value: unknown, path: readonly string[], at: string, dropped: Set<string>): unknown {
  if (Array.isArray(value)) return value.map((item) => without(item, path, at, dropped));
  if (!isRecord(value)) return value;
  const [step = '', ...rest] = path;
  const kept = Object.entries(value).flatMap(([key, inner]): [string, unknown][] => {
    if (!matchesText(step, key)) return [[key, inner]];
    if (rest.length > 0) return [[key, without(inner, rest, `${at}${key}.`, dropped)]];
    dropped.add(`${at}${key}`);
    return [];
  });
  return Object.fromEntries(kept);
}
