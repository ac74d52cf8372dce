import { Default, Errors } from 'typebox/value';
import { contentOf } from '#pipelines/engage/content.ts';
import type { EngageKind } from '#pipelines/engage/definition_fields.ts';
import { DEFINITION_SCHEMAS, type Definition, ownProblems } from '#pipelines/engage/definition_problems.ts';
import { momentIn, offsetAt } from '#pipelines/settings/calendar.ts';
import type { Problem } from '#pipelines/settings/problems.ts';
import { problemsOfErrors, type SchemaError } from '#services/control_api/fields.ts';
import type { ShownItem } from '#services/engage_panels/shown_item.ts';
import { timeZone } from '../../../format.ts';
import { sentDefinition } from '../engage_item.ts';

/** A definition as it was typed, with what is wrong with it. */
interface Checked {
  /** As it was typed, with every default filled in. */
  filled: object;
  problems: readonly Problem[];
  /** What can be drawn: it may lack texts or hold wrong ones, but all else is what it should be. */
  drawable: Definition | null;
}

/** What is wrong with a value that can be drawn nevertheless; a number out of its range the browser itself may refuse. */
const OF_TYPE: ReadonlySet<string> = new Set([
  ...['pattern', 'minLength', 'maxLength', 'minItems', 'maxItems', 'maxProperties'],
  // Each unknown field is reported as one for which the schema is false as well.
  ...['additionalProperties', 'boolean'],
]);

/** Checks a definition by the API's own shapes and rules; what the service alone can tell it says when it is sent. */
export function checkDefinition(kind: EngageKind, typed: object): Checked {
  const shape = DEFINITION_SCHEMAS[kind];
  const filled = Default(shape, structuredClone(typed)) as object;
  const sent = sentDefinition(filled);
  const errors = [...Errors(shape, sent)] as SchemaError[];
  const drawable = errors.every(({ keyword }) => OF_TYPE.has(keyword)) ? (sent as Definition) : null;
  if (drawable === null || errors.length > 0) return { filled, drawable, problems: problemsOfErrors(shape, errors) };
  return { filled, drawable, problems: ownProblems(kind, drawable) };
}

/** A number where it is one; else what was typed, which the definition's check finds. @param empty What nothing stands for. */
export function readNumber(typed: string, empty: unknown = ''): unknown {
  const text = typed.trim();
  if (text === '') return empty;
  const value = Number(text);
  return Number.isFinite(value) ? value : typed;
}

/** Seconds as they are typed, in milliseconds. @param empty What nothing stands for. */
export function readSeconds(typed: string, empty: unknown = ''): unknown {
  const value = readNumber(typed, empty);
  return typeof value === 'number' ? Math.round(value * 1000) : value;
}

/** Milliseconds as seconds, or what was typed in their place. */
export const writtenSeconds = (value: unknown): string =>
  typeof value === 'number' ? String(value / 1000) : typeof value === 'string' ? value : '';

/** A moment as a field for date and time has it, in the zone of the site; empty: none. */
export function writtenMoment(ms: unknown): string {
  if (typeof ms !== 'number' || Number.isNaN(new Date(ms).getTime())) return '';
  const shown = new Date(ms + offsetAt(ms, timeZone())).toISOString();
  return shown.slice(0, shown.slice(16, 19) === ':00' ? 16 : 19);
}

/** The moment that a field for date and time says; null: none. */
export function readMoment(typed: string): number | null {
  const ms = typed === '' ? Number.NaN : Date.parse(`${typed}Z`);
  return Number.isNaN(ms) ? null : momentIn(timeZone(), ms);
}

export interface Option {
  value: string | number | boolean;
  label: string;
}

/** @param labels By the value that is stored. */
export const optionsOf = (labels: Readonly<Record<string, string>>): Option[] =>
  Object.entries(labels).map(([value, label]) => ({ value, label }));

/** What may be ticked, and what is and could not be unticked otherwise: a rule may name a choice that was removed. */
export function withChosen(options: readonly Option[], chosen: readonly unknown[]): Option[] {
  const others = new Set<Option['value']>(
    chosen.filter((value) => typeof value === 'string' || typeof value === 'number'),
  );
  for (const { value } of options) others.delete(value);
  return [...options, ...[...others].map((value) => ({ value, label: String(value) }))];
}

/** Where links lead in a preview: nowhere, whatever was typed. */
const NOWHERE = '#';
/** A colour or a length, as far as it is typed, and no address of a picture. */
const THEME_VALUE = /^[#\w.%]+$/;

/** What the tag would be told of a definition, in one of its languages. */
export function previewItem(kind: EngageKind, definition: Definition, locale: string): ShownItem {
  const told = JSON.parse(`${contentOf(kind, 1, definition, locale)}}`) as Omit<ShownItem, 'token'>;
  const theme = Object.fromEntries(Object.entries(told.theme).filter(([, value]) => THEME_VALUE.test(value)));
  return withoutLinks({ ...told, theme, token: '' } as ShownItem);
}

function withoutLinks(item: ShownItem): ShownItem {
  if (item.kind === 'survey') {
    const questions = item.content.questions.map((question) => ({
      ...question,
      button: question.button || (question.type === 'link' ? question.url : ''),
      url: NOWHERE,
    }));
    return { ...item, content: { ...item.content, questions } };
  }
  if (item.kind === 'form') return item;
  const { button } = item.content;
  return { ...item, content: { ...item.content, button: { ...button, url: button.url && NOWHERE } } };
}

export const languagesOf = ({ locale, translations }: Definition): string[] => [
  ...new Set([locale, ...Object.keys(translations)]),
];
