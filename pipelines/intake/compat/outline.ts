/** Where a body holds its key: names from the top down, the first place that has a text counting. */
export type KeyPlaces = readonly (readonly string[])[];

/** A part of a body that can be parsed by itself, with the number of values in it. */
export interface Piece {
  start: number;
  end: number;
  values: number;
}

/** What can be said of a JSON text without parsing it. */
export interface Outline {
  key: string | null;
  /** The members of the outer list, or of the list `batch`; null where there is none. */
  members: Piece[] | null;
  /** Values of the whole text. */
  values: number;
}

/** `not_json`: it is certainly none; what is not found here is found when it is parsed. */
type OutlineProblem = 'too_complex' | 'not_json';
export type OutlineRead = { ok: true; outline: Outline } | { ok: false; problem: OutlineProblem };

/** Deeper or with more values no client of a foreign protocol sends. */
const DEPTH_MAX = 64;
const VALUES_MAX = 250_000;
const KEY_BYTES_MAX = 200;
/** The member that holds the calls in every protocol that has many in a request. */
export const LIST = 'batch';

const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/** Reads the outline of a text in steps, so that other work can be done between them. */
export interface OutlineReader {
  /** Looks at so many bytes more; null: there are more. */
  step(bytes: number): OutlineRead | null;
}

/**
 * Looks for the key and the bounds of the calls at the cost of a look at each byte: it builds nothing, whatever the text
 * holds, and ends where it is too deep or holds too many values to be parsed for anybody.
 */
export function outlineReader(text: Buffer, places: KeyPlaces): OutlineReader {
  const closers = new Uint8Array(DEPTH_MAX + 1);
  const names: string[] = [];
  const found: (string | null)[] = places.map(() => null);
  let members: Piece[] | null = null;
  let at = 0;
  let depth = 0;
  let values = 0;
  let base = 1;
  let atName = false;
  let listDepth = 0;
  let member: Piece | null = null;
  let textStart = -1;

  const top = (): number => closers[depth] ?? 0;

  function open(closer: number): boolean {
    if (depth === DEPTH_MAX || ++values > VALUES_MAX) return false;
    depth += 1;
    closers[depth] = closer;
    atName = closer === CLOSE_OBJECT;
    if (depth === 1 && closer === CLOSE_LIST) base = 2;
    const isList = closer === CLOSE_LIST && (depth === 1 || (base === 1 && depth === 2 && names[1] === LIST));
    if (isList && members === null) {
      members = [];
      listDepth = depth;
      member = { start: at + 1, end: 0, values };
    }
    return true;
  }

  function endMember(): void {
    if (member === null || members === null) return;
    members.push({ start: member.start, end: at, values: values - member.values });
    member = { start: at + 1, end: 0, values };
  }

  function close(closer: number): boolean {
    if (top() !== closer) return false;
    if (depth === listDepth) {
      endMember();
      member = null;
      listDepth = 0;
    }
    depth -= 1;
    atName = false;
    return true;
  }

  function noteText(): void {
    const level = depth - base;
    if (level < 0 || level > 1 || top() !== CLOSE_OBJECT || !isFirst()) return;
    if (atName) {
      names[depth] = at - textStart > KEY_BYTES_MAX ? '' : unescaped(text, textStart, at);
      return;
    }
    const place = places.findIndex(
      (path) => path.length === level + 1 && path.every((name, n) => names[base + n] === name),
    );
    if (place >= 0 && at - textStart <= KEY_BYTES_MAX) found[place] = unescaped(text, textStart, at);
  }

  /** Of an outer list the first member names the key. */
  function isFirst(): boolean {
    return base === 1 || members === null || members.length === 0;
  }

  /** Goes to the end of a text that has begun; false: it is beyond `end`. */
  function skipText(end: number): boolean {
    for (; at < end; at++) {
      const byte = text[at];
      if (byte === BACKSLASH) at++;
      else if (byte === QUOTE) return true;
    }
    return false;
  }

  function take(byte: number | undefined): OutlineProblem | null {
    if (byte === OPEN_OBJECT) return open(CLOSE_OBJECT) ? null : 'too_complex';
    if (byte === OPEN_LIST) return open(CLOSE_LIST) ? null : 'too_complex';
    if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) return close(byte) ? null : 'not_json';
    if (byte === COLON) atName = false;
    else if (byte === COMMA) {
      atName = top() === CLOSE_OBJECT;
      if (depth === listDepth) endMember();
      if (++values > VALUES_MAX) return 'too_complex';
    } else if (byte === QUOTE) textStart = at + 1;
    return null;
  }

  function step(bytes: number): OutlineRead | null {
    const end = Math.min(text.length, at + bytes);
    for (; at < end; at++) {
      if (textStart >= 0) {
        if (!skipText(end)) break;
        noteText();
        textStart = -1;
        continue;
      }
      const problem = take(text[at]);
      if (problem !== null) return { ok: false, problem };
    }
    if (at < text.length) return null;
    if (depth !== 0 || textStart >= 0) return { ok: false, problem: 'not_json' };
    return { ok: true, outline: { key: found.find((one) => one !== null) ?? null, members, values } };
  }

  return { step };
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
