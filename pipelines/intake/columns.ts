import { type Effort, idEffort } from '#pipelines/privacy/effort.ts';
import { isPlaceholderId, numberId } from '#pipelines/privacy/placeholder_id.ts';
import { holdsPersonalText } from '#pipelines/privacy/redact_text.ts';
import { hashedSecretly } from './hashed_secretly.ts';
import { readShortText } from './short_text.ts';

/** Without a leading plus: that is rather a phone number in the wrong field. */
const DECIMAL = /^-?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i;
const CURRENCY = /^[A-Za-z]{3}$/;
const NUMBER_CHARACTERS_MAX = 40;

/** The business fields that have columns of their own, and the properties that do not stay beside their column. */
export interface Columns {
  value: number | null;
  currency: string | null;
  order_id: string | null;
  lifted: ReadonlySet<string>;
}

const NOTHING_LIFTED: ReadonlySet<string> = new Set();
const ACTION_SOURCE_LIFTED: ReadonlySet<string> = new Set(['$action_source']);

/**
 * Reads value, currency and order_id. They stay among the properties too, so that nothing a sender measured is lost to a
 * typing mistake, and so that the properties of most events are passed on without being copied.
 */
export function readColumns(
  properties: Readonly<Record<string, unknown>>,
  secret: Buffer,
  countries: readonly string[],
  effort?: Effort,
): Columns {
  const value = readValue(own(properties, 'value'));
  const currency = readCurrency(own(properties, 'currency'));
  const order_id = readOrderId(own(properties, 'order_id'), secret, countries, effort);
  const lifted = Object.hasOwn(properties, '$action_source') ? ACTION_SOURCE_LIFTED : NOTHING_LIFTED;
  return { value, currency, order_id, lifted };
}

function own(properties: Readonly<Record<string, unknown>>, key: string): unknown {
  return Object.hasOwn(properties, key) ? properties[key] : undefined;
}

function readValue(sent: unknown): number | null {
  if (typeof sent === 'number') return Number.isFinite(sent) ? sent : null;
  if (typeof sent !== 'string' || sent.length > NUMBER_CHARACTERS_MAX) return null;
  const text = sent.trim();
  const number = DECIMAL.test(text) ? Number(text) : Number.NaN;
  return Number.isFinite(number) ? number : null;
}

function readCurrency(sent: unknown): string | null {
  const text = typeof sent === 'string' ? sent.trim() : '';
  return CURRENCY.test(text) ? text.toUpperCase() : null;
}

function readOrderId(sent: unknown, secret: Buffer, countries: readonly string[], effort?: Effort): string | null {
  const id = readShortText(typeof sent === 'number' && Number.isFinite(sent) ? numberId(sent) : sent);
  // Platforms count one order by an id once.
  if (id === null || isPlaceholderId(id)) return null;
  return holdsPersonalText(id, countries, idEffort(effort)) ? hashedSecretly(id, secret) : id;
}
