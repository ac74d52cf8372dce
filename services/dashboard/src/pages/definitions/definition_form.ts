import type { EventDefinition } from '#pipelines/settings/event_definitions.ts';
import type { Answer, FieldProblem } from '../../api/api_answer.ts';
import { lineProblems, readLines, readText, readValue, writtenLines } from './value_lines.ts';

/** What a form for an event definition holds. */
export interface DefinitionDraft {
  id: string;
  name: string;
  trigger: EventDefinition['trigger'];
  selector: string;
  urlPattern: string;
  text: string;
  conversion: string;
  valueSelector: string;
  /** `name = selector`, one on a line; see `value_lines.ts`. */
  fields: string;
  /** `name = value`, one on a line; values are JSON, or texts without quotes. */
  properties: string;
  /** Destinations it is not sent to. */
  leftOut: readonly string[];
  enabled: boolean;
}

interface TriggerKind {
  value: EventDefinition['trigger'];
  label: string;
  /** Whether it is about an element of the page. */
  hasElement: boolean;
  /** The property that says how far, or after how long. */
  number?: { property: string; label: string; usual: string };
}

export const TRIGGERS: readonly TriggerKind[] = [
  { value: 'pageview', label: 'A page is seen', hasElement: false },
  { value: 'click', label: 'Something is clicked', hasElement: true },
  { value: 'submit', label: 'A form is sent', hasElement: true },
  { value: 'change', label: 'A field is changed', hasElement: true },
  { value: 'visible', label: 'Something comes into sight', hasElement: true },
  {
    value: 'scroll',
    label: 'The page is scrolled',
    hasElement: false,
    number: { property: 'scroll_percent', label: 'How far, in percent', usual: '50' },
  },
  {
    value: 'timer',
    label: 'Some time has passed',
    hasElement: false,
    number: { property: 'timer_seconds', label: 'After how many seconds', usual: '30' },
  },
  { value: 'custom', label: 'The page itself tracks it', hasElement: false },
];

export const triggerOf = (value: string): TriggerKind | undefined => TRIGGERS.find((one) => one.value === value);

export function draftOfDefinition(definition: EventDefinition | null): DefinitionDraft {
  const empty = { id: '', name: '', trigger: 'click', selector: '', url_pattern: '', text_contains: '' } as const;
  const rest = { conversion_event: '', value_selector: '', field_selectors: {}, properties: {}, destinations: {} };
  const from: EventDefinition = definition ?? { ...empty, ...rest, enabled: true };
  return {
    ...{ id: from.id, name: from.name, trigger: from.trigger, selector: from.selector },
    ...{ urlPattern: from.url_pattern, text: from.text_contains, conversion: from.conversion_event },
    ...{ valueSelector: from.value_selector, fields: writtenLines(from.field_selectors) },
    properties: writtenLines(from.properties),
    leftOut: Object.keys(from.destinations).filter((name) => from.destinations[name] === false),
    enabled: from.enabled,
  };
}

/** What the fields of a form are called. */
export const DRAFT_NAMES: Readonly<Record<keyof DefinitionDraft, string>> = {
  id: 'Id',
  name: 'Name of the event',
  trigger: 'It fires when',
  selector: 'Selector of the element',
  urlPattern: 'Pages',
  text: 'Text in it',
  conversion: 'Counts as',
  valueSelector: 'Selector of its value',
  fields: 'Fields that are read',
  properties: 'Properties it always has',
  leftOut: 'Not sent to',
  enabled: 'In use',
};

/**
 * What of a form cannot be understood, as the service says it of fields.
 * @param isSelector Whether a text is a CSS selector.
 */
export function draftProblems(draft: DefinitionDraft, isSelector: (text: string) => boolean): FieldProblem[] {
  const { selector, valueSelector, fields, properties } = draft;
  const unread = lineProblems(fields);
  const wrong = (field: string, text: string): FieldProblem[] =>
    text.trim() === '' || isSelector(text.trim())
      ? []
      : [{ code: 'selector_malformed', field, message: `“${text.trim()}” is not a CSS selector.` }];
  return [
    ...wrong('selector', selector),
    ...wrong('value_selector', valueSelector),
    ...unread.map((message) => problemOf('field_selectors', message)),
    ...(unread.length > 0 ? [] : Object.values(readLines(fields, readText))).flatMap((one) =>
      wrong('field_selectors', one),
    ),
    ...lineProblems(properties).map((message) => problemOf('properties', message)),
  ];
}
const problemOf = (field: string, message: string): FieldProblem => ({ code: LINES_CODE, field, message });

/** Whether the browser can look for what a selector names. */
export function isSelector(text: string): boolean {
  try {
    document.createDocumentFragment().querySelector(text);
    return true;
  } catch {
    return false;
  }
}

const LINES_CODE = 'lines_malformed';
/** Says that a form was not sent, and why. */
export const notSent = (problems: readonly FieldProblem[]): Answer<never> => ({
  ok: false,
  failure: { status: 0, code: LINES_CODE, message: 'Nothing was saved: some of it is not understood.', problems },
});

/** What is sent of a form. */
export function definitionBody(draft: DefinitionDraft): EventDefinition {
  const { id, name, trigger, selector, urlPattern, text, conversion, valueSelector, leftOut, enabled } = draft;
  return {
    ...{ id: id.trim(), name: name.trim(), trigger, enabled, selector: selector.trim(), text_contains: text.trim() },
    ...{ url_pattern: urlPattern.trim(), conversion_event: conversion.trim(), value_selector: valueSelector.trim() },
    field_selectors: readLines(draft.fields, readText),
    properties: readLines(draft.properties, readValue),
    destinations: Object.fromEntries(leftOut.map((one) => [one, false])),
  };
}
