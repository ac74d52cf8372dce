/** One fact of identity.links, as schemas/identity_link.avsc defines it. */
export interface IdentityLink {
  site_id: string;
  kind: 'edge' | 'person' | 'cut' | 'split';
  person_id: string;
  target: string;
  first_seen: number;
  version: number;
  /** Of an edge: whether its node was followed. Absent or unknown where nobody wrote it down, and of a belonging. */
  decision?: LinkDecision;
}

type LinkDecision = 'unknown' | 'joined' | 'capped';

/** Whether it is of a person and a keyed identifier; else it says who the person is part of. */
export function isOfNode({ kind }: IdentityLink): boolean {
  return kind === 'edge' || kind === 'cut';
}

/** Record key: one fact a key, so that compaction keeps the newest of each. */
export function linkKey(link: IdentityLink): string {
  const base = `${link.site_id}/${link.kind}/${link.person_id}`;
  return isOfNode(link) ? `${base}/${link.target}` : base;
}
