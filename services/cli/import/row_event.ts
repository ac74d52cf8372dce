// From a row of a file to the event that is sent for it, or why there is none.

import { v5 as uuidv5 } from 'uuid';
import { isNobodysId } from '#pipelines/privacy/placeholder_ids.ts';
import type { MappedField, Mapping } from './mapping.ts';
import { type NumberProblem, readNumber, readTime, type TimeProblem, type ZoneOffset } from './read_values.ts';

/** What a cell holds: a text, or with JSON also a number or a truth value. */
export type Cell = string | number | boolean;
/** Cells by column; those that are empty are not there. */
export type Cells = Readonly<Record<string, Cell>>;

/** Codes of rows that are not sent, and what is to be done. docs/imports.md names them. */
export const ROW_PROBLEMS = {
  row_unreadable: 'the line is not a JSON object',
  row_too_deep: 'it is nested deeper than 64 levels',
  fields_count: 'it has another number of fields than the header',
  quote_unclosed: 'a quotation mark is not closed',
  quote_misplaced: 'a quotation mark stands where none can be',
  row_too_long: 'the row has more than 256 KiB',
  encoding_invalid: 'it is not UTF-8: say --encoding windows-1252',
  time_missing: 'it does not say when it happened',
  time_unreadable: 'this is no time that can be read; of numbers --dates says what they are',
  date_ambiguous: 'day and month cannot be told apart: say --dates dmy or mdy',
  zone_missing: 'the time says no zone: say --zone, as Europe/Berlin',
  time_skipped: 'clocks skipped this time in spring',
  time_repeated: 'clocks showed this time twice in autumn: write it with its offset',
  time_ahead: 'the time is more than a day ahead',
  number_unreadable: 'this is no number',
  number_ambiguous: 'this may be a thousand or one: say --decimal , or --decimal .',
  currency_invalid: 'this is no ISO code of a currency',
  currency_conflict: 'the amount names another currency',
  value_negative: 'the amount is negative: say --negative refund or keep',
  visitor_missing: 'it names no visitor: Google had no consent for an id',
  id_rounded: 'a spreadsheet or JSON has rounded this number',
  event_missing: 'it names no event',
  id_missing: 'the columns of --id are empty',
  order_repeated: 'an earlier row has this order id and other contents: name rows by --id COLUMNS',
  event_too_large: 'its event has more than 64 KiB',
} as const;
export type RowProblem = keyof typeof ROW_PROBLEMS;

export interface OutgoingEvent {
  event: string;
  uuid: string;
  timestamp: string;
  distinct_id?: string;
  properties: Record<string, unknown>;
}

/** By what a row is known again: the sender's own id, the sale that it names, or its contents. */
export type RowKey = { by: 'uuid'; uuid: string } | { by: 'name'; name: string } | { by: 'contents'; contents: string };

export type RowOutcome =
  | { ok: true; event: Omit<OutgoingEvent, 'uuid'>; key: RowKey; timeMs: number }
  | { ok: false; problem: RowProblem; column: string | null };

/** What every row of a file is read with. */
export interface RowContext {
  site: string;
  mapping: Mapping;
  offsets: ZoneOffset;
  nowMs: number;
}

class RowError extends Error {
  readonly code: RowProblem;
  readonly column: string | null;

  constructor(code: RowProblem, column: string | null) {
    super(ROW_PROBLEMS[code]);
    this.code = code;
    this.column = column;
  }
}

const DAY_MS = 86_400_000;

/** The event of a row. Its order id, or else its contents, say which event it is, however often the row is sent. */
export function rowEvent(cells: Cells, context: RowContext): RowOutcome {
  try {
    return readRow(cells, context);
  } catch (error) {
    if (error instanceof RowError) return { ok: false, problem: error.code, column: error.column };
    throw error;
  }
}

function readRow(cells: Cells, { site, mapping, offsets, nowMs }: RowContext): RowOutcome {
  const { event: eventConstant, ...constants } = mapping.constants;
  const top: Record<string, string> = { event: String(eventConstant) };
  const properties: Record<string, Cell> = { ...constants };
  let timeMs: number | null = null;
  let currencyBeside: { code: string; column: string } | null = null;
  for (const field of mapping.fields) {
    const cell = cellOf(field, cells, mapping);
    if (cell === null) continue;
    const [column = null] = field.columns;
    switch (field.kind) {
      case 'time':
        timeMs = momentOf(cell, mapping, offsets, nowMs, column);
        break;
      case 'number': {
        const { value, currency } = amountOf(cell, mapping, column);
        properties[field.field] = value;
        if (currency !== null && column !== null) currencyBeside = { code: currency, column };
        break;
      }
      case 'event':
      case 'identifier':
      case 'currency':
      case 'text': {
        const text = textOf(cell, field, column);
        if (isTop(field.field)) top[field.field] = String(text);
        else properties[field.field] = text;
      }
    }
  }
  if (timeMs === null) throw new RowError('time_missing', null);
  if (currencyBeside !== null) {
    const { code, column } = currencyBeside;
    if ((properties['currency'] ?? code) !== code) throw new RowError('currency_conflict', column);
    properties['currency'] = code;
  }
  const name = nameOf(top['event'] ?? '', properties, mapping);
  const key = keyOf({ site, name, uuid: top['uuid'], cells, properties, mapping });
  const distinctId = top['distinct_id'];
  return {
    ok: true,
    event: {
      event: name,
      timestamp: new Date(timeMs).toISOString(),
      ...(distinctId === undefined ? {} : { distinct_id: distinctId }),
      properties,
    },
    key,
    timeMs,
  };
}

const isTop = (field: string): boolean => field === 'event' || field === 'uuid' || field === 'distinct_id';

/** A cell of what was mapped, with what stands in its place; null for none. */
function cellOf({ field, columns }: MappedField, cells: Cells, { values }: Mapping): Cell | null {
  const [first, ...more] = columns.map((column) => cells[column]);
  const filled = more.filter((cell) => cell !== undefined);
  const cell = filled.length === 0 ? first : [first, ...filled].join(' ').trim();
  if (cell === undefined || cell === '') return null;
  const standIns = values[field] ?? {};
  return Object.hasOwn(standIns, String(cell)) ? (standIns[String(cell)] ?? cell) : cell;
}

function momentOf(cell: Cell, mapping: Mapping, offsets: ZoneOffset, nowMs: number, column: string | null): number {
  const read = readTime(String(cell), mapping.dates, mapping.zone, offsets);
  if (!read.ok) throw new RowError(read.problem satisfies TimeProblem, column);
  if (read.timeMs > nowMs + DAY_MS) throw new RowError('time_ahead', column);
  return read.timeMs;
}

function amountOf(cell: Cell, { decimal }: Mapping, column: string | null) {
  if (typeof cell === 'number') return { value: cell, currency: null };
  const read = readNumber(String(cell), decimal);
  if (!read.ok) throw new RowError(read.problem satisfies NumberProblem, column);
  return read;
}

/** How a spreadsheet writes a text so that it stays one: `="0151"` and `'0151`. */
const KEPT_TEXT = /^=?"(.*)"$|^'(?=[+\d=-])(.*)$/s;
const ROUNDED = /^\d(?:[.,]\d+)?E\+?\d+$/i;

function textOf(cell: Cell, { kind }: MappedField, column: string | null): Cell {
  if (kind === 'identifier' && typeof cell === 'number' && !Number.isSafeInteger(cell)) {
    throw new RowError('id_rounded', column);
  }
  if (typeof cell !== 'string') return kind === 'text' ? cell : String(cell);
  const kept = KEPT_TEXT.exec(cell);
  const text = (kept?.[1] ?? kept?.[2] ?? cell).trim();
  if (kind === 'identifier' && ROUNDED.test(text)) throw new RowError('id_rounded', column);
  if (kind === 'currency' && !/^[A-Za-z]{3}$/.test(text)) throw new RowError('currency_invalid', column);
  return kind === 'currency' ? text.toUpperCase() : text;
}

const PURCHASES = new Set(['purchase', 'Order Completed', 'Completed Order']);

/** The event's name; that of a purchase of less than nothing as the mapping says. */
function nameOf(name: string, properties: Record<string, Cell>, { negative, fields }: Mapping): string {
  if (name === '') throw new RowError('event_missing', null);
  const { value } = properties;
  if (typeof value !== 'number' || value >= 0 || !PURCHASES.has(name) || negative === 'keep') return name;
  const column = fields.find(({ field }) => field === 'value')?.columns[0] ?? null;
  if (negative === 'error') throw new RowError('value_negative', column);
  properties['value'] = -value;
  return 'refund';
}

interface Named {
  site: string;
  name: string;
  uuid: string | undefined;
  cells: Cells;
  properties: Readonly<Record<string, Cell>>;
  mapping: Mapping;
}

function keyOf({ site, name, uuid, cells, properties, mapping }: Named): RowKey {
  if (uuid !== undefined) return { by: 'uuid', uuid };
  if (mapping.id !== null) {
    const parts = mapping.id.map((column) => cells[column] ?? '');
    if (parts.every((part) => part === '')) throw new RowError('id_missing', mapping.id[0] ?? null);
    return { by: 'name', name: JSON.stringify([site, name, 'id', ...parts]) };
  }
  const order = properties['order_id'];
  if (order !== undefined) return { by: 'name', name: JSON.stringify([site, name, 'order', String(order)]) };
  return { by: 'contents', contents: JSON.stringify([site, name, mapping.constants, contentsOf(cells)]) };
}

/** All cells of a row in the order of their columns' names. */
export const contentsOf = (cells: Cells): [string, Cell][] =>
  Object.entries(cells).sort(([a], [b]) => (a < b ? -1 : Number(a > b)));

/** Of the ids that are derived here. */
const NAMESPACE = '0b5f2c6e-3c0e-5d0a-9a53-6f1f0e3c7d11';

/**
 * The id of an event, by which it counts once.
 *
 * @param number Which of the rows with the same contents it is, from 1 on.
 */
export function eventId(key: RowKey, number: number): string {
  if (key.by === 'uuid') return key.uuid;
  return uuidv5(key.by === 'name' ? key.name : `${number} ${key.contents}`, NAMESPACE);
}

const EMAIL = /^[^\s@]+@[^\s@]+\.[^\s@]+$|^[0-9a-f]{64}$/i;
const PHONE = /^(?:\+|00)[\d\s()/.-]{8,}$/;

/**
 * The whole event. Of sales that name nobody, or by a placeholder, each is a visitor's of its own: by the address of who imports them
 * they would all be one person's.
 */
export function completeEvent(event: Omit<OutgoingEvent, 'uuid'>, uuid: string): OutgoingEvent {
  const { email, phone, external_id: externalId } = event.properties;
  const says = (id: unknown): boolean => (typeof id === 'string' || typeof id === 'number') && !isNobodysId(String(id));
  const isKnown =
    says(event.distinct_id) ||
    says(externalId) ||
    (typeof email === 'string' && EMAIL.test(email) && says(email)) ||
    (typeof phone === 'string' && PHONE.test(phone) && says(phone.replace(/^00/, '+')));
  return { uuid, ...event, ...(isKnown ? {} : { distinct_id: uuid }) };
}

const PERSONAL = new Set([
  'email',
  'phone',
  'first_name',
  'last_name',
  'city',
  'zip',
  'external_id',
  'client_ip_address',
]);
const SHOWN_CHARACTERS = 2;

/** An event to be looked at, without saying who it is about. */
export function maskedEvent(event: OutgoingEvent): OutgoingEvent {
  const mask = (value: unknown): string =>
    `${(typeof value === 'string' ? value : JSON.stringify(value)).slice(0, SHOWN_CHARACTERS)}…`;
  const properties = Object.entries(event.properties).map(
    ([name, value]) => [name, PERSONAL.has(name) ? mask(value) : value] as const,
  );
  return { ...event, properties: Object.fromEntries(properties) };
}
