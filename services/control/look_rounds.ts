import type { DomainProof } from '#schemas/setting.ts';

type Claim = Pick<DomainProof, 'site_id' | 'domain' | 'verified_at'>;

/** Which claims are looked for in one of the rounds over all. */
export interface LookRounds {
  /** Begins a round: of all claims those that are due. */
  begin<Item extends Claim>(claims: readonly Item[]): Item[];
  /** A claim that is not verified was looked for. */
  looked(claim: Claim): void;
}

/** A claim is left out of so many rounds at the most: for a day where there is one every 10 minutes. */
const ROUNDS_MAX = 144;

/**
 * A domain that is served is looked for in every round. Any claim else costs questions to name servers for as long as it
 * stands, and anybody may claim anything: it is looked for after twice as many rounds each time. Nothing is written of that,
 * so that a process begins with all of them.
 */
export function createLookRounds(): LookRounds {
  let round = 0;
  let known = new Map<string, { due: number; gap: number }>();
  const nameOf = ({ site_id, domain }: Claim): string => `${site_id} ${domain}`;
  return {
    begin(claims) {
      round += 1;
      const kept: typeof known = new Map();
      const due = claims.filter((claim) => {
        const wait = claim.verified_at === null ? known.get(nameOf(claim)) : undefined;
        if (wait !== undefined) kept.set(nameOf(claim), wait);
        return wait === undefined || wait.due <= round;
      });
      known = kept;
      return due;
    },
    looked(claim) {
      const before = known.get(nameOf(claim));
      const gap = before === undefined ? 1 : Math.min(2 * before.gap, ROUNDS_MAX);
      known.set(nameOf(claim), { due: round + gap, gap });
    },
  };
}
