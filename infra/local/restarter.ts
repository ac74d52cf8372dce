import type { LocalPart, PartName } from './part.ts';

const PAUSE_MS_MIN = 500;
const PAUSE_MS_MAX = 30_000;
/** After this long without a crash the next crash counts as the first. */
const CALM_MS = 60_000;

export interface Restarter {
  restart(name: PartName): void;
  /** Stops starting parts. */
  cancel(): void;
}

/** Restarts a part that ended, after a pause that doubles while it keeps ending. */
export function createRestarter(
  parts: Partial<Record<PartName, LocalPart>>,
  onProgress: (line: string) => void,
): Restarter {
  const timers = new Set<NodeJS.Timeout>();
  let cancelled = false;
  const deaths = new Map<PartName, { count: number; at: number }>();
  const restart = (name: PartName) => {
    if (cancelled) return;
    const last = deaths.get(name);
    const count = last !== undefined && performance.now() - last.at < CALM_MS ? last.count + 1 : 0;
    deaths.set(name, { count, at: performance.now() });
    timers.add(setTimeout(() => void begin(name), Math.min(PAUSE_MS_MIN * 2 ** count, PAUSE_MS_MAX)));
  };
  const begin = async (name: PartName) => {
    try {
      await parts[name]?.start();
      onProgress(`${name} was started again`);
    } catch (error) {
      onProgress(`${name} could not be started again: ${error instanceof Error ? error.message : String(error)}`);
      restart(name);
    }
  };
  const cancel = () => {
    cancelled = true;
    for (const timer of timers) clearTimeout(timer);
  };
  return { restart, cancel };
}
