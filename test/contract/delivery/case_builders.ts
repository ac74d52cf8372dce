import { createHash } from 'node:crypto';
import { ACTION_SOURCES, type ActionSource, type Identifiers } from '#schemas/event.ts';
import { type EntryChanges, entryOf, NO_IDENTIFIERS } from '#test/unit/delivery/entries.ts';
import type { MappingCase } from './subject.ts';

export const DAY_MS = 86_400_000;
export const PAGE = { $current_url: 'https://shop.example/thanks' };

/** SHA-256 in hex, made here on its own. */
export const hash = (text: string): string => createHash('sha256').update(text).digest('hex');

/** Hashes of one known person, each variant another. */
export const JANE = {
  email: hash('j.doe+ads@gmail.com'),
  email_google: hash('jdoe@gmail.com'),
  email_stripped: hash('jdoe@gmail.com (stripped)'),
  phone: hash('+16505551212'),
  phone_digits: hash('16505551212'),
  first_name: hash('maryann'),
  first_name_google: hash('mary ann'),
  last_name: hash('doe'),
  last_name_google: null,
  external_id: hash('Customer-42'),
};

const NOTHING: Identifiers = { ...NO_IDENTIFIERS };

/** What a sender that knows more of Jane gives beside: a second address and number, other forms of her names and number. */
export const MORE_OF_JANE: readonly Identifiers[] = [
  { ...NOTHING, email: hash('jane@work.example'), email_google: hash('jane@work.example (google)') },
  { ...NOTHING, phone: hash('+442079460958'), phone_digits: hash('442079460958') },
  {
    ...NOTHING,
    external_id: hash('customer-42'),
    first_name_google: hash('mary-ann'),
    last_name_google: hash("d'oe"),
  },
];

export const skips = (
  title: string,
  changes: EntryChanges,
  skip: string,
  rest: Partial<MappingCase> = {},
): MappingCase => ({
  title,
  entry: entryOf(changes),
  expected: { skip },
  ...rest,
});

/** Cases of one destination, whose request bodies hold an event's form at one place. */
export interface CaseBuilder {
  /** What is sent holds the form, and none of the paths below it. */
  sends(title: string, changes: EntryChanges, form: object, ...without: string[]): MappingCase;
  /** Pairs of a name that was given and the platform's. */
  names(pairs: readonly (readonly [given: string, expected: string])[], form: (name: string) => object): MappingCase[];
  sources(words: Record<ActionSource, object>): MappingCase[];
}

/**
 * @param wrap puts an event's form where the request body has it.
 * @param path of that place, as in `data[0]`; '' where the body is the form itself.
 */
export function caseBuilder(wrap: (form: object) => object, path: string): CaseBuilder {
  const sends: CaseBuilder['sends'] = (title, changes, form, ...without) => ({
    title,
    entry: entryOf(changes),
    expected: { form: wrap(form), without: without.map((field) => (path === '' ? field : `${path}.${field}`)) },
  });
  return {
    sends,
    names: (pairs, form) =>
      pairs.map(([given, expected]) => sends(`name: ${given} is ${expected}`, { event: given }, form(expected))),
    sources: (words) =>
      ACTION_SOURCES.map((action_source) => sends(`source: ${action_source}`, { action_source }, words[action_source])),
  };
}

/** The same case with settings of its own. */
export const withSettings = (one: MappingCase, settings: Record<string, string>): MappingCase => ({ ...one, settings });

const definition = (fields: object): string => JSON.stringify({ id: 'd', name: 'cta', trigger: 'click', ...fields });

/** The same case on a site whose event definition names the conversion that `cta` stands for. */
export const definedAs = (one: MappingCase, conversion_event: string): MappingCase => ({
  ...one,
  site: { event_definitions: [definition({ conversion_event })] },
});

/** An event whose definition switches a destination off. */
export const switchedOff = (destination: string): MappingCase => ({
  title: 'definition: switched off for this destination',
  entry: entryOf({ event: 'cta' }),
  site: { event_definitions: [definition({ destinations: { [destination]: false } })] },
  expected: { skip: 'not_in_destinations' },
});
