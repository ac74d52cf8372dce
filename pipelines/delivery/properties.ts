import { isPlaceholderId, isRounded } from '#pipelines/privacy/placeholder_id.ts';

/** Reads event properties, whose names and types are the sender's. */
export type Properties = Record<string, unknown>;

export const isRecord = (value: unknown): value is Properties =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The first of the named properties that is a text with something in it; numbers that were not rounded count as text. */
export function firstText(properties: Properties, names: readonly string[]): string | null {
  for (const name of names) {
    const value = properties[name];
    if (typeof value === 'string' && value.trim() !== '') return value.trim();
    if (typeof value === 'number' && Number.isFinite(value) && !isRounded(value)) return String(value);
  }
  return null;
}

/** The first of the named properties that is an id: what many people share by mistake would be one person's elsewhere too. */
export const firstId = (properties: Properties, names: readonly string[]): string | null =>
  names.map((name) => firstText(properties, [name])).find((id) => id !== null && !isPlaceholderId(id)) ?? null;

/** The first of the named properties that is a finite number, or a text that is one in decimal notation. */
export function firstNumber(properties: Properties, names: readonly string[]): number | null {
  for (const name of names) {
    const value = properties[name];
    if (typeof value === 'number' && Number.isFinite(value)) return value;
    if (typeof value === 'string' && /^\s*-?\d{1,15}(\.\d{1,10})?\s*$/.test(value)) return Number(value);
  }
  return null;
}

function nested(properties: Properties, path: readonly string[]): Properties {
  let value: unknown = properties;
  for (const step of path) value = isRecord(value) ? value[step] : undefined;
  return isRecord(value) ? value : {};
}

const isWebAddress = (text: string | null): text is string => text !== null && /^https?:\/\/[^\s]+$/i.test(text);

const PAGE_URL_NAMES = ['event_source_url', '$current_url', 'page_location', 'page_url', 'url', '$url', 'location'];
const PAGE_URL_PLACES: readonly string[][] = [[], ['page'], ['context', 'page']];

const placed = (properties: Properties, places: readonly string[][], names: readonly string[]): (string | null)[] =>
  places.flatMap((path) => names.map((name) => firstText(nested(properties, path), [name])));

const REFERRER_NAMES = ['$referrer', 'page_referrer', 'referrer', 'referrer_url', 'document_referrer'];

/** The http or https address of the page before, under the names that common tags and SDKs use. */
export const pageReferrer = (properties: Properties): string | null =>
  placed(properties, PAGE_URL_PLACES, REFERRER_NAMES).find(isWebAddress) ?? null;

/** The http or https address of the page where the event happened, under the names that common tags and SDKs use. */
export function pageUrl(properties: Properties): string | null {
  return placed(properties, PAGE_URL_PLACES, PAGE_URL_NAMES).find(isWebAddress) ?? null;
}

/** A parameter of the page address, as it was written there (case kept). */
export function pageParameter(properties: Properties, name: string): string | null {
  const url = pageUrl(properties);
  const value = url !== null && URL.canParse(url) ? new URL(url).searchParams.get(name) : null;
  return value === '' ? null : value;
}

/** A text under one of the names, or else as a parameter of the page address: how click ids travel. */
export const textOrParameter = (properties: Properties, names: readonly string[], parameter: string): string | null =>
  firstText(properties, names) ?? pageParameter(properties, parameter);
