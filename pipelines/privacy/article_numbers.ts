const DIGITS = /^[0-9]+$/;
/** GTIN-8, GTIN-12 (UPC-A), GTIN-13 (EAN) and GTIN-14, as the GS1 General Specifications name them. */
const GTIN_LENGTHS: ReadonlySet<number> = new Set([8, 12, 13, 14]);
/** As shops number what they sell, and as people abroad write a phone number: `05286-21623`. */
const PAIR = /^[0-9]{4,6}-[0-9]{3,6}$/;

/** Whether digits are a GTIN: from the right, every second digit counts thrice, and the check digit makes tens of the sum. */
function isGtin(text: string): boolean {
  if (!GTIN_LENGTHS.has(text.length) || !DIGITS.test(text)) return false;
  let sum = 0;
  for (let at = 0; at < text.length; at += 1) {
    sum += (text.charCodeAt(at) - 0x30) * ((text.length - at) % 2 === 0 ? 3 : 1);
  }
  return sum % 10 === 0;
}

/** Whether a text that stands where articles are named is the number of one, though it could be a phone's too. */
export const isArticleNumber = (text: string): boolean => isGtin(text) || PAIR.test(text);
