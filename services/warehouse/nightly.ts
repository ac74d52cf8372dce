const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

/** Milliseconds until an hour of the day begins next, in UTC. */
export function untilHourMs(nowMs: number, hour: number): number {
  const atMs = nowMs - (nowMs % DAY_MS) + hour * HOUR_MS;
  return atMs > nowMs ? atMs - nowMs : atMs + DAY_MS - nowMs;
}

/** Runs a task every day when an hour begins, until it is stopped. What the task throws is told and tried again next time. */
export function everyNight(
  hour: number,
  task: () => Promise<void>,
  onFailure: (error: unknown) => void,
): { stop(): void } {
  let timer: NodeJS.Timeout;
  const wait = (): void => {
    timer = setTimeout(() => void task().catch(onFailure).finally(wait), untilHourMs(Date.now(), hour));
  };
  wait();
  return { stop: () => clearTimeout(timer) };
}
