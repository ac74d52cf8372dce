import type { Metrics } from '#infra/metrics/metrics.ts';
import type { EngageMemoryStore, EngageNote } from '#infra/redis/engage_memory.ts';
import type { EngageMemory } from '#pipelines/engage/visitor_memory.ts';

/** What visitors saw and did, where Redis may be away. */
export interface EngageMemories {
  /** Null where it is not known: then the browser's memory decides. */
  read(siteId: string, distinctId: string): Promise<EngageMemory | null>;
  /** Nobody waits for it. */
  note(siteId: string, distinctId: string, notes: readonly EngageNote[]): void;
}

/** Notes under way at a time; beyond these one is not made. */
const NOTING_MAX = 10_000;

/** A Redis that does not answer is counted and stops nothing. */
export function createEngageMemories(store: EngageMemoryStore, metrics: Metrics, nowMs: () => number): EngageMemories {
  const failed = metrics.counter(
    'svc_edge_engage_unremembered_total',
    'Times that what a visitor saw or did could not be read or noted',
    ['of'],
  );
  let noting = 0;
  return {
    async read(siteId, distinctId) {
      try {
        return await store.read(siteId, distinctId);
      } catch {
        failed.inc({ of: 'read' });
        return null;
      }
    },
    note(siteId, distinctId, notes) {
      if (noting >= NOTING_MAX) return failed.inc({ of: 'note' });
      noting += 1;
      store
        .note(siteId, distinctId, notes, nowMs())
        .catch(() => failed.inc({ of: 'note' }))
        .finally(() => {
          noting -= 1;
        });
    },
  };
}
