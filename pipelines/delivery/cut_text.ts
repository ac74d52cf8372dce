const LONE_START = /[\uD800-\uDBFF]$/;

/**
 * The first characters of a text, as a platform counts them. A character of two halves, as an emoji is, is not cut: strict readers
 * refuse JSON with half of one.
 *
 * @param charactersMax in units of UTF-16.
 */
export function cutText(text: string, charactersMax: number): string {
  return text.length <= charactersMax ? text : text.slice(0, charactersMax).replace(LONE_START, '');
}
