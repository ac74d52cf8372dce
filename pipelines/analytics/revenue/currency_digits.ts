// How many digits behind the point an amount of a currency has.

const DEFAULT = 2;

/**
 * Currencies of ISO 4217 whose minor unit is not a hundredth. Intl follows CLDR instead, which shows forints, dinars of Iraq
 * and others without the digits that invoices have.
 */
const DIGITS: ReadonlyMap<string, number> = new Map([
  ...'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF'.split(' ').map((code) => [code, 0] as const),
  ...'BHD IQD JOD KWD LYD OMR TND'.split(' ').map((code) => [code, 3] as const),
  ...'CLF UYW'.split(' ').map((code) => [code, 4] as const),
]);

/** The digits of a currency; two for what is no currency. */
export const digitsOf = (currency: string): number => DIGITS.get(currency) ?? DEFAULT;
