import { itemName } from '#pipelines/engage/shown_texts.ts';
import { isObject, type Json, type Path, valueAt } from './definition_json.ts';

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
