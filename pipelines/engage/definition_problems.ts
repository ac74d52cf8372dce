// Definitions of surveys, promos and forms: what of them no schema can say.

import { type Static, type TObject, Type } from 'typebox';
import { isPlainText, isReservedName, type Problem, problem, unless } from '#pipelines/settings/problems.ts';
import { shownTextNames } from './content.ts';
import {
  addressText,
  COMMON_FIELDS,
  type EngageKind,
  fixed,
  isLanguageTag,
  linkText,
  shownText,
} from './definition_fields.ts';
import { type Form, formProblems, formSchema } from './form.ts';
import { type Survey, surveyProblems, surveySchema } from './survey.ts';

export interface Definitions {
  survey: Survey;
  promo: Promo;
  form: Form;
}
export type Definition = Definitions[EngageKind];

const eventText = (maxLength: number, description: string) =>
  Type.String({ maxLength, pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f]*$', default: '', description });

/** A promo as it is stored: every default filled in. */
const promoSchema = fixed({
  ...COMMON_FIELDS,
  title: shownText(200, 'Heading'),
  body: shownText(2000, 'Text, without marks of any kind'),
  image_url: addressText('Picture, over https'),
  image_alt: shownText(300, 'What the picture shows, for those who do not see it'),
  button: fixed(
    { text: shownText(100, 'What the button says'), url: linkText('Where it leads') },
    { default: {}, description: 'Where a click leads' },
  ),
  code: eventText(64, 'Code that the visitor can copy'),
  creative: eventText(100, 'creative_name of its events'),
  slot: eventText(100, 'creative_slot of its events'),
});

export const DEFINITION_SCHEMAS = {
  survey: surveySchema,
  promo: promoSchema,
  form: formSchema,
} as const satisfies Record<EngageKind, TObject>;

/** What the fields of a definition must be to each other; nothing here needs a server. */
export function ownProblems(kind: EngageKind, definition: Definition): Problem[] {
  const common = [...selectorProblems(definition), ...languageProblems(definition), ...commonProblems(definition)];
  if (kind === 'survey') return [...common, ...surveyProblems(definition as Survey)];
  return [...common, ...(kind === 'promo' ? promoProblems(definition as Promo) : formProblems(definition as Form))];
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
export type Promo = Static<typeof promoSchema>;

/** What a promo's fields must be to each other. */
function promoProblems({ title, body, image_url, image_alt, button }: Promo): Problem[] {
  return [
    ...unless(
      `${title}${body}${image_url}` !== '',
      'field_missing',
      'title',
      'none of title, body and image_url is there',
    ),
    ...unless(
      image_url === '' || image_alt !== '',
      'field_missing',
      'image_alt',
      'is missing: it says what the picture shows',
    ),
    ...unless(
      (button.url === '') === (button.text === ''),
      'field_missing',
      'button',
      'has one of text and url without the other',
    ),
  ];
}

/**
 * Names of Selectors Level 4 that browsers take without brackets. One that a browser does not know spoils the whole selector, so
 * those that only newer ones know are none: modal, open, popover-open, user-invalid, user-valid.
 */
const PSEUDO =
  'active any-link autofill checked default defined disabled empty enabled first-child first-of-type focus focus-visible focus-within fullscreen hover indeterminate in-range invalid last-child last-of-type link only-child only-of-type optional out-of-range placeholder-shown read-only read-write required root scope target valid visited';
/** A code point in hexadecimal, which a space may end, or any other character; or a text in quotes, which may hold them. */
const ESCAPE_OR_TEXT = /\\(?:[0-9A-Fa-f]{1,6}\s?|[^\n0-9A-Fa-f])|"(?:[^"\\\n]|\\[\s\S])*"|'(?:[^'\\\n]|\\[\s\S])*'/gu;
const REST = String.raw`[\w\u0080-\u{10FFFF}-]*`;
const NAME = String.raw`(?:-?[A-Za-z_\u0080-\u{10FFFF}]${REST}|--${REST})`;
const ATTRIBUTE = new RegExp(String.raw`\[\s*${NAME}\s*(?:[~|^$*]?=\s*(?:${NAME}|"")\s*(?:[is]\s*)?)?\]`, 'giu');
const PART = `(?:[.#]${NAME}|:(?:${PSEUDO.replaceAll(' ', '|')}))`;
const COMPOUND = String.raw`(?:(?:\*|${NAME})${PART}*|${PART}+)`;
const COMPLEX = String.raw`${COMPOUND}(?:(?:\s*[>+~]\s*|\s+)${COMPOUND})*\s*`;
const LIST = String.raw`\s*${COMPLEX}(?:,\s*${COMPLEX})*`;
const RELATIVE = String.raw`\s*(?:[>+~]\s*)?${COMPLEX}`;
const PLACE = String.raw`\s*(?:odd|even|[+-]?\d*n(?:\s*[+-]\s*\d+)?|[+-]?\d+)\s*`;
/** A place may be counted among the elements of a selector, as in `2n of .x`, but not among those of a type. */
const FUNCTIONS = [
  String.raw`(?:not|is|where)\(${LIST}`,
  String.raw`has\(${RELATIVE}(?:,${RELATIVE})*`,
  String.raw`nth-(?:last-)?child\(${PLACE}(?:of\s+${LIST})?`,
  String.raw`nth-(?:last-)?of-type\(${PLACE}`,
  String.raw`(?:lang|dir)\(\s*(?:${NAME}|"")\s*`,
];
const FUNCTION = new RegExp(String.raw`:(?:${FUNCTIONS.join('|')})\)`, 'giu');
const WHOLE_LIST = new RegExp(`^${LIST}$`, 'iu');
/** Brackets within brackets; a selector has 500 characters at most. */
const DEPTH_MAX = 8;
/** What stands for what was read within brackets, as nothing can follow it that could not follow a bracket. */
const READ = ':root';

/** Whether a browser takes a text for a list of selectors of elements (Selectors Level 4, as querySelector has it). */
export function isSelector(text: string): boolean {
  let left = text.replace(ESCAPE_OR_TEXT, (one) => (one.startsWith('\\') ? 'é' : '""')).replace(ATTRIBUTE, READ);
  for (let depth = 0; depth < DEPTH_MAX; depth += 1) left = left.replace(FUNCTION, READ);
  return WHOLE_LIST.test(left);
}
