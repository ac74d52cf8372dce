import type { TObject } from 'typebox';
import { Compile, type Validator } from 'typebox/compile';
import { Value } from 'typebox/value';
import { holdsPersonalText } from '#pipelines/privacy/redact_text.ts';
import { type Problem, problem, unless } from '#pipelines/settings/problem.ts';
import { isPlainText, isReservedName } from '#pipelines/settings/text_rules.ts';
import { isSelector } from './css_selector.ts';
import { type EngageKind, PATTERN_WORDS } from './definition_fields.ts';
import { type Form, formProblems, formSchema, unsendableProblems } from './form.ts';
import { type Promo, promoProblems, promoSchema } from './promo.ts';
import { shownTextNames } from './shown_texts.ts';
import { idleBranchProblems, type Survey, surveyProblems, surveySchema } from './survey.ts';

export interface Definitions {
  survey: Survey;
  promo: Promo;
  form: Form;
}
export type Definition = Definitions[EngageKind];

export const DEFINITION_SCHEMAS = {
  survey: surveySchema,
  promo: promoSchema,
  form: formSchema,
} as const satisfies Record<EngageKind, TObject>;

/** Of one kind in one site. */
export const DEFINITIONS_MAX = 50;
/** Names of events that the audiences of one site may ask for: each is counted for each of its visitors. */
export const AUDIENCE_EVENTS_MAX = 50;
/** Keeps a record well below what a Kafka broker takes by default. */
const CHARACTERS_MAX = 128 * 1024;

export type DefinitionResult<Kind extends EngageKind = EngageKind> =
  | { ok: true; definition: Definitions[Kind] }
  | { ok: false; problems: Problem[] };

const validators: Record<EngageKind, Validator> = {
  survey: Compile(surveySchema),
  promo: Compile(promoSchema),
  form: Compile(formSchema),
};

/**
 * Fills in what was left out, and checks it. The input is left as it was. No message holds a value.
 *
 * @param isStored It was written before, by rules that may have been fewer: a selector that no browser takes shows it
 *   nowhere, a branch that never holds is never taken, and neither spoils anything else of it.
 */
export function readDefinition<Kind extends EngageKind>(
  kind: Kind,
  input: unknown,
  isStored = false,
): DefinitionResult<Kind> {
  const filled: unknown = Value.Default(DEFINITION_SCHEMAS[kind], structuredClone(input));
  const validator = validators[kind];
  if (!validator.Check(filled)) return { ok: false, problems: schemaProblem(validator, filled) };
  const definition = filled as Definitions[Kind];
  const ofNew = isStored ? [] : newProblems(kind, definition);
  const problems = [...commonProblems(definition), ...ofNew, ...kindProblems(kind, definition)];
  return problems.length === 0 ? { ok: true, definition } : { ok: false, problems };
}

/** Reads a definition as it is stored; null where it cannot be read. */
export function parseDefinition<Kind extends EngageKind>(kind: Kind, text: string): Definitions[Kind] | null {
  try {
    const read = readDefinition(kind, JSON.parse(text), true);
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

function kindProblems(kind: EngageKind, definition: Definition): Problem[] {
  if (kind === 'survey') return surveyProblems(definition as Survey);
  return kind === 'promo' ? promoProblems(definition as Promo) : formProblems(definition as Form);
}

function commonProblems(definition: Definition): Problem[] {
  const { id, name, starts_at, ends_at, show, place, mount, translations } = definition;
  const isInTime = starts_at === null || ends_at === null || starts_at < ends_at;
  return [
    ...unless(!isReservedName(id), 'id_malformed', 'id', 'is a name that every object has by itself'),
    ...unless(
      isPlainText(name, 1, 100),
      'name_malformed',
      'name',
      'is empty, longer than 100 characters, or holds a character of control',
    ),
    ...eventTexts(definition).flatMap(({ field, text }) =>
      unless(!holdsPersonalText(text), 'personal_text', field, 'holds an e-mail address or a phone number'),
    ),
    ...unless(isInTime, 'field_malformed', 'ends_at', 'is not after starts_at'),
    ...unless(show.on !== 'event' || show.event !== '', 'field_missing', 'show.event', 'is missing'),
    ...unless(show.on !== 'click' || show.selector !== '', 'field_missing', 'show.selector', 'is missing'),
    ...unless(place !== 'inline' || mount !== '', 'field_missing', 'mount', 'is missing'),
    ...translationProblems(translations, shownTextNames(definition)),
    ...unless(
      JSON.stringify(definition).length <= CHARACTERS_MAX,
      'too_large',
      '',
      `has more than ${CHARACTERS_MAX} characters of JSON`,
    ),
  ];
}

/** What nothing can come of. */
function newProblems(kind: EngageKind, definition: Definition): Problem[] {
  const selectors = selectorProblems(definition);
  if (kind === 'survey') return [...selectors, ...idleBranchProblems(definition as Survey)];
  return kind === 'form' ? [...selectors, ...unsendableProblems(definition as Form)] : selectors;
}

function selectorProblems({ show, mount }: Definition): Problem[] {
  const message = 'is no CSS selector that browsers take';
  return [
    ...unless(show.selector === '' || isSelector(show.selector), 'field_malformed', 'show.selector', message),
    ...unless(mount === '' || isSelector(mount), 'field_malformed', 'mount', message),
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

function translationProblems(translations: Definition['translations'], known: ReadonlySet<string>): Problem[] {
  return Object.entries(translations).flatMap(([locale, texts]) =>
    Object.keys(texts)
      .filter((name) => !known.has(name))
      .map((name) => problem('field_unknown', `translations.${locale}.${name}`, 'names no text of the definition')),
  );
}
