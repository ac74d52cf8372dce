// The columns by which visits are told apart, and that say how their visitors came: made of what an event has already, its ids, the
// address of its page and of the one before, and its campaign.
import { arrivalOf, TELLING, tellsArrival } from '#pipelines/visits/arrival.ts';
import { visitKey } from '#pipelines/visits/visit_key.ts';
import type { ColumnStream, NumberedTexts } from './native_format.ts';
import { ColumnTexts, RecentAnswers, type Span, TEXTS_MAX, type VisitorFacts } from './visitor_columns.ts';

export const VISIT_KEY = 'visit_key';
const NUMBER_BYTES = Int32Array.BYTES_PER_ELEMENT;
const [SLASH, QUESTION, HASH, QUOTE, BACKSLASH, AMPERSAND] = [0x2f, 0x3f, 0x23, 0x22, 0x5c, 0x26];
/** Set in small letters. */
const SMALL = 0x20;
const BEGINS_TELLING: ReadonlySet<number> = new Set(TELLING.map((name) => name.charCodeAt(0)));
const NO_TEXT: Span = { bytes: Buffer.alloc(0), start: 0, end: -1 };
const NO_PAGE = [NO_TEXT, NO_TEXT, NO_TEXT];
const ENDS_PATH: ReadonlySet<number | undefined> = new Set([QUESTION, HASH, BACKSLASH]);

/** Texts of arrivals by their numbers, and the answers that were found. */
export class VisitTexts {
  private readonly column = new ColumnTexts();
  private readonly recent = new RecentAnswers<number>();

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
    const isTold = mayTell(page);
    const isOfPage = isTold || (referrer.end >= 0 && !haveOneOrigin(page, referrer));
    // Most events are of a visit that came by nothing but its first page.
    if (!isOfPage && source.end < 0 && medium.end < 0 && campaign.end < 0) return 0;
    const addresses = isOfPage ? [originIn(page), isTold ? queryIn(page) : NO_TEXT, originIn(referrer)] : NO_PAGE;
    return this.recent.of([...addresses, source, medium, campaign], domains, () => {
      const [address, from] = isOfPage ? [pageOf(page), originOf(referrer)] : ['', ''];
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

/** The text that JSON is; none of what is no text. */
function textOf({ bytes, start, end }: Span): string {
  if (end < start || bytes[start] !== QUOTE) return '';
  const inner = bytes.toString('utf8', start + 1, end - 1);
  return inner.includes('\\') ? (JSON.parse(`"${inner}"`) as string) : inner;
}

/** The query of an address and what follows it; all from the first escape on, where one comes before. */
function queryIn({ bytes, start, end }: Span): Span {
  let at = start;
  while (at < end && !ENDS_PATH.has(bytes[at])) at++;
  return { bytes, start: at, end: Math.max(at, end - 1) };
}

/** An address up to its path, and with its query where that tells how somebody came. */
function pageOf(page: Span): string {
  const { bytes, start, end } = queryIn(page);
  if (start < end && bytes[start] === BACKSLASH) return textOf(page);
  const query = bytes.toString('utf8', start, end);
  return originOf(page) + (tellsArrival(query) ? query : '');
}

/** All before the third slash; the whole of an address that is written with escapes. */
function originOf(address: Span): string {
  const { bytes, start, end } = originIn(address);
  if (end < start) return '';
  return start === address.start ? textOf(address) : bytes.toString('latin1', start, end);
}

/** Where it is; with its quotes, where it is the whole. */
function originIn(address: Span): Span {
  const { bytes, start, end } = address;
  if (end < start || bytes[start] !== QUOTE) return NO_TEXT;
  let slashes = 0;
  let at = start + 1;
  for (; at < end - 1; at++) {
    if (bytes[at] === BACKSLASH) return address;
    if (bytes[at] === QUESTION || (bytes[at] === SLASH && ++slashes === 3)) break;
  }
  return { bytes, start: start + 1, end: at };
}
