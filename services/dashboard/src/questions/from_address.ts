type Json = Readonly<Record<string, unknown>>;

/** An object out of an address, which anybody may have written; an empty one where it is none. */
export const objectIn = (value: unknown): Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {};

/** The objects of a list out of an address. */
export const objectsIn = (value: unknown): Json[] => (Array.isArray(value) ? value.map(objectIn) : []);

/** One of some texts, or the first of them. */
export function oneOf<Text extends string>(value: unknown, texts: readonly [Text, ...Text[]]): Text {
  return texts.find((text) => text === value) ?? texts[0];
}
