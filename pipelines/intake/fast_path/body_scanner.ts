import { type ScannedBody, ScannedEvent, scanBody } from './scan_body.ts';

/** After so many bodies in a row that a look at was lost on, some are not looked at, up to so many. */
const MISSES_MIN = 4;
const SKIPPED_MAX = 32;

/**
 * Scans bodies as `scanBody` does. Where one after the other has no more usual events than others, as of a sender that tells who its
 * customers are with each event, it leaves most of the next ones to the careful path, so that these cost nothing more.
 */
export function createBodyScanner(eventsMax: number): (body: Buffer) => ScannedBody | null {
  let misses = 0;
  let skipped = 0;
  return (body) => {
    if (misses >= MISSES_MIN && skipped < Math.min(misses, SKIPPED_MAX)) {
      skipped += 1;
      return null;
    }
    skipped = 0;
    const scanned = scanBody(body, eventsMax);
    misses = scanned !== null && isMostlyUsual(scanned.events) ? 0 : misses + 1;
    return scanned;
  };
}

function isMostlyUsual(events: readonly unknown[]): boolean {
  let usual = 0;
  for (const event of events) if (event instanceof ScannedEvent) usual += 1;
  return usual * 2 > events.length;
}
