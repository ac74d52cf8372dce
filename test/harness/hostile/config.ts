/** How many hostile requests the end-to-end run sends; HOSTILE_COUNT=50000 is the long one. */
export function hostileCount(): number {
  return Number(process.env['HOSTILE_COUNT'] ?? 2_000);
}

/** Another seed is other requests; a failure names the number of the request under the seed. */
export function hostileSeed(): number {
  return Number(process.env['HOSTILE_SEED'] ?? 1);
}
