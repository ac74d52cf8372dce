// Definitions of surveys, promos and forms: what of them no schema can say.

import { type Static, type TObject, Type } from 'typebox';
import { isPlainText, isReservedName, type Problem, problem, unless } from '#pipelines/settings/problems.ts';
import {
  addressText,
  COMMON_FIELDS,
  type EngageKind,
  fixed,
  isLanguageTag,
  linkText,
  shownText,
} from './definition_fields.ts';
import { type Form, formProblems, formSchema, unsendableProblems } from './form.ts';
import { shownTextNames } from './shown_texts.ts';
import { idleBranchProblems, type Survey, surveyProblems, surveySchema } from './survey.ts';

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
const PSEUDO_NAMES: ReadonlySet<string> = new Set(PSEUDO.split(' '));
const OF_SELECTORS: ReadonlySet<string> = new Set(['not', 'is', 'where', 'has']);
/** Whether a place may be counted among the elements of a selector alone, as in `2n of .x`. */
const OF_PLACES: ReadonlyMap<string, boolean> = new Map([
  ['nth-child', true],
  ['nth-last-child', true],
  ['nth-of-type', false],
  ['nth-last-of-type', false],
]);

/** A code point in hexadecimal, which a space may end, or any other character. */
const ESCAPE = String.raw`\\(?:[0-9A-Fa-f]{1,6}\s?|[^\n0-9A-Fa-f])`;
const REST = String.raw`(?:[\w\u0080-\u{10FFFF}-]|${ESCAPE})*`;
const NAME = String.raw`-?(?:[A-Za-z_\u0080-\u{10FFFF}]|${ESCAPE})${REST}|--${REST}`;
const TEXT = String.raw`"(?:[^"\\\n]|\\[^])*"|'(?:[^'\\\n]|\\[^])*'`;
const SPACE = /\s*/uy;
const TYPE = new RegExp(String.raw`\*|${NAME}`, 'uy');
const CLASS_OR_ID = new RegExp(`[.#](?:${NAME})`, 'uy');
const ATTRIBUTE = new RegExp(
  String.raw`\[\s*(?:${NAME})\s*(?:[~|^$*]?=\s*(?:${NAME}|${TEXT})\s*(?:[is]\s*)?)?\]`,
  'uyi',
);
const PSEUDO_CLASS = new RegExp(`:(${NAME})(\\()?`, 'uy');
const COMBINATOR = /\s*[>+~]\s*|\s+/uy;
const PLACE = /\s*(?:odd|even|[+-]?\d*n(?:\s*[+-]\s*\d+)?|[+-]?\d+)\s*/iuy;
/** Brackets within brackets; a selector has 500 characters at most. */
const DEPTH_MAX = 8;

/** Whether a browser takes a text for a list of selectors of elements (Selectors Level 4, as querySelector has it). */
export function isSelector(text: string): boolean {
  const scanner = createScanner(text);
  return readList(scanner, 0, false) && scanner.isAtEnd();
}

interface Scanner {
  /** What is next, if it is of the pattern, which is sticky: then it is behind. */
  take(pattern: RegExp): RegExpExecArray | null;
  isNext(character: string): boolean;
  isAtEnd(): boolean;
}

function createScanner(text: string): Scanner {
  let at = 0;
  return {
    take(pattern) {
      pattern.lastIndex = at;
      const found = pattern.exec(text);
      if (found !== null) at += found[0].length;
      return found;
    },
    isNext: (character) => text[at] === character,
    isAtEnd: () => at === text.length,
  };
}

function readList(scanner: Scanner, depth: number, isRelative: boolean): boolean {
  do {
    scanner.take(SPACE);
    if (isRelative) scanner.take(/[>+~]\s*/uy);
    if (!readOne(scanner, depth)) return false;
    scanner.take(SPACE);
  } while (scanner.take(/,/uy) !== null);
  return true;
}

function readOne(scanner: Scanner, depth: number): boolean {
  if (!readCompound(scanner, depth)) return false;
  for (let next = scanner.take(COMBINATOR); next !== null; next = scanner.take(COMBINATOR)) {
    const isSpace = next[0].trim() === '';
    // Space before a comma, a bracket or the end stands for nothing.
    if (isSpace && (scanner.isAtEnd() || scanner.isNext(',') || scanner.isNext(')'))) return true;
    if (!readCompound(scanner, depth)) return false;
  }
  return true;
}

function readCompound(scanner: Scanner, depth: number): boolean {
  let parts = scanner.take(TYPE) === null ? 0 : 1;
  for (let part = readPart(scanner, depth); part !== 'none'; part = readPart(scanner, depth)) {
    if (part === 'malformed') return false;
    parts += 1;
  }
  return parts > 0;
}

function readPart(scanner: Scanner, depth: number): 'read' | 'malformed' | 'none' {
  if (scanner.take(CLASS_OR_ID) !== null || scanner.take(ATTRIBUTE) !== null) return 'read';
  const pseudo = scanner.take(PSEUDO_CLASS);
  if (pseudo === null) return 'none';
  return isPseudoClass(scanner, pseudo, depth) ? 'read' : 'malformed';
}

function isPseudoClass(scanner: Scanner, pseudo: RegExpExecArray, depth: number): boolean {
  const name = (pseudo[1] ?? '').toLowerCase();
  return pseudo[2] === undefined ? PSEUDO_NAMES.has(name) : readArgument(scanner, name, depth);
}

function readPlace(scanner: Scanner, depth: number, takesSelectors: boolean): boolean {
  if (scanner.take(PLACE) === null) return false;
  return !takesSelectors || scanner.take(/of\s+/iuy) === null || readList(scanner, depth + 1, false);
}

function readArgument(scanner: Scanner, name: string, depth: number): boolean {
  if (depth === DEPTH_MAX) return false;
  const isRead = OF_SELECTORS.has(name)
    ? readList(scanner, depth + 1, name === 'has')
    : OF_PLACES.has(name)
      ? readPlace(scanner, depth, OF_PLACES.get(name) === true)
      : (name === 'lang' || name === 'dir') && scanner.take(new RegExp(`\\s*(?:${NAME}|${TEXT})\\s*`, 'uy')) !== null;
  return isRead && scanner.take(/\)/uy) !== null;
}
