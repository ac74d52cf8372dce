/** Whether something outside answers, asked every few seconds. */
export interface Probe {
  isAlive(): boolean;
  stop(): void;
}

export interface ProbeTimes {
  intervalMs: number;
  /** What takes longer counts as no answer; asking ends by itself, sooner or later. */
  answerMsMax: number;
}

const TIMES: ProbeTimes = { intervalMs: 2_000, answerMsMax: 3_000 };

/** It counts as alive at first, as what cannot be reached at the start fails by itself. */
export function createProbe(ask: () => Promise<unknown>, { intervalMs, answerMsMax } = TIMES): Probe {
  let alive = true;
  let asking = false;

  async function look(): Promise<void> {
    if (asking) return;
    asking = true;
    const late = setTimeout(() => {
      alive = false;
    }, answerMsMax);
    try {
      await ask();
      alive = true;
    } catch {
      alive = false;
    } finally {
      clearTimeout(late);
      asking = false;
    }
  }

  const timer = setInterval(() => void look(), intervalMs);
  timer.unref();
  return {
    isAlive: () => alive,
    stop: () => clearInterval(timer),
  };
}
