import { setTimeout as sleep } from 'node:timers/promises';

export interface UntilOptions {
  /** Only where the time is what is tested, in the runs that measure and those that break things. */
  timeoutMs?: number;
  everyMs?: number;
}

/** Far more than anything takes that works, on a machine that is busy with something else: it only ends what never comes. */
const DEADLINE_MS = 60_000;
const EVERY_MS = 25;
const SHOWN_CHARACTERS_MAX = 2_000;

/**
 * Asks again and again until the answer is accepted, and returns it.
 *
 * @param what What is waited for, as the error names it.
 * @param probe May throw: that counts as an answer not accepted.
 * @param accept Without it, the answer must be true or the like.
 * @throws Error at the deadline, with what was seen last.
 */
export async function until<T>(
  what: string,
  probe: () => Promise<T> | T,
  accept: (seen: T) => boolean = Boolean,
  { timeoutMs = DEADLINE_MS, everyMs = EVERY_MS }: UntilOptions = {},
): Promise<T> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const seen = await attempt(probe);
    if (seen.ok && accept(seen.value)) return seen.value;
    if (performance.now() > deadline) throw new Error(`${what}: not within ${timeoutMs} ms; last seen: ${shown(seen)}`);
    await sleep(everyMs);
  }
}

type Attempt<T> = { ok: true; value: T } | { ok: false; error: unknown };

async function attempt<T>(probe: () => Promise<T> | T): Promise<Attempt<T>> {
  try {
    return { ok: true, value: await probe() };
  } catch (error) {
    return { ok: false, error };
  }
}

function shown<T>(seen: Attempt<T>): string {
  const text = seen.ok ? (JSON.stringify(seen.value) ?? 'undefined') : String(seen.error);
  return text.length > SHOWN_CHARACTERS_MAX ? `${text.slice(0, SHOWN_CHARACTERS_MAX)}…` : text;
}
