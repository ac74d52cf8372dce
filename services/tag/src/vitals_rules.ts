const SHIFTS_GAP_MS = 1000;
const SHIFTS_WINDOW_MS = 5000;
/** Of every 50 interactions the slowest is passed over: about the 98th percentile. */
const INTERACTIONS_A_STEP = 50;

interface Shift {
  startTime: number;
  value: number;
  hadRecentInput: boolean;
}

/** The worst run of layout shifts that follow each other closely; of those seen nothing but the sums is kept. */
export function shiftRuns(): { see(shift: Shift): void; worst(): number } {
  let worst = 0;
  let sum = 0;
  let beganMs = 0;
  let lastMs = Number.NEGATIVE_INFINITY;
  return {
    see({ startTime, value, hadRecentInput }) {
      if (hadRecentInput) return;
      const goesOn = startTime - lastMs < SHIFTS_GAP_MS && startTime - beganMs < SHIFTS_WINDOW_MS;
      sum = goesOn ? sum + value : value;
      if (!goesOn) beganMs = startTime;
      lastMs = startTime;
      worst = Math.max(worst, sum);
    },
    worst: () => worst,
  };
}

/** The interaction that is slower than about 98 of 100, by the durations of the slowest ones. */
export function slowInteraction(slowest: readonly number[], count: number): number | undefined {
  const sorted = [...slowest].sort((one, other) => other - one);
  return sorted[Math.min(sorted.length - 1, Math.floor(count / INTERACTIONS_A_STEP))];
}
