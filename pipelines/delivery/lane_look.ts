/** Share of a lane's delay by which records that came in order may be due out of order: the jitter. */
const SPREAD = 1.2;
/** Shortest rest after records were only moved. */
const REST_MS_MIN = 500;

/** What is to be done with the records of a lane that were read, by their places, from 0. */
export interface LaneLook {
  /** Due: to be attempted. */
  take: number[];
  /** Not due, and in the way of what is behind them: to be written again at the end of the lane. */
  move: number[];
  /** From which place on records stay where they are; null where all are taken or moved. */
  leaveFrom: number | null;
  /** When the rest, or what comes behind it, is to be looked at; milliseconds since 1970 UTC. */
  notBeforeMs: number;
}

export interface LaneQuestionOfRecords {
  /** When each record is due, in their order; milliseconds since 1970 UTC. */
  duesMs: readonly number[];
  nowMs: number;
  /** The lane's wait. */
  delayMs: number;
  /** Whether the lane holds more behind what was read. */
  isMoreBehind: boolean;
  /** How many of the records, from the first on, make way where they are not due, as what lies behind them may be due. */
  passing: number;
}

/**
 * Looks at what was read of a lane. A record is never held up by one before it that is due later: what is due is taken
 * wherever it lies, and what is not due before it goes to the end. Where nothing is due, records due much later than the
 * lane's wait make way for what lies behind what was read; they go round in steps, so that a lane of nothing else is not
 * written without a pause. A pass over the lane goes on without one.
 */
export function lookAtLane({ duesMs, nowMs, delayMs, isMoreBehind, passing }: LaneQuestionOfRecords): LaneLook {
  const last = Math.max(
    duesMs.findLastIndex((dueMs) => dueMs <= nowMs),
    isMoreBehind ? passing - 1 : -1,
  );
  const earliest = (dues: readonly number[]): number => Math.min(...dues, nowMs + delayMs);
  if (last >= 0) {
    const places = duesMs.slice(0, last + 1).map((dueMs, place) => ({ place, isDue: dueMs <= nowMs }));
    const rest = duesMs.slice(last + 1);
    return {
      take: places.filter(({ isDue }) => isDue).map(({ place }) => place),
      move: places.filter(({ isDue }) => !isDue).map(({ place }) => place),
      leaveFrom: rest.length === 0 ? null : last + 1,
      notBeforeMs: earliest(duesMs.filter((dueMs) => dueMs > nowMs)),
    };
  }
  const near = duesMs.findIndex((dueMs) => dueMs <= nowMs + delayMs * SPREAD);
  const far = near < 0 ? duesMs.length : near;
  if (!isMoreBehind || far === 0) return { take: [], move: [], leaveFrom: 0, notBeforeMs: earliest(duesMs) };
  const move = Array.from({ length: far }, (_, place) => place);
  const soonMs = nowMs + Math.max(REST_MS_MIN, delayMs / 10);
  return { take: [], move, leaveFrom: far, notBeforeMs: Math.min(soonMs, ...duesMs.slice(far)) };
}
