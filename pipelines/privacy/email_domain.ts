import { isIPv4 } from 'node:net';

/** What may follow the at sign; dots may be percent-encoded. */
const DOMAIN = /(?:[\p{L}\p{N}\p{M}_-]|\.|%(?:25)*2E)+/giuy;
const ENCODED_DOT = /%(?:25)*2E/gi;
const DOMAIN_WITH_TLD = /^[^.]+(?:\.{1,2}[^.]+)*\.{1,2}(?:xn--[a-z0-9-]{2,}|[a-z]{2,}|[^\p{ASCII}]{2,})/iu;
/** `[192.0.2.1]` and `[IPv6:2001:db8::1]` (RFC 5321). */
const ADDRESS_LITERAL = /(?:\[|%(?:25)*5B)(?:IPv6:)?(?:[0-9A-F:.]|%(?:25)*3A){3,60}(?:\]|%(?:25)*5D)/iy;
/** What files are called by: none of these is a top-level domain. */
const FILE_ENDING =
  /\.(?:png|jpe?g|gif|svg|webp|avif|bmp|tiff?|ico|pdf|js|mjs|cjs|css|map|json|xml|txt|csv|html?|php|aspx?|woff2?|ttf|otf|eot|mp[34]|webm)$/i;
/** What a file's name goes on with: no host has it. `jane@shop.co.uk_2026.csv` */
const BEHIND_DOMAIN = /(?<=\.[a-z]{2,24})_[^.]*$/i;
/** Labels that stand before a file's ending, and are not the end of a domain. */
const BUILD_LABEL =
  /\.(?:min|slim|umd|esm|cjs|iife|prod|production|dev|development|global|browser|module|bundle|test|spec|core|d|en|js|css|tar)$/i;
/** As in `logo@2x.dark.png`. */
const DENSITY = /^\d+(?:\.\d+)?x(?![a-z0-9-])/i;
/** As in `jquery@3.6.0-rc.one` and `checkout@v4.1-rc.one`. */
const VERSION = /^(?:v?\d+\.\d+\.\d+(?:[-+]|$)|v\d+$|v\d+(?:\.\d+)+(?:[-+]|$))/i;
/** A name in a local network. */
const HOST = /^[a-z](?:[a-z0-9_-]*[a-z0-9])\.?$/i;
/** What package managers write behind an at sign, and no host is called. */
const TAG =
  /^(?:latest|next|beta|alpha|rc|canary|dev|devel|main|master|trunk|stable|lts|head|tip|experimental|nightly|current|legacy|workspace|edge|insiders?|preview|snapshot|release|prod|production|staging|test|file|link|npm|sha\d+|v\d.*)$/i;
const USER = /^[a-z0-9][a-z0-9._+'-]+$/i;
const USER_LETTERS = /[a-z]|\d{6}/i;
const LOWER = /[a-z]/;
const UPPER = /[A-Z]/;

export interface Domain {
  /** Where it ends. */
  end: number;
  /** The name of a host without any domain, which only some local parts make an address of. */
  host: string | null;
}

/** The domain, address or host that begins at a place in the text; null where there is none. */
export function domainAt(text: string, from: number): Domain | null {
  ADDRESS_LITERAL.lastIndex = from;
  const literal = ADDRESS_LITERAL.exec(text);
  if (literal !== null) return { end: from + literal[0].length, host: null };
  DOMAIN.lastIndex = from;
  const raw = DOMAIN.exec(text)?.[0];
  if (raw === undefined) return null;
  const plain = raw.replace(ENCODED_DOT, '.');
  if (isIPv4(plain)) return { end: from + raw.length, host: null };
  if (VERSION.test(plain)) return null;
  const domain = DOMAIN_WITH_TLD.exec(plain)?.[0];
  if (domain === undefined) return HOST.test(plain) ? { end: from + raw.length, host: plain } : null;
  const name = withoutFileEnding(domain);
  if (name === null) return null;
  return { end: from + (plain === raw ? name.length : raw.length), host: null };
}

/** The domain in `jane@shop.example.png`; null in `jquery@3.min.js`, which has none. */
function withoutFileEnding(domain: string): string | null {
  if (!FILE_ENDING.test(domain)) return domain;
  const stem = domain.replace(FILE_ENDING, '').replace(BEHIND_DOMAIN, '');
  const isDomain = DOMAIN_WITH_TLD.exec(stem)?.[0] === stem && !DENSITY.test(stem) && !BUILD_LABEL.test(stem);
  return isDomain ? stem : null;
}

/** Whether `user@host` is an address: one case throughout, as addresses are written, unlike `Live@Wembley`. */
export function isUserAtHost(user: string, host: string): boolean {
  if (!USER.test(user) || !USER_LETTERS.test(user) || TAG.test(host)) return false;
  const both = user + host;
  return !(LOWER.test(both) && UPPER.test(both));
}
