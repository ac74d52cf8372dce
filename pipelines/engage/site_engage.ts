// A site's definitions, read and ready to be decided about.

import { Compile, type Validator } from 'typebox/compile';
import { Value } from 'typebox/value';
import { holdsPersonalText } from '#pipelines/privacy/redact_text.ts';
import { type Problem, problem, unless } from '#pipelines/settings/problems.ts';
import type { EngageItem } from '#schemas/setting.ts';
import { contentOf } from './content.ts';
import { type EngageKind, type ItemName, itemName, PATTERN_WORDS } from './definition_fields.ts';
import { DEFINITION_SCHEMAS, type Definition, type Definitions, ownProblems } from './definition_problems.ts';

/** A definition, ready to be decided about. */
export interface ReadyItem {
  kind: EngageKind;
  id: string;
  name: ItemName;
  version: number;
  definition: Definition;
  /** Its answer to a visitor up to the token, as JSON without the closing brace; by the language asked for. */
  answerIn(locale: string | null): string;
}

/** The definitions of one site. */
interface SiteEngage {
  /** Those that are enabled, the most important first. */
  items: readonly ReadyItem[];
  byName: ReadonlyMap<string, ReadyItem>;
  /** By the name of an event that audiences ask for: how many days back the one looks that looks back most. */
  audienceEvents: ReadonlyMap<string, number>;
}

const ready = new WeakMap<readonly EngageItem[], SiteEngage>();

/** A site's definitions, read once for each state of them; one that cannot be read is left out. */
export function siteEngage(items: readonly EngageItem[]): SiteEngage {
  const known = ready.get(items);
  if (known !== undefined) return known;
  const all = items.flatMap(readyItem);
  const enabled = all.filter(({ definition }) => definition.enabled).sort(byPriority);
  const made = {
    items: enabled,
    byName: new Map(all.map((item) => [item.name, item])),
    audienceEvents: daysByEvent(enabled.flatMap(({ definition }) => definition.targeting.audience)),
  };
  ready.set(items, made);
  return made;
}

function daysByEvent(asked: Definition['targeting']['audience']): Map<string, number> {
  const days = new Map<string, number>();
  for (const { event, within_days } of asked) days.set(event, Math.max(within_days, days.get(event) ?? 0));
  return days;
}

function readyItem({ kind, id, version, definition: text }: EngageItem): ReadyItem[] {
  const definition = parseDefinition(kind, text);
  if (definition === null) return [];
  const answers = new Map<string, string>();
  return [
    {
      kind,
      id,
      name: itemName(kind, id),
      version,
      definition,
      answerIn(locale) {
        const language = languageOf(definition, locale);
        const known = answers.get(language) ?? contentOf(kind, version, definition, language);
        answers.set(language, known);
        return known;
      },
    },
  ];
}

/** The language of the texts that a visitor gets: one of the definition's own. */
function languageOf({ translations, locale: own }: Definition, asked: string | null): string {
  if (asked === null) return own;
  if (Object.hasOwn(translations, asked)) return asked;
  const [language = ''] = asked.split('-');
  return Object.hasOwn(translations, language) ? language : own;
}

function byPriority(a: ReadyItem, b: ReadyItem): number {
  return b.definition.priority - a.definition.priority || (a.name < b.name ? -1 : 1);
}

/** Of one kind in one site. */
export const DEFINITIONS_MAX = 50;
/** Names of events that the audiences of one site may ask for: each is counted for each of its visitors. */
const AUDIENCE_EVENTS_MAX = 50;
/** Keeps a record well below what a Kafka broker takes by default. */
const CHARACTERS_MAX = 128 * 1024;

type DefinitionResult<Kind extends EngageKind = EngageKind> =
  | { ok: true; definition: Definitions[Kind] }
  | { ok: false; problems: Problem[] };

const validators: Record<EngageKind, Validator> = {
  survey: Compile(DEFINITION_SCHEMAS.survey),
  promo: Compile(DEFINITION_SCHEMAS.promo),
  form: Compile(DEFINITION_SCHEMAS.form),
};

/** Fills in what was left out, and checks it. The input is left as it was. No message holds a value. */
export function readDefinition<Kind extends EngageKind>(kind: Kind, input: unknown): DefinitionResult<Kind> {
  const filled: unknown = Value.Default(DEFINITION_SCHEMAS[kind], structuredClone(input));
  const validator = validators[kind];
  if (!validator.Check(filled)) return { ok: false, problems: schemaProblem(validator, filled) };
  const definition = filled as Definitions[Kind];
  const problems = [...storedProblems(definition), ...ownProblems(kind, definition)];
  return problems.length === 0 ? { ok: true, definition } : { ok: false, problems };
}

/** Reads a definition as it is stored; null where it cannot be read. */
export function parseDefinition<Kind extends EngageKind>(kind: Kind, text: string): Definitions[Kind] | null {
  try {
    const read = readDefinition(kind, JSON.parse(text));
    return read.ok ? read.definition : null;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

function schemaProblem(validator: Validator, value: unknown): Problem[] {
  const [error] = validator.Errors(value);
  const field = error?.instancePath.slice(1).replaceAll('/', '.') ?? '';
  const pattern = error?.keyword === 'pattern' ? String(error.params.pattern) : undefined;
  const message = pattern === undefined ? error?.message : PATTERN_WORDS.get(pattern);
  return [problem('engage_definition_malformed', field, message ?? 'is malformed')];
}

function storedProblems(definition: Definition): Problem[] {
  return [
    ...eventTexts(definition).flatMap(({ field, text }) =>
      unless(!holdsPersonalText(text), 'personal_text', field, 'holds an e-mail address or a phone number'),
    ),
    ...unless(
      JSON.stringify(definition).length <= CHARACTERS_MAX,
      'too_large',
      '',
      `has more than ${CHARACTERS_MAX} characters of JSON`,
    ),
  ];
}

/** What stands in events and logs, where nothing may say who somebody is. */
function eventTexts(definition: Definition): { field: string; text: string }[] {
  const names = ['name', 'creative', 'slot', 'code', 'conversion_event', 'consent_version'] as const;
  return names.flatMap((field) => {
    const text: unknown = Reflect.get(definition, field);
    return typeof text === 'string' ? [{ field, text }] : [];
  });
}

/** Every process holds the definitions of every site. */
const SITE_CHARACTERS_MAX = 1024 * 1024;

/** What the definitions of one site must keep together. */
export function siteEngageProblems(items: readonly EngageItem[]): Problem[] {
  const characters = items.reduce((total, { definition }) => total + definition.length, 0);
  const events = new Set(items.flatMap(audienceEvents));
  return [
    ...unless(
      characters <= SITE_CHARACTERS_MAX,
      'too_large',
      '',
      `the definitions of the site would have more than ${SITE_CHARACTERS_MAX} characters of JSON together`,
    ),
    ...unless(
      events.size <= AUDIENCE_EVENTS_MAX,
      'too_many',
      'targeting.audience',
      `the definitions of the site would name more than ${AUDIENCE_EVENTS_MAX} events together`,
    ),
  ];
}

/** Names of the events that a definition's audience asks for. */
function audienceEvents({ kind, definition }: EngageItem): string[] {
  return parseDefinition(kind, definition)?.targeting.audience.map(({ event }) => event) ?? [];
}
