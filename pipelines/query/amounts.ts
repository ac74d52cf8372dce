/** Amounts are added as whole millionths, so that the sum does not depend on the order. */
export const AMOUNT_UNITS = 1_000_000;
