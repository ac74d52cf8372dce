/**
 * A whole number as it was typed. Anything else is sent as the text it is, so that the service says what is wrong with it:
 * JSON has no NaN and writes null for it, which may well mean something.
 */
export function typedNumber(text: string): number | string {
  const typed = text.trim();
  return /^\d{1,15}$/.test(typed) ? Number(typed) : typed;
}
