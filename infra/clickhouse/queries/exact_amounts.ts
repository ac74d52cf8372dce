import { AMOUNT_UNITS } from '#pipelines/query/amounts.ts';

/** Amounts below this, and sums of many, fit into 256 bits as millionths. */
export const AMOUNT_MAX = 1e65;

/**
 * An amount in whole millionths; 0 if it is not a number, or has more than 65 digits. In one SELECT it is written for one amount
 * only, as it names its parts.
 */
export function unitsOf(amount: string): string {
  const given = `(if(ifNull(abs(${amount}) < ${AMOUNT_MAX}, false), ifNull(${amount}, 0), 0) AS exact_given)`;
  return `(${wholeOf(`(trunc(${given}) AS exact_whole)`)} * ${AMOUNT_UNITS} + toInt64(round((exact_given - exact_whole) * ${AMOUNT_UNITS})))`;
}

/** From here on every number is whole, and ClickHouse's own conversion to 256 bits is wrong: 1e21 becomes 10 more. */
const SHIFTED_FROM = 2 ** 53;
const MANTISSA_BITS = 52;
/** The exponent of a number that equals its mantissa read as a whole number. */
const EXPONENT = 1023 + MANTISSA_BITS;

/** A whole number in 64-bit floating point, which it names, as an integer of 256 bits. */
function wholeOf(named: string): string {
  const bits = '(reinterpretAsUInt64(abs(exact_whole)) AS exact_bits)';
  const mantissa = `toInt256(bitOr(bitAnd(${bits}, ${2 ** MANTISSA_BITS - 1}), ${2 ** MANTISSA_BITS}))`;
  const places = `greatest(toInt32(bitShiftRight(exact_bits, ${MANTISSA_BITS})), ${EXPONENT}) - ${EXPONENT}`;
  const great = `bitShiftLeft(${mantissa}, ${places}) * if(exact_whole < 0, -1, 1)`;
  const isSmall = `(abs(${named}) < ${SHIFTED_FROM} AS exact_small)`;
  return `if(${isSmall}, toInt256(toInt64(if(exact_small, exact_whole, 0))), ${great})`;
}
