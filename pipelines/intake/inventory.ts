import { hash } from 'node:crypto';
import { isObject } from '#pipelines/privacy/clean_properties.ts';
import { createWorkBudget } from '#pipelines/privacy/normalise_text.ts';
import { redactText } from '#pipelines/privacy/redact_text.ts';
import type { InventoryElement, InventoryRecord } from '#schemas/records.ts';
import { canonicalJson } from './json_text.ts';

/** What the tag found on a page, without personal data. */
export type Inventory = Pick<InventoryRecord, 'page' | 'url' | 'title' | 'elements'>;

export const ELEMENTS_MAX = 300;
const ADDRESS_CHARACTERS_MAX = 2048;
const TITLE_CHARACTERS_MAX = 1000;
const TYPE_CHARACTERS_MAX = 100;
const SELECTOR_CHARACTERS_MAX = 2048;
const HINT_CHARACTERS_MAX = 200;
/** A longer text is cut rather than refused: it is whatever the page says, and one such must not hide the others. */
const TEXT_CHARACTERS_KEPT = 500;

/** Why an inventory was not taken; the edge's table has the messages. */
type InventoryProblem =
  | 'inventory_not_object'
  | 'page_invalid'
  | 'url_invalid'
  | 'title_invalid'
  | 'elements_invalid'
  | 'elements_too_many'
  | 'element_invalid';

export type InventoryRead =
  | { ok: true; inventory: Inventory }
  /** `index`: the element at fault. */
  | { ok: false; code: InventoryProblem; index: number | null };

/**
 * Reads the body of POST /v1/inventory. E-mail addresses and phone numbers go from every text, and with `anonymous` what
 * identifies a visitor goes from addresses too; the lengths are those of what was sent.
 */
export function readInventory(body: unknown, anonymous: boolean, countries: readonly string[]): InventoryRead {
  if (!isObject(body)) return refuse('inventory_not_object');
  const { page, url, title, elements } = body;
  if (!isText(page, 1, ADDRESS_CHARACTERS_MAX)) return refuse('page_invalid');
  if (!isText(url, 1, ADDRESS_CHARACTERS_MAX)) return refuse('url_invalid');
  if (!isText(title, 0, TITLE_CHARACTERS_MAX)) return refuse('title_invalid');
  if (!Array.isArray(elements)) return refuse('elements_invalid');
  if (elements.length > ELEMENTS_MAX) return refuse('elements_too_many');
  const reads = createWorkBudget();
  const clean = (text: string): string => redactText(text.toWellFormed(), anonymous, countries, reads);
  const read: InventoryElement[] = [];
  for (const [index, sent] of elements.entries()) {
    const element = readElement(sent, clean);
    if (element === null) return { ok: false, code: 'element_invalid', index };
    read.push(element);
  }
  return { ok: true, inventory: { page: clean(page), url: clean(url), title: clean(title), elements: read } };
}

function readElement(sent: unknown, clean: (text: string) => string): InventoryElement | null {
  if (!isObject(sent)) return null;
  const { type, selector, text, href, event_hint: hint } = sent;
  if (!isText(type, 1, TYPE_CHARACTERS_MAX) || !isText(selector, 1, SELECTOR_CHARACTERS_MAX)) return null;
  if (typeof text !== 'string') return null;
  if (!isTextOrAbsent(href, ADDRESS_CHARACTERS_MAX) || !isTextOrAbsent(hint, HINT_CHARACTERS_MAX)) return null;
  return {
    type: clean(type),
    selector: clean(selector),
    // Cleaned before it is cut, so that no half of an address is left at the end.
    text: clean(text).slice(0, TEXT_CHARACTERS_KEPT).toWellFormed(),
    href: href === undefined || href === null ? null : clean(href),
    event_hint: hint === undefined || hint === null ? null : clean(hint),
  };
}

/** Equal inventories have equal hashes, whatever the order of their members. */
export function contentHash(inventory: Inventory): string {
  return hash('sha256', canonicalJson(inventory), 'base64url');
}

function isText(value: unknown, charactersMin: number, charactersMax: number): value is string {
  return typeof value === 'string' && value.length >= charactersMin && value.length <= charactersMax;
}

function isTextOrAbsent(value: unknown, charactersMax: number): value is string | null | undefined {
  return value === undefined || value === null || isText(value, 0, charactersMax);
}

function refuse(code: InventoryProblem): InventoryRead {
  return { ok: false, code, index: null };
}
