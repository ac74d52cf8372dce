import type { EngageMemoryStore } from '#infra/redis/engage/engage.ts';
import type { DoneEvent, SeenItem } from '#pipelines/engage/decide.ts';
import { basePersonId } from '#pipelines/identity/identity.ts';

interface Memory {
  seen: Map<string, SeenItem>;
  events: Map<string, DoneEvent>;
  /** Under which a thing was shown, all of them. */
  ids: Map<string, Set<string>>;
}

/** What visitors saw and did, in this process, where nobody is known to be one person with another. */
export function createMemoryOfEngage(): EngageMemoryStore {
  const memories = new Map<string, Memory>();
  const of = (siteId: string, distinctId: string): Memory => {
    const key = `${siteId}\n${distinctId}`;
    const memory = memories.get(key) ?? { seen: new Map(), events: new Map(), ids: new Map() };
    memories.set(key, memory);
    return memory;
  };
  return {
    read: async (siteId, distinctId) => ({
      personId: basePersonId(siteId, distinctId),
      ...structuredClone(of(siteId, distinctId)),
    }),
    async note(siteId, distinctId, notes, nowMs) {
      const { seen, events, ids } = of(siteId, distinctId);
      for (const note of notes) {
        const item = seen.get(note.name) ?? { times: 0, lastMs: 0, doneMs: null };
        if (note.kind === 'done') seen.set(note.name, { ...item, doneMs: nowMs });
        else if (note.kind === 'event') {
          const { times, lastMs } = events.get(note.name) ?? { times: 0, lastMs: 0 };
          events.set(note.name, { times: times + 1, lastMs: Math.max(lastMs, note.atMs) });
        } else if (ids.get(note.name)?.has(note.id) !== true) {
          ids.set(note.name, (ids.get(note.name) ?? new Set()).add(note.id));
          seen.set(note.name, { ...item, times: item.times + 1, lastMs: nowMs });
        }
      }
    },
  };
}
