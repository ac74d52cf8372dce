import type { Logger } from '#infra/log/logger.ts';
import type { Metrics } from '#infra/metrics/metrics.ts';

/** The parts of a process, each with whether it is well. */
export interface PartStates {
  /** Adds a part without which the process cannot do its work; another one of the name before it counts no more. */
  needs(part: string, isWell: () => boolean): void;
  /** Adds a part that it goes on without, for a while at least. */
  uses(part: string, isWell: () => boolean): void;
  /** The parts that are in the way of the work. */
  waitingFor(): string[];
  /** The others that are not well. */
  away(): string[];
  /** Logs and counts what has changed since the last call: one line when a part goes, and one when it returns. */
  look(): void;
}

interface Part {
  isNeeded: boolean;
  isWell(): boolean;
  /** Since when it is away; null while it is well. */
  awayMs: number | null;
}

export function createPartStates(
  logger: Pick<Logger, 'warn' | 'info'>,
  metrics: Pick<Metrics, 'gauge'>,
  monotonicMs: () => number,
): PartStates {
  const parts = new Map<string, Part>();
  const up = metrics.gauge('svc_part_up', 'Whether a part that the process uses is well', ['part']);

  function add(name: string, isNeeded: boolean, isWell: () => boolean): void {
    parts.set(name, { isNeeded, isWell, awayMs: parts.get(name)?.awayMs ?? null });
  }

  function notWell(isNeeded: boolean): string[] {
    return [...parts].flatMap(([name, part]) => (part.isNeeded === isNeeded && !part.isWell() ? [name] : []));
  }

  function lookAt(name: string, part: Part): void {
    const isWell = part.isWell();
    up.set({ part: name }, isWell ? 1 : 0);
    if (isWell === (part.awayMs === null)) return;
    if (part.awayMs === null) {
      part.awayMs = monotonicMs();
      logger.warn({ part: name, waits: part.isNeeded }, 'a part is away');
    } else {
      const seconds = Math.round((monotonicMs() - part.awayMs) / 1_000);
      part.awayMs = null;
      logger.info({ part: name, seconds }, 'a part is back');
    }
  }

  return {
    needs: (name, isWell) => add(name, true, isWell),
    uses: (name, isWell) => add(name, false, isWell),
    waitingFor: () => notWell(true),
    away: () => notWell(false),
    look() {
      for (const [name, part] of parts) lookAt(name, part);
    },
  };
}
