import { setTimeout as sleep } from 'node:timers/promises';

/** Asks until the answer is yes. Throws with the name of what was waited for. */
export async function until(what: string, ask: () => Promise<boolean> | boolean, timeoutMs = 30_000): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (!(await ask())) {
    if (performance.now() > deadline) throw new Error(`waited ${timeoutMs} ms in vain for: ${what}`);
    await sleep(25);
  }
}
