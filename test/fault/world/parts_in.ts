import type { LocalPart, PartName } from '#services/local/parts/parts.ts';
import type { World } from './fault_world.ts';

/** Every server of the world by its kind: each broker, each node of a cluster. */
export function partsIn({ parts, special }: World): { kind: PartName; part: LocalPart }[] {
  const nodes = special.redis?.servers.map(({ part }) => part) ?? [];
  return [...Object.values(parts.parts), ...nodes, ...(special.shards?.servers ?? [])].map((part: LocalPart) => ({
    kind: part.name.split('.')[0] as PartName,
    part,
  }));
}
