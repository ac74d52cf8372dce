import { isSupportedCountry, type PhoneNumber, parsePhoneNumberFromString } from 'libphonenumber-js/max';

const EVENT_READS_MAX = 600;
const REQUEST_READS_MAX = 20_000;
/** For every candidate that fits into an id of 200 characters. */
const ID_READS_MAX = 64;

/**
 * How often candidates may still be read by the numbering plans, which costs some 20 µs each time; and what was read.
 * Whoever has none left takes a candidate for a number: such an event is a table of figures, or meant to cost time.
 */
export interface PhoneReads {
  leftOfEvent: number;
  leftOfRequest: number;
  /** All that were made for the request, those for ids among them. */
  readonly made: { count: number };
  /** By country and text: what repeats among the events of a request is read once. Gone with the request. */
  readonly known: Map<string, PhoneNumber | null>;
}

/** Those of a new request, or of a text that belongs to none. */
export function allowPhoneReads(): PhoneReads {
  return { leftOfEvent: EVENT_READS_MAX, leftOfRequest: REQUEST_READS_MAX, made: { count: 0 }, known: new Map() };
}

/**
 * Those of one id, which are the same whatever stands around it: one id must not be hashed in one request and kept in
 * another, as events would be counted twice.
 */
export function idReads(reads?: PhoneReads): PhoneReads {
  return {
    leftOfEvent: ID_READS_MAX,
    leftOfRequest: ID_READS_MAX,
    made: reads?.made ?? { count: 0 },
    known: new Map(),
  };
}

/** Begins another event of the request. */
export function startEventReads(reads: PhoneReads): void {
  reads.leftOfEvent = Math.min(EVENT_READS_MAX, reads.leftOfRequest);
}

/**
 * The valid number that a text is in a country, or with its plus in whatever country; null where it is none.
 * `unread`: there are no reads left.
 */
export function readPhone(text: string, country: string | null, reads: PhoneReads): PhoneNumber | null | 'unread' {
  const key = `${country ?? ''} ${text}`;
  const known = reads.known.get(key);
  if (known !== undefined) return known;
  if (reads.leftOfEvent <= 0) return 'unread';
  reads.leftOfEvent -= 1;
  reads.leftOfRequest -= 1;
  reads.made.count += 1;
  const number = parse(text, country);
  const valid = number?.isValid() === true ? number : null;
  reads.known.set(key, valid);
  return valid;
}

function parse(text: string, country: string | null): PhoneNumber | undefined {
  if (country === null) return parsePhoneNumberFromString(text);
  return isSupportedCountry(country)
    ? parsePhoneNumberFromString(text, { defaultCountry: country, extract: false })
    : undefined;
}
