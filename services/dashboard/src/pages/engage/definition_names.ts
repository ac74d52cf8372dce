import { itemName } from '#pipelines/engage/shown_texts.ts';
import { isObject, type Json, listAt, type Path, valueAt, withValue } from './definition_json.ts';

export const nameOf = (item: unknown): string => (isObject(item) ? itemName(item) : '');

/** A place as translations name it, where a list's items go by id or name: `questions.q1.choices`. */
export const textsName = (definition: unknown, path: Path): string =>
  path
    .map((part, depth) => (typeof part === 'number' ? nameOf(valueAt(definition, path.slice(0, depth + 1))) : part))
    .join('.');

/** Names of the items in all lists of a definition, as `questions.q1.choices.c1`. */
export function itemNames(definition: unknown, path = ''): string[] {
  if (!isObject(definition)) return [];
  return Object.entries(definition).flatMap(([key, value]) => {
    if (!Array.isArray(value)) return itemNames(value, `${path}${key}.`);
    return value.flatMap((item) => {
      const name = nameOf(item);
      return name === '' ? [] : [`${path}${key}.${name}`, ...itemNames(item, `${path}${key}.${name}.`)];
    });
  });
}

/** Names of the items that a definition has texts of in other languages, and of all that these are in. */
export function translatedNames(definition: unknown): string[] {
  const translations = valueAt(definition, ['translations']);
  const texts = isObject(translations) ? Object.values(translations).filter(isObject) : [];
  return texts.flatMap((of: Json) =>
    Object.keys(of).flatMap((key) => {
      const parts = key.split('.');
      return parts.map((_, depth) => parts.slice(0, depth + 1).join('.'));
    }),
  );
}

/**
 * The definition with a value at a place, and its translations after it: the texts of an item that gets another id go
 * along, and those of one that is taken out of a list go as well.
 */
export function withNames(definition: object, path: Path, value: unknown): object {
  const changed = withValue(definition, path, value) as object;
  if (Array.isArray(value)) {
    const left = new Set(value.map(nameOf));
    const gone = listAt(definition, path)
      .map(nameOf)
      .filter((name) => !left.has(name));
    const list = textsName(definition, path);
    return withoutTexts(
      changed,
      gone.map((name) => `${list}.${name}`),
    );
  }
  const item = path.slice(0, -1);
  const [from, to] = [textsName(definition, item), textsName(changed, item)];
  if (typeof item.at(-1) !== 'number' || from === to) return changed;
  const list = item.slice(0, -1);
  const others = listAt(definition, list).flatMap((_, at) => (at === item.at(-1) ? [] : [[...list, at]]));
  // Of two items with one id nobody can tell whose the texts are.
  if (others.some((other) => [from, to].includes(textsName(definition, other)))) return changed;
  return withKeys(changed, (key) => (key.startsWith(`${from}.`) ? `${to}${key.slice(from.length)}` : key));
}

/** The definition without the texts of some of its items in other languages. @param items As `questions.q1`. */
export const withoutTexts = (definition: object, items: readonly string[]): object =>
  withKeys(definition, (key) => (items.some((item) => key.startsWith(`${item}.`)) ? null : key));

/** The definition with other names in its translations. @param rename Answers null for a text that goes. */
function withKeys(definition: object, rename: (key: string) => string | null): object {
  const translations = valueAt(definition, ['translations']);
  if (!isObject(translations)) return definition;
  const renamed = Object.entries(translations).map(([locale, texts]) => [
    locale,
    isObject(texts)
      ? Object.fromEntries(Object.entries(texts).flatMap(([key, text]) => withName(rename(key), text)))
      : texts,
  ]);
  return withValue(definition, ['translations'], Object.fromEntries(renamed)) as object;
}

const withName = (name: string | null, text: unknown): [string, unknown][] => (name === null ? [] : [[name, text]]);
