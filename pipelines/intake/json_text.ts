// JSON texts of requests: their outline without parsing them whole, and one form for equal values.

import { isObject, type JsonObject } from '#pipelines/privacy/clean_properties.ts';
/** Where a body holds its key: names from the top down, the first place that has a text counting. */
export type KeyPlaces = readonly (readonly string[])[];

/** A part of a body that can be parsed by itself, with the number of values in it. */
export interface JsonSpan {
  start: number;
  end: number;
  values: number;
}

/** What can be said of a JSON text without parsing it. */
export interface JsonOutline {
  key: string | null;
  /** The members of the outer list, or of the list `batch`; null where there is none. */
  members: JsonSpan[] | null;
  /** Values of the whole text. */
  values: number;
}

/** `not_json`: it is certainly none; what is not found here is found when it is parsed. */
type OutlineProblem = 'too_complex' | 'not_json';
export type JsonOutlineRead = { ok: true; outline: JsonOutline } | { ok: false; problem: OutlineProblem };

/** Deeper or with more values no client of a foreign protocol sends. */
const DEPTH_MAX = 64;
const VALUES_MAX = 250_000;
const KEY_BYTES_MAX = 200;
/** The member that holds the calls in every protocol that has many in a request. */
export const LIST = 'batch';

const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/**
 * Reads the outline of a text in steps, so that other work can be done between them. It looks for the key and the bounds
 * of the calls at the cost of a look at each byte: it builds nothing, whatever the text holds, and ends where it is too
 * deep or holds too many values to be parsed for anybody.
 */
export class JsonScanner {
  private readonly text: Buffer;
  private readonly places: KeyPlaces;
  /** The brackets that close what is open, by depth. */
  private readonly closers = new Uint8Array(DEPTH_MAX + 1);
  /** The names that lead to where it is, by depth. */
  private readonly names: string[] = [];
  private readonly found: (string | null)[];
  private members: JsonSpan[] | null = null;
  private at = 0;
  private depth = 0;
  private values = 0;
  /** Depth of the object in which the key's places begin: 2 within an outer list. */
  private base = 1;
  private atName = false;
  /** Depth of the list of calls while it is open, else 0. */
  private listDepth = 0;
  private member: JsonSpan | null = null;
  /** Where the text that is open begins; -1 where none is. */
  private textStart = -1;

  constructor(text: Buffer, places: KeyPlaces) {
    this.text = text;
    this.places = places;
    this.found = places.map(() => null);
  }

  /** Looks at so many bytes more; null: there are more. */
  step(bytes: number): JsonOutlineRead | null {
    const end = Math.min(this.text.length, this.at + bytes);
    for (; this.at < end; this.at++) {
      if (this.textStart >= 0) {
        if (!this.skipText(end)) break;
        this.noteText();
        this.textStart = -1;
        continue;
      }
      const problem = this.take(this.text[this.at]);
      if (problem !== null) return { ok: false, problem };
    }
    if (this.at < this.text.length) return null;
    if (this.depth !== 0 || this.textStart >= 0) return { ok: false, problem: 'not_json' };
    const key = this.found.find((one) => one !== null) ?? null;
    return { ok: true, outline: { key, members: this.members, values: this.values } };
  }

  private take(byte: number | undefined): OutlineProblem | null {
    if (byte === OPEN_OBJECT) return this.open(CLOSE_OBJECT) ? null : 'too_complex';
    if (byte === OPEN_LIST) return this.open(CLOSE_LIST) ? null : 'too_complex';
    if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) return this.close(byte) ? null : 'not_json';
    if (byte === COLON) this.atName = false;
    else if (byte === COMMA) {
      this.atName = this.top() === CLOSE_OBJECT;
      if (this.depth === this.listDepth) this.endMember();
      if (++this.values > VALUES_MAX) return 'too_complex';
    } else if (byte === QUOTE) this.textStart = this.at + 1;
    return null;
  }

  private open(closer: number): boolean {
    if (this.depth === DEPTH_MAX || ++this.values > VALUES_MAX) return false;
    this.depth += 1;
    this.closers[this.depth] = closer;
    this.atName = closer === CLOSE_OBJECT;
    if (this.depth === 1 && closer === CLOSE_LIST) this.base = 2;
    if (closer === CLOSE_LIST && this.members === null && this.isListOfCalls()) {
      this.members = [];
      this.listDepth = this.depth;
      this.member = { start: this.at + 1, end: 0, values: this.values };
    }
    return true;
  }

  /** Whether the list that was just opened holds the calls. */
  private isListOfCalls(): boolean {
    return this.depth === 1 || (this.base === 1 && this.depth === 2 && this.names[1] === LIST);
  }

  private close(closer: number): boolean {
    if (this.top() !== closer) return false;
    if (this.depth === this.listDepth) {
      this.endMember();
      this.member = null;
      this.listDepth = 0;
    }
    this.depth -= 1;
    this.atName = false;
    return true;
  }

  private top(): number {
    return this.closers[this.depth] ?? 0;
  }

  private endMember(): void {
    if (this.member === null || this.members === null) return;
    this.members.push({ start: this.member.start, end: this.at, values: this.values - this.member.values });
    this.member = { start: this.at + 1, end: 0, values: this.values };
  }

  /** Goes to the end of a text that has begun; false: it is beyond `end`. */
  private skipText(end: number): boolean {
    for (; this.at < end; this.at++) {
      const byte = this.text[this.at];
      if (byte === BACKSLASH) this.at++;
      else if (byte === QUOTE) return true;
    }
    return false;
  }

  /** Keeps the text that ends here, where it is a name on the way to a key or stands where a key may. */
  private noteText(): void {
    const level = this.depth - this.base;
    if (level < 0 || level > 1 || this.top() !== CLOSE_OBJECT || !this.isFirst()) return;
    const isLong = this.at - this.textStart > KEY_BYTES_MAX;
    if (this.atName) {
      this.names[this.depth] = isLong ? '' : unescaped(this.text, this.textStart, this.at);
      return;
    }
    const place = this.places.findIndex(
      (path) => path.length === level + 1 && path.every((name, n) => this.names[this.base + n] === name),
    );
    if (place >= 0 && !isLong) this.found[place] = unescaped(this.text, this.textStart, this.at);
  }

  /** Of an outer list the first member names the key. */
  private isFirst(): boolean {
    return this.base === 1 || this.members === null || this.members.length === 0;
  }
}

function unescaped(text: Buffer, start: number, end: number): string {
  const raw = text.toString('utf8', start, end);
  if (!raw.includes('\\')) return raw;
  try {
    return JSON.parse(`"${raw}"`) as string;
  } catch {
    return '';
  }
}

/** JSON with every object's keys sorted, so that equal values give equal text whatever order they were written in. */
export function canonicalJson(value: unknown, depth = 0): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  // A parser takes it, and nobody sends it.
  if (depth > DEPTH_MAX) return '"deep"';
  if (Array.isArray(value)) return `[${value.map((one) => canonicalJson(one, depth + 1)).join(',')}]`;
  const members = value as Readonly<Record<string, unknown>>;
  let text = '';
  for (const key of Object.keys(members).sort()) {
    if (members[key] !== undefined) text += `,${JSON.stringify(key)}:${canonicalJson(members[key], depth + 1)}`;
  }
  return `{${text.slice(1)}}`;
}

/** What of a request is copied to each of its events may come to so much in all of them: as much as a body may hold itself. */
const SHARED_CHARACTERS_MAX = 1024 * 1024;
const SHARED_VALUES_MAX = 20_000;
/** So many are no more than each event has of its own. */
const SHARED_VALUES_USUAL = 40;

/** Whether what a request says once for so many events would make far more of it than was sent; else null. */
export function sharedProblem(shared: unknown, copies: number): 'too_complex' | 'too_large' | null {
  if (copies < 2) return null;
  let values = 0;
  let characters = 0;
  for (const left: unknown[] = [shared]; left.length > 0; ) {
    const value = left.pop();
    values += 1;
    if (typeof value === 'string') {
      characters += value.length;
      // A text may be JSON itself, which is read as well.
      for (let at = value.indexOf(','); at >= 0; at = value.indexOf(',', at + 1)) values += 1;
    } else if (typeof value === 'object' && value !== null) {
      for (const [name, member] of Object.entries(value)) {
        characters += name.length;
        left.push(member);
      }
    }
    if (characters * copies > SHARED_CHARACTERS_MAX) return 'too_large';
    if (values > SHARED_VALUES_USUAL && values * copies > SHARED_VALUES_MAX) return 'too_complex';
  }
  return null;
}

const MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/** UTF-8 without the byte order mark that some programs begin every text with; RFC 8259 lets a reader ignore it. */
export function withoutByteOrderMark(text: Buffer): Buffer {
  return text.subarray(0, MARK.length).equals(MARK) ? text.subarray(MARK.length) : text;
}

/** The first value that is there: neither undefined, null nor an empty text. */
export function firstGiven(...values: readonly unknown[]): unknown {
  return values.find((value) => value !== undefined && value !== null && value !== '');
}

/**
 * Whether an optional object is there, or was left out: null, an empty text, or the empty list that PHP writes of an empty
 * array.
 */
export function isAbsentOrObject(value: unknown): boolean {
  return firstGiven(value) === undefined || isObject(value) || (Array.isArray(value) && value.length === 0);
}

export function objectOr(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

/** A member that an object has itself, whatever it is called. */
export function own(object: Readonly<Record<string, unknown>>, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}
