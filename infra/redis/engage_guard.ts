import { TOKEN_MS } from '#pipelines/engage/engage_token.ts';
import { ADDRESS_WINDOW_S, EMAIL_WINDOW_S, type SpamCounts, TEXT_WINDOW_S } from '#pipelines/engage/spam.ts';
import type { Redis } from './client.ts';
import { createScript } from './lua_script.ts';
import { within } from './within.ts';

/** What of a submission is counted; null: nothing of that kind. All but the submission are digests or random. */
export interface CountedSubmission {
  siteId: string;
  /** Of whatever is sent: an id that a second sending of the same has too. */
  submissionId: string;
  nonce: string | null;
  address: string | null;
  email: string | null;
  text: string | null;
}

/** Counts submissions over all edges; throws RedisUnavailableError. */
export interface EngageGuard {
  count(submission: CountedSubmission): Promise<SpamCounts>;
}

const COUNT_MS_MAX = 500;

export function createEngageGuard(redis: Redis): EngageGuard {
  const script = createScript(redis, 'engage_guard.lua');
  return {
    async count({ siteId, submissionId, nonce, address, email, text }) {
      const keyOf = (kind: string, id: string | null): string => `engage:{${siteId}}:${kind}:${id ?? ''}`;
      const keys = [keyOf('token', nonce), keyOf('address', address), keyOf('email', email), keyOf('text', text)];
      const seconds = [
        nonce === null ? 0 : TOKEN_MS / 1000,
        address === null ? 0 : ADDRESS_WINDOW_S,
        email === null ? 0 : EMAIL_WINDOW_S,
        text === null ? 0 : TEXT_WINDOW_S,
      ];
      const answer = await within(COUNT_MS_MAX, script.run(keys, [submissionId, ...seconds]));
      const [used, byAddress, byEmail, byText] = answer as [number, number, number, number];
      return { tokenUsed: used === 1, address: byAddress, email: byEmail, text: byText };
    },
  };
}
