const SEPARATORS = /[^\p{L}\p{N}]+/gu;
const NOT_ASCII = /[^\0-\x7f]/;

/** Lower case without separators and accents: `First-Name`, `first_name` and `firstName` are one word. */
export function comparableForm(text: string): string {
  const plain = NOT_ASCII.test(text) ? text.normalize('NFKD') : text;
  return plain.replace(SEPARATORS, '').toLowerCase();
}
