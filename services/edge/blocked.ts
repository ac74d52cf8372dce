import type { Limited, LimitKind } from '#pipelines/limits/admission.ts';

/** Callers known to be limited until some time. */
export interface Blocked {
  add(limited: Limited, address: string | null, keyHash: string): void;
  find(address: string | null, keyHash: string): Limited | null;
}

/** Beyond so many the one that came first is forgotten: its next request is judged like any other. */
const SUBJECTS_MAX = 10_000;

interface Entry {
  untilMs: number;
  limited: Limited;
}

/**
 * Remembers what was answered, so that who goes on all the same costs no more than a look.
 *
 * @param nowMs Milliseconds of a clock that only goes forward.
 */
export function createBlocked(nowMs: () => number): Blocked {
  const byKind: Record<LimitKind, Map<string, Entry>> = { ip: new Map(), key: new Map() };

  function look(kind: LimitKind, subject: string | null): Limited | null {
    const entries = byKind[kind];
    if (subject === null || entries.size === 0) return null;
    const entry = entries.get(subject);
    if (entry === undefined) return null;
    const waitMs = entry.untilMs - nowMs();
    if (waitMs > 0) return { ...entry.limited, waitMs, rate: { ...entry.limited.rate, resetMs: waitMs } };
    entries.delete(subject);
    return null;
  }

  return {
    add(limited, address, keyHash) {
      const entries = byKind[limited.kind];
      const subject = limited.kind === 'ip' ? address : keyHash;
      if (subject === null) return;
      if (entries.size >= SUBJECTS_MAX) entries.delete(entries.keys().next().value ?? '');
      entries.set(subject, { untilMs: nowMs() + limited.waitMs, limited });
    },
    find: (address, keyHash) => look('ip', address) ?? look('key', keyHash),
  };
}
