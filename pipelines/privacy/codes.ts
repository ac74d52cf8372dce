/** An IBAN in groups of four, and a parcel number of UPS: their digits look like a phone number's. */
const CODE =
  /(?<![A-Za-z0-9])(?:(?<iban>[A-Z]{2}[0-9]{2}(?: [A-Z0-9]{4}){2,7}(?: [A-Z0-9]{1,3})?)|1Z ?[0-9A-Z]{3} ?[0-9A-Z]{3} ?[0-9]{2} ?[0-9]{4} ?[0-9]{4})(?![A-Za-z0-9])/g;
const MAY_BE_CODE = /[A-Z]{2}[0-9]{2} |1Z/;
const LETTER_A = 0x41;
const LETTER_VALUE_MIN = 10;
const CHECK_MODULUS = 97;

/** What `redact` makes of the text around such codes, which stay as they are. */
export function outsideOfCodes(text: string, redact: (part: string) => string): string {
  if (!MAY_BE_CODE.test(text)) return redact(text);
  let clean = '';
  let from = 0;
  for (const { 0: code, index, groups } of text.matchAll(CODE)) {
    const iban = groups?.['iban'];
    if (iban !== undefined && !isIban(iban)) continue;
    clean += redact(text.slice(from, index)) + code;
    from = index + code.length;
  }
  return clean + redact(text.slice(from));
}

/** ISO 13616: the country and check digits moved to the end, letters as numbers, the remainder by 97 is 1. */
function isIban(text: string): boolean {
  const plain = text.replaceAll(' ', '');
  let remainder = 0;
  for (const sign of plain.slice(4) + plain.slice(0, 4)) {
    const code = sign.charCodeAt(0);
    const value = code >= LETTER_A ? code - LETTER_A + LETTER_VALUE_MIN : Number(sign);
    remainder = (remainder * (value >= LETTER_VALUE_MIN ? 100 : 10) + value) % CHECK_MODULUS;
  }
  return remainder === 1;
}
