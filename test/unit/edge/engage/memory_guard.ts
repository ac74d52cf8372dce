import type { EngageGuard } from '#infra/redis/engage/engage.ts';

/** Counts submissions in this process, and forgets none. */
export function createMemoryGuard(): EngageGuard {
  const tokens = new Map<string, string>();
  const visitors = new Map<string, Set<string>>();
  const counted = new Map<string, Set<string>>();
  const count = (kind: string, id: string | null, submission: string): number => {
    if (id === null) return 0;
    const key = `${kind} ${id}`;
    const seen = counted.get(key) ?? new Set();
    counted.set(key, seen.add(submission));
    return seen.size;
  };
  return {
    async count({ submissionId, visitor, nonce, address, email, text, network, form }) {
      const holder = nonce === null ? submissionId : (tokens.get(nonce) ?? submissionId);
      if (nonce !== null) tokens.set(nonce, holder);
      const seen = visitors.get(nonce ?? '') ?? new Set();
      if (nonce !== null && visitor !== null) visitors.set(nonce, seen.add(visitor));
      if (holder !== submissionId || seen.size > 2)
        return { tokenUsed: true, address: 0, email: 0, text: 0, network: 0, form: 0 };
      return {
        tokenUsed: false,
        address: count('address', address, submissionId),
        email: count('email', email, submissionId),
        text: count('text', text, submissionId),
        network: count('network', network, submissionId),
        form: count('form', form, submissionId),
      };
    },
  };
}
