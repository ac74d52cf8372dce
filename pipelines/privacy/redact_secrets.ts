import type { Effort } from './effort.ts';
import { keyMeaning } from './key_meaning.ts';
import type { Names } from './key_words.ts';
import { HOLDS_LONG_NUMBER, HOLDS_SECRET, REDACTED } from './normalise_text.ts';
import { type CardSpan, findCards } from './redact_cards.ts';

/** A JSON Web Token, signed or encrypted or not: its header and what follows it (RFC 7515, 7516). */
const JWT = String.raw`eyJ[\w-]{8,}(?:\.[\w-]*){1,4}`;
/** How services let their keys begin, so that they are found where they should not be. */
const KEYS = [
  // Stripe, GitHub, GitLab, Slack, Amazon, Google, Meta, SendGrid, Shopify.
  '[sr]k_(?:live|test)_[A-Za-z0-9]{10,}',
  'whsec_[A-Za-z0-9+/]{16,}',
  String.raw`gh[opsur]_[A-Za-z0-9]{20,}|github_pat_\w{20,}`,
  String.raw`gl(?:pat|dt|rt|ptt|cbt|soat|ft|agent|imt|oas|sa|c)[-_][\w-]{20,}`,
  String.raw`xox[abeoprs]-[\w-]{10,}|xapp-[0-9]-[\w-]{10,}`,
  'A(?:KIA|SIA)[A-Z0-9]{16}(?![A-Za-z0-9])',
  String.raw`AIza[\w-]{35}|ya29\.[\w-]{20,}|GOCSPX-[\w-]{20,}`,
  String.raw`EAA[A-Za-z0-9]{60,}|SG\.[\w-]{16,}\.[\w-]{16,}`,
  'shp(?:at|ca|pa|ss|ua|tka)_[0-9A-Fa-f]{32}',
  // Registries of packages, models, and other clouds.
  String.raw`npm_[A-Za-z0-9]{30,}|pypi-[\w-]{40,}|dckr_[op]at_[\w-]{20,}|hf_[A-Za-z0-9]{30,}`,
  String.raw`sk-(?:(?:proj|svcacct|admin)-[\w-]{30,}|[a-z]{2,4}-[a-z0-9]+-[\w-]{30,}|[A-Za-z0-9]{32,})`,
  String.raw`xkeysib-[0-9a-f]{64}[\w-]*|key-[0-9a-f]{32}(?![\w-])|[0-9a-f]{32}-us[0-9]{1,2}(?![\w-])`,
  String.raw`sq0[a-z]{3}-[\w-]{22,}|rzp_(?:live|test)_[A-Za-z0-9]{14,}|do[opr]_v1_[0-9a-f]{64}|dapi[0-9a-f]{32}`,
  String.raw`lin_api_\w{30,}|PMAK-[0-9a-f]{24}-[0-9a-f]{34}|NRAK-[A-Z0-9]{27}|ATATT3[\w-]{20,}|dp\.[a-z]{2,5}\.\w{40,}`,
  String.raw`[0-9]{8,10}:AA[\w-]{33}|pk_[0-9a-f]{34}(?!\w)|pat-[a-z]{2}[0-9]-[0-9a-f-]{36}`,
  // Ours.
  'svc_(?:sk|st|at)_[A-Za-z0-9]{32}',
].join('|');
const PRIVATE_KEY = String.raw`-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]{0,30}PRIVATE KEY-----|$)`;
const FORM = new RegExp(String.raw`(?<![\w-])(?:${JWT}|${KEYS}|${PRIVATE_KEY})`, 'g');
/** What a header of HTTP says who asks by. */
const SCHEME = /(?<![\w-])(bearer|basic)((?:\s|%20|\+){1,3})(?=\S{0,200}?[0-9=])[\w.~+/=-]{16,}/gi;

/**
 * Replaces what is a secret by its form, whatever it stands under: tokens and keys, numbers of payment cards, and IBANs. Of cards
 * only those that are written as people write them, or stand alone: other digits are an id as likely.
 *
 * @param stands What the text's key says it is: digits of an id are no card's.
 */
export function redactSecrets(text: string, bits: number, stands: 'text' | Names, effort: Effort): string {
  let clean = text;
  if ((bits & HOLDS_SECRET) !== 0) clean = clean.replace(FORM, REDACTED).replace(SCHEME, `$1$2${REDACTED}`);
  if ((bits & HOLDS_LONG_NUMBER) === 0) return clean;
  if (MAY_BE_IBAN.test(clean)) clean = redactIbans(clean);
  return redactSpans(clean, (plain) =>
    CARD_START.test(plain) ? findCards(plain).filter((card) => isCard(plain, card, stands, effort)) : [],
  );
}

/** Whether a number that stands alone is a payment card's. */
export function isCardNumber(value: number): boolean {
  if (value < CARD_MIN || !Number.isSafeInteger(value)) return false;
  const text = String(value);
  return findCards(text).some((card) => isCard(text, card, 'text', null));
}

function redactSpans(text: string, spansIn: (text: string) => readonly { start: number; end: number }[]): string {
  let clean = '';
  let kept = 0;
  for (const { start, end } of spansIn(text)) {
    clean += text.slice(kept, start) + REDACTED;
    kept = end;
  }
  return kept === 0 ? text : clean + text.slice(kept);
}

const CARD_MIN = 10 ** 14;
/** What a card's number begins with, together or in groups. */
const CARD_START = /(?<![0-9])(?:[3-6][0-9]{3}|2[2-7][0-9]{2})(?:[0-9]{10}|[^0-9A-Za-z]{1,12}[0-9]{4})/;
/** Today's cards; those of fourteen digits only in groups, as article numbers have as many. */
const WHOLE_LENGTHS: ReadonlySet<number> = new Set([15, 16, 19]);
const SHAPES: ReadonlySet<string> = new Set(['4 4 4 4', '4 6 5', '4 6 4', '4 4 4 4 3', '8 8']);
const GLUED_BEFORE = /[\p{L}\p{N}_./-]$/u;
const GLUED_BEHIND = /^(?:[\p{L}\p{N}_]|[.-][\p{L}\p{N}])/u;
/** Parcels have more groups of four. */
const GROUP_BEFORE = /(?<![0-9])[0-9]{4}[\s-]{1,2}$/;
const NAME_CHARACTERS_MAX = 96;
const NAME_BEFORE = /(?<name>[\p{L}\p{N}_$.\-[\]]{1,80})(?:=|\\{0,8}"\s?:\s?(?:\\{0,8}")?)$/u;

function isCard(
  text: string,
  { start, end, isWhole }: CardSpan,
  stands: 'text' | Names,
  effort: Effort | null,
): boolean {
  const before = text.slice(Math.max(0, start - NAME_CHARACTERS_MAX), start);
  if (!isWhole) {
    const shape = (text.slice(start, end).match(/[0-9]+/g) ?? []).map((group) => group.length).join(' ');
    return SHAPES.has(shape) && !GROUP_BEFORE.test(before);
  }
  if (stands !== 'text' || !WHOLE_LENGTHS.has(end - start)) return false;
  if (GLUED_BEFORE.test(before) || GLUED_BEHIND.test(text.slice(end, end + 2))) return false;
  const name = NAME_BEFORE.exec(before)?.groups?.['name'];
  return name === undefined || effort === null || keyMeaning(name, effort).names === null;
}

/** Lengths by country (ISO 13616, the registry of SWIFT). */
const IBAN_LENGTHS = new Map(
  '15NO 16BE 18DK FO FI GL NL SD 19MK SI 20AT BA EE KZ LT LU MN XK 21CH HR LI LV 22BG BH CR DE GB GE IE ME RS VA 23AE GI IL IQ OM SO TL 24AD CZ ES MD PK RO SA SE SK TN VG 25LY PT ST 26IS TR 27BI DJ FR GR IT MC MR SM 28AL AZ BY CY DO GT HU LB NI PL SV 29BR EG PS QA UA 30JO KW MU YE 31MT SC 32LC 33RU'
    .split(/(?=[0-9]{2})/)
    .flatMap((part) =>
      part
        .slice(2)
        .trim()
        .split(' ')
        .map((country): [string, number] => [country, Number(part.slice(0, 2))]),
    ),
);
const MAY_BE_IBAN = /[A-Za-z]{2}[0-9]{2}[ +-]?[A-Za-z0-9]{2}/;
const IBAN_START = /(?<![A-Za-z0-9])([A-Z]{2})[0-9]{2}(?=[ +-]?[A-Z0-9]{2})/gi;
const IBAN_JOINT = /[ +-]/;
const LETTER_A = 0x41;
const LETTER_VALUE_MIN = 10;
const CHECK_MODULUS = 97;

/** Together or in groups, as banks print them. */
function redactIbans(text: string): string {
  return redactSpans(text, () => {
    const spans: { start: number; end: number }[] = [];
    for (const { index: start, 1: country = '' } of text.matchAll(IBAN_START)) {
      const end = ibanEnd(text, start, IBAN_LENGTHS.get(country.toUpperCase()) ?? 0);
      if (end !== null && start >= (spans.at(-1)?.end ?? 0)) spans.push({ start, end });
    }
    return spans;
  });
}

function ibanEnd(text: string, start: number, length: number): number | null {
  let iban = '';
  let at = start;
  for (; iban.length < length; at += 1) {
    const sign = text.charAt(at);
    if (/^[A-Za-z0-9]$/.test(sign)) iban += sign.toUpperCase();
    else if (!IBAN_JOINT.test(sign) || IBAN_JOINT.test(text.charAt(at - 1))) return null;
  }
  return length > 0 && !/^[A-Za-z0-9]/.test(text.charAt(at)) && passesCheck(iban) ? at : null;
}

/** ISO 13616: the country and check digits moved to the end, letters as numbers, the remainder by 97 is 1. */
function passesCheck(iban: string): boolean {
  let remainder = 0;
  for (const sign of iban.slice(4) + iban.slice(0, 4)) {
    const code = sign.charCodeAt(0);
    const value = code >= LETTER_A ? code - LETTER_A + LETTER_VALUE_MIN : Number(sign);
    remainder = (remainder * (value >= LETTER_VALUE_MIN ? 100 : 10) + value) % CHECK_MODULUS;
  }
  return remainder === 1;
}
