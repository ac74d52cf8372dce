import { type CardSpan, findCards } from './card_numbers.ts';
import { redactEncoded } from './percent_encoded.ts';
import { plainText } from './plain_text.ts';
import { REDACTED } from './redacted.ts';
import { HOLDS_PERCENT, scanText } from './scan_text.ts';
import { isUuidText } from './uuid_text.ts';

/**
 * The text with `redacted` in the place of numbers that have the length, the start and the check digit of a payment card, in
 * groups or not, also where what else is written beside them (a date, a security code) looks like more of the number. As
 * `redactText` it reads what people read: characters that show nothing, foreign digits and percent escapes are no disguise.
 */
export function redactCards(text: string): string {
  return redactSome(text, () => true);
}

/** Whether a card's number stands in the text in groups, or in a sentence: digits alone may as well be an id. */
export function holdsGroupedCard(text: string): boolean {
  const trimmed = text.trim();
  return redactSome(trimmed, isNoId) !== trimmed;
}

/** Digits that no blank stands beside are one: in a sentence they are none. */
function isNoId({ start, end, isWhole }: CardSpan, text: string): boolean {
  return !isWhole || /\s/.test(text.charAt(start - 1) + text.charAt(end));
}

type Choice = (card: CardSpan, text: string) => boolean;

function redactSome(text: string, isMeant: Choice): string {
  if (isUuidText(text)) return text;
  const bits = scanText(text);
  const readable = redactReadable(text, bits, isMeant);
  if ((bits & HOLDS_PERCENT) === 0) return readable;
  return redactEncoded(readable, (part) => redactReadable(part, scanText(part), isMeant));
}

function redactReadable(text: string, bits: number, isMeant: Choice): string {
  const plain = plainText(text, bits);
  const cards = findCards(plain).filter((card) => isMeant(card, plain));
  if (cards.length === 0) return text;
  let clean = '';
  let kept = 0;
  for (const { start, end } of cards) {
    clean += plain.slice(kept, start) + REDACTED;
    kept = end;
  }
  return clean + plain.slice(kept);
}
