import { ADDRESS_WINDOW_S, EMAIL_WINDOW_S, type SpamCounts, TEXT_WINDOW_S } from '#pipelines/engage/spam.ts';
import type { Redis } from './client.ts';
import { createScript } from './lua_script.ts';
import { within } from './within.ts';

/** What of a submission is counted; null: nothing of that kind. All but the submission are digests or random. */
export interface CountedSubmission {
  siteId: string;
  /** Of whatever is sent: an id that a second sending of the same has too. */
  submissionId: string;
  /** Who sends it; null: an anonymous visitor. */
  visitor: string | null;
  nonce: string | null;
  /** How long it is remembered at the least what the token came with. */
  nonceHeldMs: number;
  address: string | null;
  /** The network and form of a submission that has no token. */
  network: string | null;
  form: string | null;
  email: string | null;
  text: string | null;
}

/** Counts submissions over all edges; throws RedisUnavailableError. */
export interface EngageGuard {
  count(submission: CountedSubmission): Promise<SpamCounts>;
}

const COUNT_MS_MAX = 500;

/** What is counted, in the order of the script's keys after the token's: the key's name, the field, and for how many seconds. */
const COUNTED = [
  ['address', 'address', ADDRESS_WINDOW_S],
  ['email', 'email', EMAIL_WINDOW_S],
  ['text', 'text', TEXT_WINDOW_S],
  ['network', 'network', ADDRESS_WINDOW_S],
  ['form', 'form', ADDRESS_WINDOW_S],
] as const;

export function createEngageGuard(redis: Redis): EngageGuard {
  const script = createScript(redis, 'engage_guard.lua');
  return {
    async count({ siteId, submissionId, visitor, nonce, nonceHeldMs, ...counted }) {
      const keyOf = (kind: string, id: string | null): string => `engage:{${siteId}}:${kind}:${id ?? ''}`;
      const keys = [keyOf('token', nonce), ...COUNTED.map(([kind, field]) => keyOf(kind, counted[field]))];
      const windows = COUNTED.map(([, field, window]) => (counted[field] === null ? 0 : window));
      const seconds = [nonce === null ? 0 : Math.ceil(nonceHeldMs / 1000), ...windows];
      const answer = (await within(
        COUNT_MS_MAX,
        script.run(keys, [submissionId, visitor ?? '', ...seconds]),
      )) as number[];
      const [used, address = 0, email = 0, text = 0, network = 0, form = 0] = answer;
      return { tokenUsed: used === 1, address, email, text, network, form };
    },
  };
}
