import type { EventDefinition } from '#pipelines/settings/event_definitions.ts';
import type { ApiResult, FieldProblem } from '../../api/request.ts';

export interface DefinitionDraft {
  id: string;
  name: string;
  trigger: EventDefinition['trigger'];
  selector: string;
  urlPattern: string;
  text: string;
  conversion: string;
  valueSelector: string;
  /** `name = selector`, one on a line; see `definition_form.ts`. */
  fields: string;
  /** `name = value`, one on a line; values are JSON, or texts without quotes. */
  properties: string;
  leftOut: readonly string[];
  enabled: boolean;
}

interface TriggerKind {
  value: EventDefinition['trigger'];
  label: string;
  hasElement: boolean;
  /** The property that says how far, or after how long. */
  number?: { property: string; label: string; usual: string };
}

export const TRIGGERS: readonly TriggerKind[] = [
  { value: 'pageview', label: 'Page view', hasElement: false },
  { value: 'click', label: 'Click', hasElement: true },
  { value: 'submit', label: 'Form submit', hasElement: true },
  { value: 'change', label: 'Field change', hasElement: true },
  { value: 'visible', label: 'Element becomes visible', hasElement: true },
  {
    value: 'scroll',
    label: 'Scroll',
    hasElement: false,
    number: { property: 'scroll_percent', label: 'Scroll depth, in percent', usual: '50' },
  },
  {
    value: 'timer',
    label: 'Timer',
    hasElement: false,
    number: { property: 'timer_seconds', label: 'Delay, in seconds', usual: '30' },
  },
  { value: 'custom', label: 'Tracked by the page', hasElement: false },
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

export const DRAFT_NAMES: Readonly<Record<keyof DefinitionDraft, string>> = {
  id: 'Id',
  name: 'Event name',
  trigger: 'Trigger',
  selector: 'Element selector',
  urlPattern: 'Pages',
  text: 'Text contains',
  conversion: 'Conversion event',
  valueSelector: 'Value selector',
  fields: 'Captured fields',
  properties: 'Fixed properties',
  leftOut: 'Excluded destinations',
  enabled: 'Enabled',
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

const LINES_CODE = 'lines_malformed';
const problemOf = (field: string, message: string): FieldProblem => ({ code: LINES_CODE, field, message });

export function isSelector(text: string): boolean {
  try {
    document.createDocumentFragment().querySelector(text);
    return true;
  } catch {
    return false;
  }
}
export const notSent = (problems: readonly FieldProblem[]): ApiResult<never> => ({
  ok: false,
  failure: { status: 0, code: LINES_CODE, message: 'Not saved: some fields are invalid.', problems },
});

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

/** What names may be made of without quotes; a selector that stands where a name belongs is none. */
const PLAIN_NAME = /^[\p{L}\p{N}_$./-]+(?: +[\p{L}\p{N}_$./-]+)*$/u;
const QUOTED_NAME = /^("(?:[^"\\]|\\.)*")\s*=/;

/** What a line says, or what is wrong with it. */
type Line = { ok: true; name: string; value: string } | { ok: false; problem: string };

/** Writes values so that reading them comes to the same: a text that reads as something else is put in quotes. */
const writtenLines = (values: Readonly<Record<string, unknown>>): string =>
  Object.entries(values)
    .map(([name, value]) => `${PLAIN_NAME.test(name) ? name : JSON.stringify(name)} = ${written(value)}`)
    .join('\n');

function written(value: unknown): string {
  if (typeof value !== 'string') return JSON.stringify(value);
  const isPlain = value === value.trim() && !/[\n\r]/.test(value) && readValue(value) === value;
  return isPlain ? value : JSON.stringify(value);
}

/** JSON is what it says, anything else is a text; so is a number that has more digits than would be kept. */
function readValue(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'number' && Math.abs(value) > Number.MAX_SAFE_INTEGER ? text : value;
  } catch {
    return text;
  }
}

/** As a value that can only be a text, such as a selector: it is one without quotes as well. */
function readText(text: string): string {
  const value = readValue(text);
  return typeof value === 'string' ? value : text;
}

function readLine(line: string): Line {
  const quoted = QUOTED_NAME.exec(line);
  const at = quoted === null ? line.indexOf('=') : quoted[0].length - 1;
  const name = quoted === null ? line.slice(0, at).trim() : readValue(quoted[1] ?? '');
  const isName = typeof name === 'string' && (quoted === null ? at > 0 && PLAIN_NAME.test(name) : true);
  if (isName) return { ok: true, name, value: line.slice(at + 1).trim() };
  return { ok: false, problem: 'is not “name = value”; put names with other characters in quotes' };
}

const linesOf = (text: string): string[] => text.split('\n').map((line) => line.trim());

/** The members that lines say; those that cannot be read are left out, and `lineProblems` names them. */
function readLines<Value>(text: string, read: (value: string) => Value): Record<string, Value> {
  const lines = linesOf(text).map(readLine);
  return Object.fromEntries(lines.flatMap((line) => (line.ok ? [[line.name, read(line.value)] as const] : [])));
}

function lineProblems(text: string): string[] {
  const names = new Set<string>();
  return linesOf(text).flatMap((written, at) => {
    if (written === '') return [];
    const line = readLine(written);
    if (!line.ok) return [`Line ${at + 1} ${line.problem}.`];
    if (names.has(line.name)) return [`Line ${at + 1} repeats a name.`];
    names.add(line.name);
    return [];
  });
}

const isOf = (written: string, name: string): boolean => {
  const line = readLine(written);
  return line.ok && line.name === name;
};

export function lineValue(lines: string, name: string): string {
  const line = readLine(linesOf(lines).find((one) => isOf(one, name)) ?? '');
  return line.ok ? line.value : '';
}

/** The lines with one value changed, or without it where that is empty. Other lines stay as they are typed. */
export function withLine(lines: string, name: string, value: string): string {
  const others = lines.split('\n').filter((line) => line.trim() !== '' && !isOf(line.trim(), name));
  return (value.trim() === '' ? others : [...others, `${name} = ${value.trim()}`]).join('\n');
}
