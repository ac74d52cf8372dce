/** One fact of identity.links, as schemas/identity_link.avsc defines it. */
export interface IdentityLink {
  site_id: string;
  kind: 'edge' | 'person';
  person_id: string;
  target: string;
  first_seen: number;
  version: number;
  /** Of an edge: whether its node was followed. Absent or unknown where nobody wrote it down, and of a belonging. */
  decision?: LinkDecision;
}

type LinkDecision = 'unknown' | 'joined' | 'capped';

/** Record key: one fact a key, so that compaction keeps the newest of each. */
export function linkKey(link: IdentityLink): string {
  const base = `${link.site_id}/${link.kind}/${link.person_id}`;
  return link.kind === 'edge' ? `${base}/${link.target}` : base;
}
