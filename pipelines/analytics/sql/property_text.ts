// SQL of the text that a property has.
import type { Binder } from './statement.ts';

/** A property that is a text is itself; a number, true, false, an object or an array is its JSON; null and a missing one are empty. */
export function textOfProperty(property: readonly string[], binder: Binder): string {
  const { json, path } = placeOf(property, binder);
  return binder.name(path.length === 0 ? textOfJson(json) : jsonText([json, ...path]));
}

/**
 * The text of JSON that is a property's whole; none is the empty text. What has no backslash stands there as it is: to parse it
 * would take as long as reading it.
 */
export const textOfJson = (json: string): string =>
  `if(startsWith(${json}, '"'), if(position(${json}, '\\\\') = 0, substring(${json}, 2, length(${json}) - 2), JSONExtractString(${json})), if(${json} = 'null', '', ${json}))`;

/**
 * Where a path into the properties leads: SQL of the JSON of the property that it begins with, and of the names behind it.
 * property_texts is stored by names, so that the other properties are not read.
 */
export function placeOf([name = '', ...inside]: readonly string[], binder: Binder): { json: string; path: string[] } {
  return {
    json: binder.name(`property_texts[${binder.bind(name, 'String')}]`),
    path: inside.map((part) => binder.bind(part, 'String')),
  };
}

/** The text of what JSON has at a path: SQL of the JSON, then of each part. */
export function jsonText(parts: readonly string[]): string {
  const path = parts.join(', ');
  return `multiIf(JSONType(${path}) = 'String', JSONExtractString(${path}), JSONType(${path}) = 'Null', '', JSONExtractRaw(${path}))`;
}
