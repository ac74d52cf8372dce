// The columns that say where a visitor is and with what, made of what an event has already: its address, its user agent, and what
// browsers say of themselves among the properties. Each text stands once in a block, and rows name it by a number.
import type { Device, KeptPlaces, Place } from '#pipelines/warehouse/visitor.ts';
import { ALL_KEPT, deviceOf, languageOf, screenClassOf, withHint } from '#pipelines/warehouse/visitor.ts';
import type { ColumnStream, NumberedTexts } from './native_format.ts';

export const VISITOR_COLUMNS = [
  ...(['geo_country', 'geo_region', 'geo_city'] as const),
  ...(['browser', 'browser_version', 'os', 'os_version', 'device_type'] as const),
  ...(['language', 'screen_class'] as const),
] as const;
const PLACES = 3;
const DEVICES = 5;
const NUMBER_BYTES = Int32Array.BYTES_PER_ELEMENT;

/** Of each kind so many answers are held. */
const ANSWERS_MAX = 50_000;
/** With more texts in a column the next chunk begins with none. */
export const TEXTS_MAX = 50_000;

/** Properties that say something of the browser, in the order in which they count, and what. */
const HINTS = [
  ['language', '$browser_language', '$locale', 'language', 'locale'],
  ['screen', '$screen_width', 'screen_width', 'screen_resolution'],
  ['type', '$device_type'],
  ['context', 'context'],
  ['session', '$session_id', 'session_id', 'ga_session_id', 'sessionId'],
  ['device', '$device_id', 'client_id'],
  ['page', '$current_url', 'page_location', 'url'],
  ['referrer', '$referrer', 'page_referrer', 'referrer'],
  ['source', 'utm_source'],
  ['medium', 'utm_medium'],
  ['campaign', 'utm_campaign'],
] as const;
export type Hint = (typeof HINTS)[number][0];
/** By the name of a property: which hint it is, and which place it has among those of its kind. */
const RANKS = new Map(HINTS.flatMap(([hint, ...names]) => names.map((name, rank) => [name as string, { hint, rank }])));

/** A longer text is none: texts that were met are held. */
const HINT_BYTES_MAX: Readonly<Record<Hint, number>> = {
  ...{ language: 64, screen: 64, type: 64, context: Number.POSITIVE_INFINITY },
  ...{ session: 256, device: 256, page: 8_192, referrer: 8_192, source: 1_024, medium: 1_024, campaign: 1_024 },
};

/** What a property of this name is told as; null where nothing. */
export const hintOf = (name: Buffer): { hint: Hint; rank: number } | null => RANKS.get(name.toString('latin1')) ?? null;

/** Where places are looked up. */
export interface Locating {
  placeOf(address: string): Place | null;
  readonly version: number;
  /** What a site wants kept. */
  ofSite(siteId: string): KeptPlaces;
}

/** Rows without places. */
export const NO_PLACES: Locating = { placeOf: () => null, version: 0, ofSite: () => ALL_KEPT };

/** Says where a text is, in place: it is done for each event. */
export function putSpan(span: Span, bytes: Buffer, start: number, end: number): void {
  span.bytes = bytes;
  span.start = start;
  span.end = end;
}

/** A text among bytes; none where it ends before it begins. */
export interface Span {
  bytes: Buffer;
  start: number;
  end: number;
}

/** What of one event its visitor's columns are made of. */
export class VisitorFacts {
  isOnline = false;
  isBrowsers = false;
  isOfWebsite = false;
  readonly address: Span = noText();
  readonly userAgent: Span = noText();
  readonly visitor: Span = noText();
  /** The JSON of properties that are hints. */
  readonly hints: Readonly<Record<Hint, Span & { rank: number }>>;
  private readonly spans: readonly Span[];

  constructor() {
    const hints = HINTS.map(([hint]) => [hint, { ...noText(), rank: 0 }]);
    this.hints = Object.fromEntries(hints) as VisitorFacts['hints'];
    this.spans = [this.address, this.userAgent, this.visitor, ...Object.values(this.hints)];
  }

  reset(): void {
    for (const span of this.spans) span.end = -1;
  }

  /** Takes the JSON of a property that is a hint, unless a better one of its kind was taken. */
  take({ hint, rank }: { hint: Hint; rank: number }, bytes: Buffer, start: number, end: number): void {
    const known = this.hints[hint];
    if ((known.end >= 0 && known.rank < rank) || end - start > HINT_BYTES_MAX[hint]) return;
    putSpan(known, bytes, start, end);
    known.rank = rank;
  }

  textOf(hint: Hint): string {
    return textIn(this.hints[hint]);
  }
}

const noText = (): Span => ({ bytes: Buffer.alloc(0), start: 0, end: -1 });
const textIn = ({ bytes, start, end }: Span): string => (end < start ? '' : bytes.toString('latin1', start, end));

type Numbers = readonly number[];

/**
 * Texts of the columns by their numbers, and the answers that were found for addresses and user agents. There is a new one where
 * places have been renewed.
 */
export class VisitorTexts {
  private readonly version: number;
  private readonly columns = VISITOR_COLUMNS.map(() => new ColumnTexts());
  private readonly places = new Map<string, Numbers>();
  private readonly devices = new Map<string, Numbers>();
  private readonly languages = new Map<string, number>();
  private readonly screens = new Map<string, number>();
  private readonly locating: Locating;

  constructor(locating: Locating) {
    this.locating = locating;
    this.version = locating.version;
  }

  /** Whether what it holds is still so. */
  isOf(locating: Locating): boolean {
    if (this.locating !== locating || this.version !== locating.version) return false;
    return this.columns.every(({ texts }) => texts.length <= TEXTS_MAX);
  }

  /**
   * Appends the numbers of an event's texts, and says whether a visitor's browser or app tells the event. Only a visitor's own
   * address and browser say anything: those of an event that a browser sent, or that a server reports with the user agent of one.
   * What a till or a shop's server sends has its own.
   */
  write(facts: VisitorFacts, kept: KeptPlaces['places'], to: ColumnStream): boolean {
    const device = facts.isOnline && (facts.isBrowsers || facts.isOfWebsite) ? this.device(facts) : NOTHING;
    const isVisitors = facts.isBrowsers ? facts.isOnline : device[0] !== 0;
    if (!isVisitors) {
      for (let at = 0; at < VISITOR_COLUMNS.length; at++) to.int32(0);
      return false;
    }
    const place = kept === 'none' ? NOWHERE : this.place(textIn(facts.address));
    for (let at = 0; at < PLACES; at++) to.int32(kept === 'country' && at > 0 ? 0 : (place[at] as number));
    for (const number of device) to.int32(number);
    to.int32(this.language(facts));
    to.int32(this.screen(facts));
    return true;
  }

  private place(address: string): Numbers {
    if (address === '') return NOWHERE;
    return answer(this.places, address, () => {
      const place = this.locating.placeOf(address);
      return place === null ? NOWHERE : this.numbers(0, [place.country, place.region, place.city]);
    });
  }

  private device(facts: VisitorFacts): Numbers {
    const userAgent = textIn(facts.userAgent);
    if (userAgent === '') return NOTHING;
    const said = unquoted(facts.textOf('type'));
    return answer(this.devices, said === '' ? userAgent : `${said}\n${userAgent}`, () => {
      const { browser, browser_version, os, os_version, device_type }: Device = withHint(deviceOf(userAgent), said);
      return this.numbers(PLACES, [browser, browser_version, os, os_version, device_type]);
    });
  }

  private language(facts: VisitorFacts): number {
    const said = facts.textOf('language') || (CONTEXT_LOCALE.exec(facts.textOf('context'))?.[1] ?? '');
    if (said === '') return 0;
    return answer(this.languages, said, () => this.number(PLACES + DEVICES, languageOf(unquoted(said))));
  }

  private screen(facts: VisitorFacts): number {
    const said = facts.textOf('screen') || (CONTEXT_WIDTH.exec(facts.textOf('context'))?.[1] ?? '');
    if (said === '') return 0;
    return answer(this.screens, said, () => this.number(PLACES + DEVICES + 1, screenClassOf(unquoted(said))));
  }

  private numbers(first: number, texts: readonly string[]): Numbers {
    return texts.map((text, at) => this.number(first + at, text));
  }

  private number(column: number, text: string): number {
    return (this.columns[column] as ColumnTexts).numberOf(text);
  }

  /** The texts of a column, and where their numbers are in a stream of `write`. */
  numbered(column: number, stream: Buffer): NumberedTexts {
    const { texts } = this.columns[column] as ColumnTexts;
    return { texts, bytes: stream, first: column * NUMBER_BYTES, step: VISITOR_COLUMNS.length * NUMBER_BYTES };
  }
}

const NOWHERE: Numbers = Array<number>(PLACES).fill(0);
const NOTHING: Numbers = Array<number>(DEVICES).fill(0);

/** What Segment's libraries say in `context`. */
const CONTEXT_LOCALE = /"locale":("[^"\\]{2,35}")/;
const CONTEXT_WIDTH = /"screen":\{[^{}]{0,200}?"width":(\d{1,6})/;

/** The text of short JSON; a number as it is written. */
const unquoted = (json: string): string => (json.startsWith('"') ? json.slice(1, -1) : json);

export function answer<Answer>(known: Map<string, Answer>, question: string, find: () => Answer): Answer {
  const before = known.get(question);
  if (before !== undefined) return before;
  const found = find();
  if (known.size >= ANSWERS_MAX) known.clear();
  known.set(question, found);
  return found;
}

/** Texts of a column by their numbers; that of the empty text is 0. */
export class ColumnTexts {
  readonly texts: Buffer[] = [Buffer.alloc(0)];
  private readonly known = new Map<string, number>([['', 0]]);

  numberOf(text: string): number {
    const known = this.known.get(text) ?? this.texts.push(Buffer.from(text)) - 1;
    this.known.set(text, known);
    return known;
  }
}
