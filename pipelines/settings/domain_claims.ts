import type { DomainProof, Site } from '#schemas/setting.ts';

/** Public names (domains, measurement ids) and the site each belongs to. */
export interface Claims {
  /** The site that owns the name. */
  owner(name: string): string | undefined;
  /** Every site that claims it. */
  claimants(name: string): readonly string[];
  /** Replaces the names a site claims. */
  replace(siteId: string, before: readonly string[], after: readonly string[]): void;
}

/**
 * Two sites may claim one name when they are written at the same moment. The smallest site id then owns it: every
 * process agrees, whatever order a compacted topic replays in.
 */
export function createClaims(): Claims {
  const claimants = new Map<string, string[]>();
  return {
    owner: (name) => claimants.get(name)?.[0],
    claimants: (name) => claimants.get(name) ?? [],
    replace(siteId, before, after) {
      for (const name of before) remove(claimants, name, siteId);
      for (const name of after) add(claimants, name, siteId);
    },
  };
}

/** Which of its claims a site has proven. */
export function provenDomains(site: Site | undefined, proofs: ReadonlyMap<string, DomainProof> | undefined): string[] {
  return site?.domains.filter((domain) => (proofs?.get(domain)?.verified_at ?? null) !== null) ?? [];
}

function add(claimants: Map<string, string[]>, name: string, siteId: string): void {
  const sites = claimants.get(name) ?? [];
  if (!sites.includes(siteId)) claimants.set(name, [...sites, siteId].sort());
}

function remove(claimants: Map<string, string[]>, name: string, siteId: string): void {
  const left = (claimants.get(name) ?? []).filter((other) => other !== siteId);
  if (left.length > 0) claimants.set(name, left);
  else claimants.delete(name);
}
