// Spam in submissions, and the proofs that come with them: the token of what was shown, and a solved challenge.

import { hash, timingSafeEqual } from 'node:crypto';
import { isIPv4 } from 'node:net';
import { domainToASCII } from 'node:url';
import { hmacSha256 } from '#pipelines/privacy/hash_identifiers.ts';
import { EVERYTHING, normalised, plainText } from '#pipelines/privacy/normalise_text.ts';
import type { ItemName } from './definition_fields.ts';
import type { Proof } from './engage_request.ts';
import type { Form } from './form.ts';

/** Proves that an item was handed out, by which edge ever, and when; nothing of it is kept. */
export const TOKEN_MS = 24 * 3_600_000;
/** What waited for a connection, or stood open in a tab, may come so late; then its token proves that it is ours alone. */
export const OLD_TOKEN_MS = 7 * 24 * 3_600_000;
/** Clocks of two edges may differ by so much: one that is behind sees a token before its time. */
export const AHEAD_MS = 60_000;
const MAC_BYTES = 16;
const TOKEN = /^([0-9a-z]{1,10})\.([A-Za-z0-9_-]{12})\.([A-Za-z0-9_-]{22})$/;

/** What a token is for. */
interface TokenSubject {
  siteId: string;
  name: ItemName;
  version: number;
}

export type TokenCheck =
  /** `nonce` is the token's own: no other has it. */
  | { ok: true; issuedMs: number; nonce: string }
  | { ok: false; code: 'token_missing' | 'token_forged' }
  /** `nonce`: of a token that is up to a week old; null: older, or from the future. */
  | { ok: false; code: 'token_expired'; nonce: string | null };

/** @param nonce 12 characters of base64url, at random. */
export function issueEngageToken(secret: Buffer, subject: TokenSubject, nowMs: number, nonce: string): string {
  const issued = nowMs.toString(36);
  return `${issued}.${nonce}.${macOf(secret, subject, issued, nonce).toString('base64url')}`;
}

export function checkEngageToken(secret: Buffer, subject: TokenSubject, token: string, nowMs: number): TokenCheck {
  if (token === '') return { ok: false, code: 'token_missing' };
  const [, issued = '', nonce = '', mac = ''] = TOKEN.exec(token) ?? [];
  const given = Buffer.from(mac, 'base64url');
  if (given.length !== MAC_BYTES) return { ok: false, code: 'token_forged' };
  if (!timingSafeEqual(given, macOf(secret, subject, issued, nonce))) return { ok: false, code: 'token_forged' };
  const issuedMs = Number.parseInt(issued, 36);
  const ageMs = nowMs - issuedMs;
  if (ageMs > TOKEN_MS || ageMs < -AHEAD_MS) {
    return { ok: false, code: 'token_expired', nonce: ageMs > TOKEN_MS && ageMs <= OLD_TOKEN_MS ? nonce : null };
  }
  return { ok: true, issuedMs, nonce };
}

/** What tells a token of ours from every other, also where it is up to a week old; null: it is none that counts. */
export function nonceOf(check: TokenCheck): string | null {
  return 'nonce' in check ? check.nonce : null;
}

function macOf(secret: Buffer, { siteId, name, version }: TokenSubject, issued: string, nonce: string): Buffer {
  return hmacSha256(secret, `token\0${siteId}\0${name}\0${version}\0${issued}\0${nonce}`).subarray(0, MAC_BYTES);
}

/** Numbers that a browser has to try at most: some 0.2 s of one core. */
const NUMBER_MAX = 100_000;
const CHALLENGE_MS = 10 * 60_000;

/** What a browser has to solve: find the number for which SHA-256 of salt and number is the challenge (ALTCHA's scheme). */
export interface Challenge {
  algorithm: 'SHA-256';
  salt: string;
  challenge: string;
  maxnumber: number;
  signature: string;
}

/** @param random 16 bytes. It is for one submission, and for ten minutes. */
export function makeChallenge(secret: Buffer, submissionId: string, nowMs: number, random: Buffer): Challenge {
  const salt = `${(nowMs + CHALLENGE_MS).toString(36)}.${random.subarray(4).toString('base64url')}`;
  const number = random.readUInt32BE(0) % (NUMBER_MAX + 1);
  const challenge = digestOf(salt, number);
  return {
    algorithm: 'SHA-256',
    salt,
    challenge,
    maxnumber: NUMBER_MAX,
    signature: sign(secret, submissionId, salt, challenge),
  };
}

/** Whether a challenge of ours was solved for this submission. */
export function isSolved(secret: Buffer, submissionId: string, proof: Proof | undefined, nowMs: number): boolean {
  if (proof === undefined) return false;
  const { salt, challenge, signature, number } = proof;
  const untilMs = Number.parseInt(salt.split('.', 1)[0] ?? '', 36);
  if (!(nowMs <= untilMs) || digestOf(salt, number) !== challenge) return false;
  const [given, right] = [Buffer.from(signature), Buffer.from(sign(secret, submissionId, salt, challenge))];
  return given.length === right.length && timingSafeEqual(given, right);
}

const digestOf = (salt: string, number: number): string => hash('sha256', `${salt}${number}`, 'hex');

function sign(secret: Buffer, submissionId: string, salt: string, challenge: string): string {
  return hmacSha256(secret, `challenge\0${submissionId}\0${salt}\0${challenge}`).toString('hex');
}

/** Why something counts as spam. */
export type SpamReason =
  | 'token_missing'
  | 'token_forged'
  | 'token_expired'
  | 'token_used'
  | 'honeypot'
  | 'too_fast'
  | 'links'
  | 'domain'
  | 'address_limit'
  | 'network_limit'
  | 'form_limit'
  | 'email_limit'
  | 'repeated_text'
  | 'challenge_missing';

export type SpamVerdict =
  | { kind: 'clean' }
  | { kind: 'doubt' }
  /** Too many that can prove nothing came lately: its sender is told to come again. */
  | { kind: 'later'; reason: SpamReason }
  | { kind: 'spam'; reason: SpamReason };

/** What a submission is by itself. A message without a token holds links: its sender is told, as people write them too. */
type VerdictAlone = SpamVerdict | { kind: 'links' };

/** How often the same was seen, this time included; null where nobody could be asked. */
export interface SpamCounts {
  /** The token came with another submission before, or with too many visitors. */
  tokenUsed: boolean;
  /** Submissions of the address in 10 minutes. */
  address: number;
  /** Submissions without a token of the network, a /48 of IPv6, in 10 minutes. */
  network: number;
  /** Submissions of the form without a token in 10 minutes. */
  form: number;
  /** Submissions with the e-mail address in an hour. */
  email: number;
  /** Submissions with the same text in an hour. */
  text: number;
}

export const ADDRESS_WINDOW_S = 600;
export const EMAIL_WINDOW_S = 3_600;
export const TEXT_WINDOW_S = 3_600;
const ADDRESS_DOUBT = 10;
/** People who share an address, as those of an office, prove that they are no program beyond ADDRESS_DOUBT. */
const ADDRESS_MAX = 60;
/** A form without script can prove nothing; the people of an office may send one all the same. */
const ADDRESS_WITHOUT_TOKEN_MAX = 10;
/** Whoever has one address of IPv6 has a /48 mostly, which is 65,536 networks of a /64. */
const NETWORK_WITHOUT_TOKEN_MAX = 30;
/** From however many addresses. */
const FORM_WITHOUT_TOKEN_MAX = 100;
const EMAIL_MAX = 3;
const TEXT_DOUBT = 5;
const TEXT_MAX = 20;

/** So far two edges' clocks may be apart, and so much faster a person is who has everything filled in by the browser. */
const CLOCKS_MS = 1_000;

interface Submission {
  /** A plain HTML form, which has no token. */
  withoutScript: boolean;
  token: TokenCheck;
  honeypot: string;
  /** What the visitor wrote. */
  texts: readonly string[];
  /** Of these what they wrote into boxes for a message. */
  messages: readonly string[];
  /** Of the visitor's e-mail address; null: none. */
  emailDomain: string | null;
  nowMs: number;
}

const CLEAN: SpamVerdict = { kind: 'clean' };
const DOUBT: SpamVerdict = { kind: 'doubt' };
const spam = (reason: SpamReason): SpamVerdict => ({ kind: 'spam', reason });
const later = (reason: SpamReason): SpamVerdict => ({ kind: 'later', reason });

/** What a submission says by itself. The time is that of the token, not of the visitor's clock. */
export function judgeAlone({ spam: rules }: Pick<Form, 'spam'>, sent: Submission): VerdictAlone {
  if (sent.honeypot !== '') return spam('honeypot');
  const { token } = sent;
  if (!token.ok && !isTokenOld(token)) {
    if (!sent.withoutScript || !isTokenAbsent(token)) return spam(token.code);
    // It may be a person's, who would never learn that it was not taken.
    if (!rules.without_script) return later(token.code);
    if (rules.challenge === 'always') return later('challenge_missing');
  }
  const earlyMs = token.ok ? rules.min_ms - (sent.nowMs - token.issuedMs) : 0;
  if (earlyMs > CLOCKS_MS) return spam('too_fast');
  if (countLinks(sent.texts) > rules.links_max) return spam('links');
  if (sent.emailDomain !== null && isBlocked(sent.emailDomain, rules.domains_blocked)) return spam('domain');
  if (isWithoutToken(sent) && countLinks(sent.messages) > 0) return { kind: 'links' };
  const isDoubtful = rules.challenge === 'always' || earlyMs > 0 || (!sent.withoutScript && isTokenOld(token));
  return isDoubtful ? DOUBT : CLEAN;
}

/** Few read a question and answer it in less. */
const ANSWER_MS_MIN = 1_000;

/**
 * What the answers of a survey say by themselves, which came with a token of ours. Its time is by the clock of the edge
 * that issued it, which may be ahead of this one's: too fast is a doubt, and no proof of spam. So is a survey that stood open
 * for more than a day.
 */
export function judgeAnswers(token: TokenCheck, nowMs: number): SpamVerdict {
  return token.ok && nowMs - token.issuedMs >= ANSWER_MS_MIN ? CLEAN : DOUBT;
}

/** What it says beside the others that came before. */
export function judgeAmongOthers(sent: Pick<Submission, 'token' | 'withoutScript'>, counts: SpamCounts): SpamVerdict {
  if (counts.tokenUsed) return spam('token_used');
  if (isWithoutToken(sent)) {
    if (counts.address > ADDRESS_WITHOUT_TOKEN_MAX) return later('address_limit');
    if (counts.network > NETWORK_WITHOUT_TOKEN_MAX) return later('network_limit');
    if (counts.form > FORM_WITHOUT_TOKEN_MAX) return later('form_limit');
  }
  if (counts.address > ADDRESS_MAX) return spam('address_limit');
  if (counts.email > EMAIL_MAX) return spam('email_limit');
  if (counts.text > TEXT_MAX) return spam('repeated_text');
  return counts.address > ADDRESS_DOUBT || counts.text > TEXT_DOUBT ? DOUBT : CLEAN;
}

/** Whether a submission is a plain form that brings no token which still holds. */
export const isWithoutToken = ({ token, withoutScript }: Pick<Submission, 'token' | 'withoutScript'>): boolean =>
  withoutScript && !token.ok;

const isTokenOld = (token: TokenCheck): boolean => !token.ok && token.code === 'token_expired' && token.nonce !== null;

/** A page without script may have been kept with its token for long. */
const isTokenAbsent = (token: TokenCheck): boolean => !token.ok && token.code !== 'token_forged';
/** What files and packages end in, also before a slash. */
const FILES: ReadonlySet<string> = new Set(
  'js ts jsx tsx mjs md py rb rs go html htm php css json xml txt pdf png jpg jpeg svg doc docx csv'.split(' '),
);
const LETTERS = /^\p{L}{2,}$/u;
/** Names of countries that are no word of a sentence, and stand behind no dot but a name's. */
const COUNTRIES: ReadonlySet<string> = new Set(
  'de uk fr nl pl ch eu br tk ml ga cf gq ly su ua kz tr cz ro gr dk hu jp kr vn th ng gg cc tv ws pw'.split(' '),
);
const PUNYCODE = /^xn--[a-z0-9-]+$/i;
const FOREIGN_NAMES: ReadonlySet<string> = new Set(
  'рф рус укр бел қаз срб бг мкд москва сайт онлайн дети ελ 中国 中國 香港 台湾 网址 网站 公司 在线 भारत 한국'.split(
    ' ',
  ),
);
/** The names under which links of spam stand mostly; a word before another ending, as in "node.js", is none. */
const NAMES: ReadonlySet<string> = new Set(
  'com net org info biz xyz top shop online site club store live icu vip ru cn io co me link click example'.split(' '),
);
/** Marks of a link, or a word that may be the name of a host, with what says that a path follows. */
const PART = /(?:[a-z][a-z+.-]{1,9}:)?\/\/[\w.-]*|\[url|<a\s|([\p{L}\p{N}\p{M}_@.-]+)(\/[\p{L}\p{N}?#]|:\d)?/giu;

const ESCAPED: readonly (readonly [RegExp, string])[] = [
  [/%3a/gi, ':'],
  [/%2f/gi, '/'],
  [/%5c/gi, '/'],
  [/%2e/gi, '.'],
  [/\\/g, '/'],
  // A dot that is kept apart from the name, so that no program takes it for one.
  [/\s?[[({]\s?(?:\.|dot)\s?[\])}]\s?/gi, '.'],
  [/(?<=[\p{L}\p{N}])\s\.\s(?=(?:com|net|org|info|biz|xyz|ru|cn|io|de|fr|uk|nl|pl)\b)/gu, '.'],
];

const countLinks = (texts: readonly string[]): number => texts.reduce((count, text) => count + linksIn(text), 0);

/** A domain and every name below it, in whatever letters it is written. */
function isBlocked(domain: string, blocked: readonly string[]): boolean {
  const name = asciiName(domain);
  return blocked.map(asciiName).some((one) => name === one || name.endsWith(`.${one}`));
}

const asciiName = (domain: string): string => domainToASCII(domain) || domain.toLowerCase();

/** How many links a text holds, however they are spelled. A mail address is none. */
export function linksIn(text: string): number {
  const plain = ESCAPED.reduce((current, [from, to]) => current.replace(from, to), readableText(text));
  let count = 0;
  for (const [, word, path] of plain.matchAll(PART))
    if (word === undefined || isLink(word, path !== undefined)) count += 1;
  return count;
}

function isLink(word: string, hasPath: boolean): boolean {
  if (!word.includes('.') || word.includes('@')) return false;
  const labels = word.split('.').filter((label) => label !== '');
  if (labels[0]?.toLowerCase() === 'www' || (labels.length === 4 && isIPv4(labels.join('.')))) return true;
  return labels.some((label, at) => at > 0 && isEnding(label, hasPath && at === labels.length - 1));
}

function isEnding(label: string, hasPath: boolean): boolean {
  const small = label.toLowerCase();
  if (NAMES.has(small) || FOREIGN_NAMES.has(small) || PUNYCODE.test(label)) return true;
  return COUNTRIES.has(label) || (hasPath && LETTERS.test(label) && !FILES.has(small));
}

const LOOKS_LATIN = 'аaеeоoрpсcуyхxіiјjѕsԁdһhкkмmнhтtвbαaοoρpνvιiκkτtυuχxεeηn';
/** Letters of Cyrillic and Greek that look like one of Latin. */
const LOOK_ALIKES: ReadonlyMap<string, string> = new Map(
  Array.from({ length: LOOKS_LATIN.length / 2 }, (_, at) => [
    LOOKS_LATIN.charAt(at * 2),
    LOOKS_LATIN.charAt(at * 2 + 1),
  ]),
);
const LOOK_ALIKE = new RegExp(`[${[...LOOK_ALIKES.keys()].join('')}]`, 'g');
const BETWEEN_WORDS = /[^\p{L}\p{N}]+/gu;
/** Fewer letters and figures tell nothing. */
const CHARACTERS_MIN = 10;

/** A text without what shows nothing and what only looks otherwise: the same for all that people read as the same text. */
export function readableText(text: string): string {
  return plainText(text, EVERYTHING);
}

/**
 * What stays of a text that is sent again with small changes: its letters and figures alone, of one case and without
 * accents, and look-alikes as what they look like. Figures tell texts of people apart, as they ask for four chairs or six.
 */
export function coreOfText(text: string): string {
  const readable = readableText(text).toLowerCase();
  const core = normalised(readable, 'NFD')
    .replaceAll(BETWEEN_WORDS, '')
    .replaceAll(LOOK_ALIKE, (deadLetter) => LOOK_ALIKES.get(deadLetter) ?? deadLetter);
  return core.length < CHARACTERS_MIN ? readable.replaceAll(/\s+/g, ' ').trim() : core;
}
