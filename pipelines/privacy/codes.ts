import { isArticleNumber } from './article_numbers.ts';

/**
 * Parcel numbers, whose digits look like a phone number's: of UPS, of the US Postal Service (in groups of four, with the ZIP code
 * before it or not), and of DHL.
 */
const PARCEL =
  /(?<![A-Za-z0-9])(?:1Z ?[0-9A-Z]{3} ?[0-9A-Z]{3} ?[0-9]{2} ?[0-9]{4} ?[0-9]{4}|(?:420 ?[0-9]{5} ?|4 ?20[0-9]{2} ?[0-9]{4} ?)?9[1-5][0-9]{2}(?: [0-9]{4}){4}(?: [0-9]{2})?|0034(?: [0-9]{4}){4})(?![A-Za-z0-9])/g;
/** The parameters and members that name articles, with one number or a list of them. */
const ARTICLES =
  /(?<![A-Za-z0-9])(?:(?:gtin|ean|upc|isbn)(?:-?[0-9]{1,2})?|mpn|(?:[a-z]{1,20}_)?sku|(?:item|product|content|variant|article)_?ids?)(?:=|\\{0,8}": {0,2}(?:\[ {0,2})?)((?:\\{0,8}"?[0-9][0-9-]{5,16}\\{0,8}"?(?:, {0,2})?)+)/gi;
const NUMBER = /[0-9][0-9-]+/g;
const MAY_BE_CODE =
  /1Z|(?:9[1-5][0-9]{2}|0034) [0-9]{4} [0-9]{4}|(?:gtin|ean|upc|isbn|mpn|sku|ids?)[-0-9]{0,3}(?:=|\\{0,8}":)/i;

/** What `redact` makes of the text around such codes, which stay as they are. */
export function outsideOfCodes(text: string, redact: (part: string) => string): string {
  if (!MAY_BE_CODE.test(text)) return redact(text);
  let clean = '';
  let from = 0;
  for (const { index, code } of codesIn(text)) {
    if (index < from) continue;
    clean += redact(text.slice(from, index)) + code;
    from = index + code.length;
  }
  return clean + redact(text.slice(from));
}

interface Code {
  index: number;
  code: string;
}

function codesIn(text: string): Code[] {
  const parcels = Array.from(text.matchAll(PARCEL), ({ 0: code, index }): Code => ({ index, code }));
  const articles = Array.from(text.matchAll(ARTICLES)).flatMap(({ 0: whole, 1: list = '', index }) =>
    Array.from(list.matchAll(NUMBER), ({ 0: code, index: at }): Code => {
      return { index: index + whole.length - list.length + at, code };
    }).filter(({ code }) => isArticleNumber(code)),
  );
  return [...parcels, ...articles].sort((one, other) => one.index - other.index);
}
