import type { TObject } from 'typebox';
import { type Problem, problem, unless } from '#pipelines/settings/problem.ts';
import { isPlainText, isReservedName } from '#pipelines/settings/text_rules.ts';
import { isSelector } from './css_selector.ts';
import { type EngageKind, isLanguageTag } from './definition_fields.ts';
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

/** What the fields of a definition must be to each other; nothing here needs a server. */
export function ownProblems(kind: EngageKind, definition: Definition): Problem[] {
  return [...commonProblems(definition), ...kindProblems(kind, definition)];
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
    ...unless(isInTime, 'field_malformed', 'ends_at', 'is not after starts_at'),
    ...unless(show.on !== 'event' || show.event !== '', 'field_missing', 'show.event', 'is missing'),
    ...unless(show.on !== 'click' || show.selector !== '', 'field_missing', 'show.selector', 'is missing'),
    ...unless(place !== 'inline' || mount !== '', 'field_missing', 'mount', 'is missing'),
    ...translationProblems(translations, shownTextNames(definition)),
  ];
}

/** What nothing can come of, of what is not stored yet. */
export function newProblems(kind: EngageKind, definition: Definition): Problem[] {
  const common = [...selectorProblems(definition), ...languageProblems(definition)];
  if (kind === 'survey') return [...common, ...idleBranchProblems(definition as Survey)];
  return kind === 'form' ? [...common, ...unsendableProblems(definition as Form)] : common;
}

/** The schema says what stands under a language, and nothing of keys that are none. */
function languageProblems({ translations }: Definition): Problem[] {
  return Object.keys(translations).flatMap((key) =>
    unless(isLanguageTag(key), 'field_malformed', `translations.${key}`, 'is no language as de or de-AT'),
  );
}

function selectorProblems({ show, mount }: Definition): Problem[] {
  const message = 'is no CSS selector that browsers take';
  return [
    ...unless(show.selector === '' || isSelector(show.selector), 'field_malformed', 'show.selector', message),
    ...unless(mount === '' || isSelector(mount), 'field_malformed', 'mount', message),
  ];
}

function translationProblems(translations: Definition['translations'], known: ReadonlySet<string>): Problem[] {
  return Object.entries(translations)
    .filter(([locale]) => isLanguageTag(locale))
    .flatMap(([locale, texts]) =>
      Object.keys(texts)
        .filter((name) => !known.has(name))
        .map((name) => problem('field_unknown', `translations.${locale}.${name}`, 'names no text of the definition')),
    );
}
