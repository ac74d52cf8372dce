/**
 * The words in the language of a locale, else in English.
 *
 * @param words by language, in the order of `names`, with `|` between.
 */
export function wordsIn<Name extends string>(
  words: Readonly<{ en: string } & Record<string, string>>,
  names: readonly Name[],
  locale: string,
): Readonly<Record<Name, string>> {
  const [language = ''] = locale.split('-');
  const own = (Object.hasOwn(words, language) ? words[language] : undefined) ?? words.en;
  const texts = own.split('|');
  return Object.fromEntries(names.map((name, at) => [name, texts[at] ?? ''])) as Record<Name, string>;
}
