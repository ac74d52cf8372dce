import { join } from 'node:path';
import { LocalError } from '#infra/local/errors.ts';
import { lastLines } from '#infra/local/log_file.ts';
import type { ProcessState } from '#services/local/supervisor/supervisor.ts';

export interface StartWatchOptions {
  states(): readonly ProcessState[];
  logDir: string;
  say(line: string): void;
  /** How long before it is said, and said again, which processes are waited for. */
  remindMs?: number;
  /** How long before the start has failed. */
  timeoutMs?: number;
}

const REMIND_MS = 30_000;
/** Longer than a stage whose client hangs while it joins its group takes until its watchdog ends it and it is ready again. */
const TIMEOUT_MS = 300_000;
const LOG_LINES = 20;

/**
 * Waits for a start of processes, and never without a word: says again and again which are not ready yet, and gives up
 * after `timeoutMs` with an error (`local_process_not_ready`) that holds the last lines of their logs.
 */
export async function watchStart<T>(start: Promise<T>, options: StartWatchOptions): Promise<T> {
  const { states, logDir, say, remindMs = REMIND_MS, timeoutMs = TIMEOUT_MS } = options;
  const startedMs = performance.now();
  const unready = () => states().filter(({ ready }) => !ready);
  const reminder = setInterval(() => {
    const seconds = Math.round((performance.now() - startedMs) / 1000);
    say(`still waiting after ${seconds} s for ${describe(unready())}`);
  }, remindMs);
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(notReady(unready(), logDir, timeoutMs)), timeoutMs);
  });
  try {
    return await Promise.race([start, late]);
  } finally {
    clearInterval(reminder);
    clearTimeout(timer);
  }
}

function describe(unready: readonly ProcessState[]): string {
  const names = unready.map(({ name, restarts }) => (restarts > 0 ? `${name} (started ${restarts + 1} times)` : name));
  return names.join(', ') || 'the settings';
}

function notReady(unready: readonly ProcessState[], logDir: string, timeoutMs: number): LocalError {
  const logs = unready.map(({ name }) => {
    const path = join(logDir, `${name}.log`);
    return `Its log, ${path}:\n${lastLines(path, LOG_LINES)}`;
  });
  const what = `not ready after ${timeoutMs / 1000} s: ${describe(unready)}.`;
  return new LocalError('local_process_not_ready', [what, ...logs].join('\n'));
}
