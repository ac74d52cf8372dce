/** Characters that nobody sees, which take a word apart for a program only. */
const UNSEEN = /[\u00AD\u180E\u200B-\u200F\u2060-\u2064\uFEFF]/g;
const ESCAPED: readonly (readonly [RegExp, string])[] = [
  [/%3a/gi, ':'],
  [/%2f/gi, '/'],
  [/%5c/gi, '/'],
  [/\\/g, '/'],
];
/** The names under which links of spam stand mostly; a word before another ending, as in "node.js", is none. */
const NAME =
  '(?:com|net|org|info|biz|xyz|top|shop|online|site|club|store|live|icu|vip|ru|cn|io|co|me|link|click|example)';
const LINK = new RegExp(
  `(?:https?:)?//[\\w.-]*|\\bwww\\.[\\w.-]*|\\[url|<a\\s|(?<![@\\w.-])[\\w-]+(?:\\.[\\w-]+)*\\.${NAME}\\b(?![\\w.@-]*@)`,
  'gi',
);

/** How many links a text holds, however they are spelled. A mail address is none. */
export function linksIn(text: string): number {
  const seen = text.normalize('NFKC').replace(UNSEEN, '');
  const plain = ESCAPED.reduce((current, [from, to]) => current.replace(from, to), seen);
  return plain.match(LINK)?.length ?? 0;
}
