// The columns that say where a visitor is and with what, made of what an event has already: its address, its user agent, and what
// browsers say of themselves among the properties. Each text stands once in a block, and rows name it by a number.
import {
  ALL_KEPT,
  type Device,
  deviceOf,
  type KeptPlaces,
  languageOf,
  type Place,
  screenClassOf,
  withHint,
} from '#pipelines/warehouse/visitor.ts';
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
  private readonly places = new Answers<Numbers>();
  private readonly devices = new Answers<Numbers>();
  private readonly languages = new Answers<number>();
  private readonly screens = new Answers<number>();
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
    const place = (kept === 'none' ? null : this.places.ofSpan(facts.address, this.findPlace)) ?? NOWHERE;
    for (let at = 0; at < PLACES; at++) to.int32(kept === 'country' && at > 0 ? 0 : (place[at] as number));
    for (const number of device) to.int32(number);
    to.int32(this.language(facts));
    to.int32(this.screen(facts));
    return true;
  }

  private readonly findPlace = (address: string): Numbers => {
    const place = this.locating.placeOf(address);
    return place === null ? NOWHERE : this.numbers(0, [place.country, place.region, place.city]);
  };

  private readonly findDevice = (userAgent: string): Numbers => this.numbersOf(deviceOf(userAgent));

  private readonly findLanguage = (said: string): number => this.number(PLACES + DEVICES, languageOf(unquoted(said)));

  private readonly findScreen = (said: string): number =>
    this.number(PLACES + DEVICES + 1, screenClassOf(unquoted(said)));

  private device({ userAgent, hints }: VisitorFacts): Numbers {
    if (hints.type.end < 0) return this.devices.ofSpan(userAgent, this.findDevice) ?? NOTHING;
    const [text, said] = [textIn(userAgent), unquoted(textIn(hints.type))];
    if (text === '') return NOTHING;
    return this.devices.of(`${said}\n${text}`, () => this.numbersOf(withHint(deviceOf(text), said)));
  }

  private numbersOf({ browser, browser_version, os, os_version, device_type }: Device): Numbers {
    return this.numbers(PLACES, [browser, browser_version, os, os_version, device_type]);
  }

  private language({ hints: { language, context } }: VisitorFacts): number {
    if (language.end >= 0) return this.languages.ofSpan(language, this.findLanguage) ?? 0;
    const said = CONTEXT_LOCALE.exec(textIn(context))?.[1];
    return said === undefined ? 0 : this.languages.of(said, this.findLanguage);
  }

  private screen({ hints: { screen, context } }: VisitorFacts): number {
    if (screen.end >= 0) return this.screens.ofSpan(screen, this.findScreen) ?? 0;
    const said = CONTEXT_WIDTH.exec(textIn(context))?.[1];
    return said === undefined ? 0 : this.screens.of(said, this.findScreen);
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

const SLOTS = 2_048;
/** So many bytes of a text say where it is looked for. */
const SAMPLES = 16;

interface RecentAnswer<Answer> {
  /** The texts one behind the other, and where each ends. */
  bytes: Buffer;
  ends: readonly number[];
  of: unknown;
  answer: Answer;
}

/** What was found for texts a while ago, by their bytes, so that no texts are made of them: most are met again soon. */
export class RecentAnswers<Answer> {
  private readonly slots: (RecentAnswer<Answer> | undefined)[] = Array(SLOTS).fill(undefined);

  /** @param of What else the answer depends on, the same object each time. */
  of(spans: readonly Span[], of: unknown, find: () => Answer): Answer {
    const slot = slotOf(spans);
    const recent = this.slots[slot];
    if (recent !== undefined && recent.of === of && areSame(recent, spans)) return recent.answer;
    const answer = find();
    const texts = spans.map(({ bytes, start, end }) => bytes.subarray(start, Math.max(start, end)));
    let length = 0;
    const ends = texts.map((text) => (length += text.length));
    this.slots[slot] = { bytes: Buffer.concat(texts), ends, of, answer };
    return answer;
  }
}

function slotOf(spans: readonly Span[]): number {
  let hash = 0;
  for (const { bytes, start, end } of spans) {
    const step = Math.max(1, Math.ceil((end - start) / SAMPLES));
    hash = Math.imul(hash ^ (end - start), 0x01000193);
    for (let at = start; at < end; at += step) hash = Math.imul(hash ^ (bytes[at] as number), 0x01000193);
  }
  return (hash ^ (hash >>> 15)) & (SLOTS - 1);
}

function areSame({ bytes, ends }: Pick<RecentAnswer<unknown>, 'bytes' | 'ends'>, spans: readonly Span[]): boolean {
  let at = 0;
  for (let span = 0; span < spans.length; span++) {
    const { bytes: other, start, end } = spans[span] as Span;
    const stop = ends[span] as number;
    if (stop - at !== Math.max(0, end - start)) return false;
    for (let from = start; at < stop; at++, from++) if (bytes[at] !== other[from]) return false;
  }
  return true;
}

/** What was found for texts, up to 50,000 of them. */
class Answers<Answer> {
  private readonly known = new Map<string, Answer>();
  private readonly recent = new RecentAnswers<Answer>();

  of(question: string, find: (question: string) => Answer): Answer {
    const before = this.known.get(question);
    if (before !== undefined) return before;
    const found = find(question);
    if (this.known.size >= ANSWERS_MAX) this.known.clear();
    this.known.set(question, found);
    return found;
  }

  /** Null where there is no text, or an empty one. */
  ofSpan(span: Span, find: (question: string) => Answer): Answer | null {
    return span.end <= span.start ? null : this.recent.of([span], null, () => this.of(textIn(span), find));
  }
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
