import type { RequestHook } from '../edge_context.ts';
import type { EngageMemories } from './engage_memories.ts';
import type { EngageRate } from './engage_rate.ts';
import type { SpamWatch } from './spam_watch.ts';

/** What the routes of surveys, promos and forms need beside what all routes share. */
export interface EngageParts {
  /** Signs tokens and draws shares; the same in every edge, and made of the identity secret. */
  secret: Buffer;
  /** Hashes distinct ids that are e-mail addresses or phone numbers, as the events have them. */
  identitySecret: Buffer;
  /** Who calls, as limits count it; null where an address is exempt. */
  addressOf(clientIp: string): string | null;
  randomBytes(bytes: number): Buffer;
  memory: EngageMemories;
  spam: SpamWatch;
}

/** What each of the routes is mounted with. */
export interface EngageMount {
  parts: EngageParts;
  rate: EngageRate;
  hooks: RequestHook[];
}
