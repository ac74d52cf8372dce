import type { ClaimStore } from '#pipelines/dedup/claim.ts';

/** Claims of one process, for tests that need no Redis. */
export function createMemoryClaims(windowMs: number): ClaimStore {
  const held = new Map<string, { coordinate: string; sinceMs: number }>();
  return {
    async claim(claims, nowMs) {
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
