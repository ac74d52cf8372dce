// The currencies that there are, and how many digits behind the point an amount of one has.

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

/** Those whose minor unit is one, some of the past among them, as events may be of then. */
const HUNDREDTHS =
  'AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD CDF CHE CHF CHW CNY COP COU CRC CUC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HRK HTG HUF IDR ILS INR IRR JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SLL SOS SRD SSP STN SVC SYP SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD USN UYU UZS VED VES WST XCD XCG YER ZAR ZMW ZWG ZWL';

/** The codes of ISO 4217 that are of money. */
export const currencyCodes = (): string[] => [...HUNDREDTHS.split(' '), ...DIGITS.keys()].sort();

/** The digits of a currency; two for what is no currency. */
export const digitsOf = (currency: string): number => DIGITS.get(currency) ?? DEFAULT;
