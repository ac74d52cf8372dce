import { isIPv4 } from 'node:net';
import { readableText } from './folded_text.ts';

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
/** The names under which links of spam stand mostly; a word before another ending, as in "node.js", is none. */
const NAMES: ReadonlySet<string> = new Set(
  'com net org info biz xyz top shop online site club store live icu vip ru cn io co me link click example'.split(' '),
);
/** Names of countries that are no word of a sentence, and stand behind no dot but a name's. */
const COUNTRIES: ReadonlySet<string> = new Set(
  'de uk fr nl pl ch eu br tk ml ga cf gq ly su ua kz tr cz ro gr dk hu jp kr vn th ng gg cc tv ws pw'.split(' '),
);
const FOREIGN_NAMES: ReadonlySet<string> = new Set(
  'рф рус укр бел қаз срб бг мкд москва сайт онлайн дети ελ 中国 中國 香港 台湾 网址 网站 公司 在线 भारत 한국'.split(
    ' ',
  ),
);
/** What files and packages end in, also before a slash. */
const FILES: ReadonlySet<string> = new Set(
  'js ts jsx tsx mjs md py rb rs go html htm php css json xml txt pdf png jpg jpeg svg doc docx csv'.split(' '),
);
const LETTERS = /^\p{L}{2,}$/u;
const PUNYCODE = /^xn--[a-z0-9-]+$/i;
/** Marks of a link, or a word that may be the name of a host, with what says that a path follows. */
const PART = /(?:[a-z][a-z+.-]{1,9}:)?\/\/[\w.-]*|\[url|<a\s|([\p{L}\p{N}\p{M}_@.-]+)(\/[\p{L}\p{N}?#]|:\d)?/giu;

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
