/** ISO 4217 in upper case; null when it is not three letters. */
export function currencyCode(text: string | null): string | null {
  const code = text?.trim().toUpperCase() ?? '';
  return /^[A-Z]{3}$/.test(code) ? code : null;
}
