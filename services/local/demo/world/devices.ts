import type { Random, Weighted } from './random.ts';

export interface Device {
  /** Null for a visitor who refused the cookie: the edge derives an anonymous id from address and user agent. */
  distinctId: string | null;
  userAgent: string;
  ip: string;
  /** Meta's browser cookie, `fb.1.<ms>.<random>`. */
  fbp: string;
  language: string;
}

const USER_AGENTS: readonly Weighted<string>[] = [
  [
    30,
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.6 Mobile/15E148 Safari/604.1',
  ],
  [
    24,
    'Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Mobile Safari/537.36',
  ],
  [
    20,
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36',
  ],
  [
    10,
    'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.6 Safari/605.1.15',
  ],
  [6, 'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:144.0) Gecko/20100101 Firefox/144.0'],
  [
    5,
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36 Edg/142.0.0.0',
  ],
  [5, 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36'],
];

/** Crawlers that name themselves. */
export const CRAWLERS: readonly string[] = [
  'Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; Googlebot/2.1; +http://www.google.com/bot.html) Chrome/142.0.0.0 Safari/537.36',
  'Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)',
  'Mozilla/5.0 (compatible; AhrefsBot/7.0; +http://ahrefs.com/robot/)',
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/142.0.0.0 Safari/537.36',
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

/** A device at the address of `index`. */
export function drawDevice(random: Random, index: number, distinctId: string | null, bornAt: number): Device {
  return {
    distinctId,
    userAgent: random.weigh(USER_AGENTS),
    ip: visitorAddress(index),
    fbp: `fb.1.${bornAt}.${random.whole(1_000_000_000, 2_147_483_647)}`,
    language: random.pick(LANGUAGES),
  };
}
