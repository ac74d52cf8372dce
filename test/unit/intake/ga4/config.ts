/** How many requests the fuzz makes; GA4_FUZZ_COUNT=100000 is the long one. */
export function fuzzCount(): number {
  return Number(process.env['GA4_FUZZ_COUNT'] ?? 5_000);
}
