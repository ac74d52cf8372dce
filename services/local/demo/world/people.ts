// Visitors of the demo: names, addresses, phones, devices, ids.

import { createHash } from 'node:crypto';
import type { Random, Weighted } from './random.ts';

/** A customer who has told the site who they are. Everything about them is made up. */
export interface Customer {
  firstName: string;
  lastName: string;
  email: string;
  phone: string;
  externalId: string;
  city: string;
  zip: string;
  country: string;
}

const FIRST_NAMES =
  'Ada,Bruno,Clara,Dmitri,Élodie,Farid,Grace,Hiro,Ingrid,Jonas,Kofi,Lucía,Mary Ann,Noor,Oskar,Priya,Quentin,Rosa,Søren,Tomás'.split(
    ',',
  );
const LAST_NAMES =
  "Almeida,Bergström,O'Brien,Castillo,Dupont,Eriksen,Fischer,García-Ruiz,Haddad,Ito,Jensen,Kowalski,Lindqvist,Müller,Nakamura,Okafor,Petrov,Silva,Tanaka,van Dijk".split(
    ',',
  );
const PLACES: readonly (readonly [city: string, zip: string, country: string])[] = [
  ['New York', '10001', 'US'],
  ['San Francisco', '94103', 'US'],
  ['London', 'SW1A 1AA', 'GB'],
  ['Köln', '50667', 'DE'],
  ['Lyon', '69001', 'FR'],
  ['Göteborg', '411 01', 'SE'],
];

function plain(name: string): string {
  return name
    .normalize('NFD')
    .replaceAll(/[^a-z]/gi, '')
    .toLowerCase();
}

/** The `index`-th customer of the run. E-mail, phone and customer number belong to nobody else in the run. */
export function drawCustomer(identity: RunIdentity, random: Random, index: number): Customer {
  const firstName = random.pick(FIRST_NAMES);
  const lastName = random.pick(LAST_NAMES);
  const [city, zip, country] = random.pick(PLACES);
  const first = runNumber(identity, 'phones') % PHONE_COUNT;
  return {
    firstName,
    lastName,
    email: `${plain(firstName) || 'guest'}.${plain(lastName) || 'guest'}.${index}.${runToken(identity)}@example.com`,
    phone: phoneAt(first + index * PHONE_STRIDE),
    externalId: `C-${runToken(identity)}-${index}`,
    city,
    zip,
    country,
  };
}

/** The address as people type it: white space around it and capitals in it mean the same address. */
export function spellEmail(email: string, style: number): string {
  if (style % 3 === 1) return ` ${email} `;
  if (style % 3 === 2)
    return email.replace(/^(.)/, (deadLetter) => deadLetter.toUpperCase()).replace('example.com', 'Example.COM');
  return email;
}

/** The canonical names under which an identity is stitched in the ledger. */
export const identityOf = {
  email: (customer: Customer): string => `email:${customer.email}`,
  phone: (customer: Customer): string => `phone:${customer.phone}`,
  externalId: (customer: Customer): string => `external_id:${customer.externalId}`,
};

/**
 * Numbers that the regulators keep out of use for drama and examples and that libphonenumber nonetheless holds valid:
 * 020 7946 0XXX, 0113, 0121, 0131, 0141 and 0161 496 0XXX (Ofcom), (0)30 23125 XXX (Bundesnetzagentur), 01 99 00 XX XX (ARCEP).
 */
const BLOCKS = [
  ...['207946', '113496', '121496', '131496', '141496', '161496'].map((area) => ({ prefix: `+44${area}0`, digits: 3 })),
  { prefix: '+493023125', digits: 3 },
  { prefix: '+3319900', digits: 4 },
].map(({ prefix, digits }) => ({ prefix, digits, size: 10 ** digits }));

export const PHONE_COUNT = BLOCKS.reduce((sum, block) => sum + block.size, 0);

/** Coprime to PHONE_COUNT (a test holds it), so that stepping by it visits every number once before any repeats. */
export const PHONE_STRIDE = 7919;

/** The `index`-th fictitious number in E.164; counting goes round at the end. */
export function phoneAt(index: number): string {
  let left = index % PHONE_COUNT;
  for (const block of BLOCKS) {
    if (left < block.size) return block.prefix + String(left).padStart(block.digits, '0');
    left -= block.size;
  }
  throw new RangeError('phone index outside the blocks');
}

/** The same number as people type it: 0 is E.164, the others differ in spaces and punctuation only. */
export function spellPhone(phone: string, style: number): string {
  if (style % 4 === 1) return phone.replace(/^(\+\d{2})(\d{3})(\d{3})/, '$1 $2 $3 ');
  if (style % 4 === 2) return phone.replace(/^(\+\d{2})(\d{3})(\d{3})/, '$1-$2-$3-');
  if (style % 4 === 3) return ` ${phone.replace(/(\d{4})$/, ' $1')} `;
  return phone;
}

/** Names one run of the demo; it is part of every id, so that runs over the same data do not meet. */
export interface RunIdentity {
  seed: number;
  run: string;
}

function digest(identity: RunIdentity, label: string): string {
  return createHash('sha256').update(`${identity.seed}/${identity.run}/${label}`).digest('hex');
}

/** What every event id of the run begins with: `xxxxxxxx-xxxx-`. */
export function runPrefix(identity: RunIdentity): string {
  const tag = digest(identity, 'run');
  return `${tag.slice(0, 8)}-${tag.slice(8, 12)}-`;
}

/** A version 8 UUID (RFC 9562, section 5.8: contents are ours to choose): the run's prefix, then a digest of the label. */
export function eventId(identity: RunIdentity, label: string): string {
  const hex = digest(identity, `event/${label}`);
  const variant = '89ab'[Number.parseInt(hex.slice(3, 4), 16) % 4];
  return `${runPrefix(identity)}8${hex.slice(0, 3)}-${variant}${hex.slice(4, 7)}-${hex.slice(7, 19)}`;
}

/** A first-party visitor id as the tag's cookie would hold it. */
export function distinctId(identity: RunIdentity, label: string): string {
  return `did_${digest(identity, `visitor/${label}`).slice(0, 24)}`;
}

/** A short token of the run for use inside e-mail addresses, order numbers and customer numbers. */
function runToken(identity: RunIdentity): string {
  return digest(identity, 'token').slice(0, 8);
}

/** A whole number from 0 to 2^32 - 1 that depends on the run and the label. */
function runNumber(identity: RunIdentity, label: string): number {
  return Number.parseInt(digest(identity, `number/${label}`).slice(0, 8), 16);
}

export interface Device {
  /** Null for a visitor who refused the cookie: the edge derives an anonymous id from address and user agent. */
  distinctId: string | null;
  userAgent: string;
  ip: string;
  /** Meta's browser cookie, `fb.1.<ms>.<random>`. */
  fbp: string;
  language: string;
}

const WEBKIT = 'AppleWebKit/537.36 (KHTML, like Gecko)';
const chrome = (platform: string, rest = ''): string =>
  `Mozilla/5.0 (${platform}) ${WEBKIT} Chrome/142.0.0.0${rest} Safari/537.36`;
const safari = (platform: string, kind: string): string =>
  `Mozilla/5.0 (${platform}) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.6 ${kind}`;
const WINDOWS = 'Windows NT 10.0; Win64; x64';

const USER_AGENTS: readonly Weighted<string>[] = [
  [30, safari('iPhone; CPU iPhone OS 18_6 like Mac OS X', 'Mobile/15E148 Safari/604.1')],
  [24, chrome('Linux; Android 10; K', ' Mobile')],
  [20, chrome(WINDOWS)],
  [10, safari('Macintosh; Intel Mac OS X 10_15_7', 'Safari/605.1.15')],
  [6, `Mozilla/5.0 (${WINDOWS}; rv:144.0) Gecko/20100101 Firefox/144.0`],
  [5, `${chrome(WINDOWS)} Edg/142.0.0.0`],
  [5, chrome('X11; Linux x86_64')],
];

export const CRAWLERS: readonly string[] = [
  `Mozilla/5.0 ${WEBKIT.slice(0, -1)}; compatible; Googlebot/2.1; +http://www.google.com/bot.html) Chrome/142.0.0.0 Safari/537.36`,
  'Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)',
  'Mozilla/5.0 (compatible; AhrefsBot/7.0; +http://ahrefs.com/robot/)',
  `Mozilla/5.0 (X11; Linux x86_64) ${WEBKIT} HeadlessChrome/142.0.0.0 Safari/537.36`,
  'facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)',
];

const LANGUAGES: readonly string[] = ['en-US', 'en-GB', 'de-DE', 'fr-FR', 'sv-SE'];

/**
 * The `index`-th visitor's address, never given twice below 100,000: one third IPv6 with a /64 of its own in 2001:db8::/32
 * (RFC 3849), the rest IPv4 in 198.18.0.0/15 (RFC 2544). Neither is routed, so nobody's address is used.
 */
function visitorAddress(index: number): string {
  if (index % 3 === 0) {
    const net = `${(index >>> 16).toString(16)}:${(index & 0xffff).toString(16)}`;
    return `2001:db8:${net}::${((index % 251) + 1).toString(16)}`;
  }
  return `198.${18 + ((index >>> 16) & 1)}.${(index >>> 8) & 0xff}.${index & 0xff}`;
}

export function drawDevice(random: Random, index: number, distinctId: string | null, bornAt: number): Device {
  return {
    distinctId,
    userAgent: random.weigh(USER_AGENTS),
    ip: visitorAddress(index),
    fbp: `fb.1.${bornAt}.${random.whole(1_000_000_000, 2_147_483_647)}`,
    language: random.pick(LANGUAGES),
  };
}
