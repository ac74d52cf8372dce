// The columns by which visits are told apart, and that say how their visitors came: made of what an event has already, its ids, the
// address of its page and of the one before, and its campaign.
import { arrivalOf, TELLING, tellsArrival } from '#pipelines/visits/arrival.ts';
import { visitKey } from '#pipelines/visits/visit_key.ts';
import type { ColumnStream, NumberedTexts } from './native_format.ts';
import { answer, ColumnTexts, type Span, TEXTS_MAX, type VisitorFacts } from './visitor_columns.ts';

export const VISIT_KEY = 'visit_key';
/** Properties that stand nearer to each other are read at once. */
const NEAR_BYTES = 512;
const NUMBER_BYTES = Int32Array.BYTES_PER_ELEMENT;
const [SLASH, QUESTION, HASH, QUOTE, BACKSLASH, AMPERSAND] = [0x2f, 0x3f, 0x23, 0x22, 0x5c, 0x26];
/** Set in small letters. */
const SMALL = 0x20;
const BEGINS_TELLING: ReadonlySet<number> = new Set(TELLING.map((name) => name.charCodeAt(0)));
const ENDS_PATH: ReadonlySet<number | undefined> = new Set([QUESTION, HASH, BACKSLASH]);

/** Texts of arrivals by their numbers, and the answers that were found. */
export class VisitTexts {
  private readonly column = new ColumnTexts();
  private readonly arrivals = new Map<string, number>();

  /** Whether the next chunk is to begin with none. */
  isFull(): boolean {
    return this.column.texts.length > TEXTS_MAX;
  }

  /** Appends the key of an event's visit and the number of its arrival; of what is no visit's zeros. */
  write(
    facts: VisitorFacts,
    isOfVisit: boolean,
    domains: readonly string[],
    keys: ColumnStream,
    numbers: ColumnStream,
  ): void {
    if (!isOfVisit) {
      keys.uint64(0, 0);
      numbers.int32(0);
      return;
    }
    const { low, high } = visitKey({
      session: unquoted(facts.hints.session),
      device: unquoted(facts.hints.device),
      visitor: facts.visitor,
    });
    keys.uint64(low, high);
    numbers.int32(this.arrival(facts, domains));
  }

  private arrival({ hints }: VisitorFacts, domains: readonly string[]): number {
    const { page, referrer, source, medium, campaign } = hints;
    const words = wordsOf(source, medium, campaign);
    const isOfPage = mayTell(page) || (referrer.end >= 0 && !haveOneOrigin(page, referrer));
    // Most events are of a visit that came by nothing but its first page.
    if (!isOfPage && words === '') return 0;
    const [address, from] = isOfPage ? [pageOf(page), originOf(referrer)] : ['', ''];
    const known = isOfPage ? `${words}\n${address}\n${from}\n${domains.join()}` : words;
    return answer(this.arrivals, known, () => {
      const utm = { source: textOf(source), medium: textOf(medium), campaign: textOf(campaign) };
      return this.column.numberOf(arrivalOf({ page: address, referrer: from, utm, domains }));
    });
  }

  /** The texts, and where their numbers are in a stream of `write`. */
  numbered(stream: Buffer): NumberedTexts {
    return { texts: this.column.texts, bytes: stream, first: 0, step: NUMBER_BYTES };
  }
}

/** Where the text of JSON is, as its bytes have it; a number as it is written. It is only compared. */
function unquoted(span: Span): Span {
  const { bytes, start, end } = span;
  return end > start && bytes[start] === QUOTE ? { bytes, start: start + 1, end: end - 1 } : span;
}

/** Whether the query of an address has a parameter that begins as those do which tell how somebody came, or it is not known. */
function mayTell({ bytes, start, end }: Span): boolean {
  let isQuery = false;
  for (let at = start; at < end; at++) {
    const byte = bytes[at] as number;
    if (byte === BACKSLASH) return true;
    if (byte === HASH) return false;
    if (byte !== QUESTION && !(isQuery && byte === AMPERSAND)) continue;
    isQuery = true;
    if (BEGINS_TELLING.has((bytes[at + 1] as number) | SMALL)) return true;
  }
  return false;
}

/** Whether two addresses are the same up to their paths. */
function haveOneOrigin(one: Span, other: Span): boolean {
  let slashes = 0;
  for (let at = 0; slashes < 3; at++) {
    const byte = one.bytes[one.start + at];
    if (byte !== other.bytes[other.start + at] || one.start + at >= one.end || byte === BACKSLASH) return false;
    if (byte === SLASH) slashes++;
  }
  return true;
}

/** A text that is another where one of the words is, made of all between the first and the last; empty where there is none. */
function wordsOf(...words: readonly Span[]): string {
  let [start, end] = [Number.POSITIVE_INFINITY, -1];
  let bytes: Buffer | null = null;
  for (const word of words) {
    if (word.end < 0) continue;
    bytes = word.bytes;
    start = Math.min(start, word.start);
    end = Math.max(end, word.end);
  }
  if (bytes === null) return '';
  let places = '';
  for (const word of words) places += word.end < 0 ? '-,' : `${word.start - start},`;
  if (end - start <= NEAR_BYTES && words.every((word) => word.end < 0 || word.bytes === bytes)) {
    return places + bytes.toString('latin1', start, end);
  }
  return words.map((word) => (word.end < 0 ? '' : word.bytes.toString('latin1', word.start, word.end))).join('\n');
}

/** The text that JSON is; none of what is no text. */
function textOf({ bytes, start, end }: Span): string {
  if (end < start || bytes[start] !== QUOTE) return '';
  const inner = bytes.toString('utf8', start + 1, end - 1);
  return inner.includes('\\') ? (JSON.parse(`"${inner}"`) as string) : inner;
}

/** An address up to its path, and with its query where that tells how somebody came. */
function pageOf(span: Span): string {
  const { bytes, end } = span;
  let at = span.start;
  while (at < end && !ENDS_PATH.has(bytes[at])) at++;
  const isWhole = bytes[at] === BACKSLASH && at < end;
  if (isWhole) return textOf(span);
  const query = bytes.toString('utf8', at, Math.max(at, end - 1));
  return originOf(span) + (tellsArrival(query) ? query : '');
}

/** All before the third slash; the whole of an address that is written with escapes. */
function originOf(span: Span): string {
  const { bytes, start, end } = span;
  if (end < start || bytes[start] !== QUOTE) return '';
  let slashes = 0;
  let at = start + 1;
  for (; at < end - 1; at++) {
    if (bytes[at] === BACKSLASH) return textOf(span);
    if (bytes[at] === QUESTION || (bytes[at] === SLASH && ++slashes === 3)) break;
  }
  return bytes.toString('latin1', start + 1, at);
}
