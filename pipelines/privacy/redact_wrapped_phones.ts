import { REDACTED } from './redacted.ts';

/** One group of a number in brackets or quotes of its own. */
const WRAPPED = String.raw`[[({<"'${'`'}\u2018-\u201f\u00ab\u2039]\s?(?:\+\s?)?[0-9]{1,8}\s?[\])}>"'${'`'}\u2018-\u201f\u00bb\u203a]`;
const NUMBER = new RegExp(
  String.raw`(?<![A-Za-z0-9_])${WRAPPED}(?:(?:[\s.\-/\u2010-\u2015]|%(?:25)*20){0,3}${WRAPPED}){1,5}(?![A-Za-z0-9_])`,
  'g',
);
const SPACE = /%(?:25)*20/g;
const NOT_OF_NUMBER = /[^0-9+]+/g;
/** Notes of a text are cited as `[12][13]`: a number has a longer group. */
const LONG_GROUP = /[0-9]{3}/;

/**
 * Replaces phone numbers whose groups each stand in brackets or quotes: `[415][700][1234]`, `'0151' '2917' '0917'`.
 *
 * @param redact What redaction makes of the number as it is without them.
 */
export function redactWrappedPhones(text: string, redact: (number: string) => string): string {
  return text.replace(NUMBER, (match) => {
    const plain = match.replace(SPACE, ' ').replace(NOT_OF_NUMBER, ' ').trim();
    return LONG_GROUP.test(plain) && redact(plain) === REDACTED ? REDACTED : match;
  });
}
