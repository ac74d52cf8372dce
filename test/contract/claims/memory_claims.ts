import type { DedupStore } from '#pipelines/dedup/dedup.ts';

/** Claims of one process, for tests that need no Redis. */
export function createMemoryClaims(windowMs: number, clock: () => number = () => 0): DedupStore {
  const held = new Map<string, { coordinate: string; sinceMs: number }>();
  return {
    async claim(claims) {
      const nowMs = clock();
      return claims.map(({ bucket, field, coordinate }) => {
        const name = `${bucket}/${field}`;
        const holder = held.get(name);
        if (holder !== undefined && nowMs - holder.sinceMs <= windowMs) return holder.coordinate;
        held.set(name, { coordinate, sinceMs: nowMs });
        return null;
      });
    },
  };
}
