/** How many hostile requests the end-to-end run sends; HOSTILE_COUNT=50000 is the long one. */
export function hostileCount(): number {
  return Number(process.env['HOSTILE_COUNT'] ?? 2_000);
}

/** How many connections the end-to-end run breaks; BROKEN_COUNT=20000 is the long run. */
export function brokenCount(): number {
  return Number(process.env['BROKEN_COUNT'] ?? 1_000);
}

/** Another seed is other requests; a failure names the number of the request under the seed. */
export function hostileSeed(): number {
  return Number(process.env['HOSTILE_SEED'] ?? 1);
}
