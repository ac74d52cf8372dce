// What a destination's rules make of an event, before it is mapped: whether it goes, under which name, without which properties.

import { folded, isRecord, type Properties } from '#pipelines/events/vocabulary.ts';
import { IDENTIFIER_VARIANTS, type Identifier } from '#pipelines/privacy/hash_identifiers.ts';
import { matchesParts } from '#pipelines/settings/url_pattern.ts';
import type { Event, EventEntry, Identifiers } from '#schemas/event.ts';
import type { DestinationRule } from '#schemas/setting.ts';

/** Skipped by a rule. */
export const RULE_SKIP = 'rule';

/** Texts to compare with: those without `*` by look-up, the others by their parts. */
interface Patterns {
  exact: ReadonlySet<string>;
  starred: readonly (readonly string[])[];
}

function patternsOf(texts: readonly string[]): Patterns {
  const starred = texts.filter((text) => text.includes('*')).map((text) => text.split('*'));
  return { exact: new Set(texts), starred };
}

const fits = ({ exact, starred }: Patterns, text: string): boolean =>
  exact.has(text) || starred.some((parts) => matchesParts(parts, text));

/** What is left of paths to drop, by their next step. */
interface Step {
  /** What is left in one text: a last step, or a flat name that has dots itself. */
  whole: string[];
  next: Map<string, Step>;
}

/** As `Step`, to be walked. */
interface Walk {
  drops: Patterns;
  exact: ReadonlyMap<string, Walk>;
  starred: readonly (readonly [readonly string[], Walk])[];
}

function walkOf(paths: readonly string[]): Walk {
  const root: Step = { whole: [], next: new Map() };
  for (const path of paths) {
    let step = root;
    const names = path.toLowerCase().split('.');
    names.forEach((name, at) => {
      step.whole.push(names.slice(at).join('.'));
      if (at === names.length - 1) return;
      const next = step.next.get(name) ?? { whole: [], next: new Map() };
      step.next.set(name, next);
      step = next;
    });
  }
  const compiled = ({ whole, next }: Step): Walk => {
    const children = [...next].map(([name, step]) => [name, compiled(step)] as const);
    const starred = children.flatMap(([name, walk]) => (name.includes('*') ? [[name.split('*'), walk] as const] : []));
    return { drops: patternsOf(whole), exact: new Map(children), starred };
  };
  return compiled(root);
}

interface CompiledRule {
  events: Patterns;
  walk: Walk;
}

const compiledRules = new WeakMap<object, CompiledRule>();

/** Once for each rule: settings keep theirs until they change. */
function compiledRule(rule: Pick<DestinationRule, 'events' | 'drop_properties'>): CompiledRule {
  const known = compiledRules.get(rule);
  if (known !== undefined) return known;
  const compiled = { events: patternsOf(rule.events.map(folded)), walk: walkOf(rule.drop_properties) };
  compiledRules.set(rule, compiled);
  return compiled;
}

/**
 * The first rule that is for an event, of whose names (its own, its definition's conversion event, the standard one) one fits a
 * pattern: `*` is any text, case and separators do not matter. Null where none is: then it goes as it is.
 */
export function ruleFor(rules: readonly DestinationRule[], names: readonly (string | null)[]): DestinationRule | null {
  if (rules.length === 0) return null;
  const given = names.flatMap((name) => (name === null ? [] : [folded(name)]));
  const isFor = (rule: DestinationRule): boolean => {
    const { events } = compiledRule(rule);
    return given.some((name) => fits(events, name));
  };
  return rules.find((rule) => rule.events.length === 0 || isFor(rule)) ?? null;
}

/** Whether a rule leaves out an identifier, in every variant. */
export const dropsIdentifier = (rule: DestinationRule, name: Identifier): boolean =>
  fits(compiledRule(rule).walk.drops, name);

type EventField = Exclude<keyof Event, 'event' | 'properties'>;

/** Recognised properties that are fields of an event: they are dropped there too. */
const FIELDS: Readonly<Record<string, EventField>> = {
  ...{ value: 'value', currency: 'currency', order_id: 'order_id' },
  ...{ city: 'city', state: 'state', zip: 'zip', country: 'country' },
  ...{ client_ip_address: 'client_ip', client_user_agent: 'client_user_agent' },
};

/** Those that are kept as hashes: they are dropped in every variant, and what is known of the person is not sent then. */
const HASHED = Object.keys(IDENTIFIER_VARIANTS) as Identifier[];

/** An event as a rule lets it go. */
export interface RuledEvent {
  entry: EventEntry;
  properties: Properties;
  /** What was dropped, by path, each once, in order. */
  dropped: string[];
  /** Hashes that are not sent, whoever they are known from. */
  withheld: Partial<Record<keyof Identifiers, null>>;
}

/** Renames an event and drops properties of it. What it was given stays as it was. */
export function applyRule(
  rule: DestinationRule,
  { entry, properties }: Pick<RuledEvent, 'entry' | 'properties'>,
): RuledEvent {
  const { rename_to } = rule;
  const { walk } = compiledRule(rule);
  const dropped = new Set<string>();
  const kept = without(properties, [walk], '', dropped) as Properties;
  const isDropped = (name: string): boolean => fits(walk.drops, name);
  const event = { ...entry.event, event: rename_to ?? entry.event.event };
  for (const [name, field] of Object.entries(FIELDS)) {
    if (!isDropped(name) || event[field] === null) continue;
    Object.assign(event, { [field]: null });
    dropped.add(name);
  }
  const hashes = HASHED.filter(isDropped);
  const withheld: RuledEvent['withheld'] = Object.fromEntries(
    hashes.flatMap((name) => IDENTIFIER_VARIANTS[name]).map((field) => [field, null]),
  );
  const bare = <Of extends Identifiers | null>(of: Of): Of => (of === null ? of : { ...of, ...withheld });
  const has = (of: Identifiers | null | undefined, name: Identifier): boolean =>
    IDENTIFIER_VARIANTS[name].some((field) => of?.[field] != null);
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
    withheld,
  };
}

/** A value without what paths lead to, through lists as through their items. What it was given stays as it was. */
function without(value: unknown, walks: readonly Walk[], at: string, dropped: Set<string>): unknown {
  if (walks.length === 0) return value;
  if (Array.isArray(value)) return value.map((item) => without(item, walks, at, dropped));
  if (!isRecord(value)) return value;
  const kept = Object.entries(value).flatMap(([key, inner]): [string, unknown][] => {
    const name = key.toLowerCase();
    if (walks.some(({ drops }) => fits(drops, name))) {
      dropped.add(`${at}${key}`);
      return [];
    }
    const next = walks.flatMap(({ exact, starred }) => [
      ...[exact.get(name) ?? []].flat(),
      ...starred.flatMap(([parts, walk]) => (matchesParts(parts, name) ? [walk] : [])),
    ]);
    return [[key, without(inner, next, `${at}${key}.`, dropped)]];
  });
  return Object.fromEntries(kept);
}
