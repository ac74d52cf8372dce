import { hkdfSync, randomBytes } from 'node:crypto';
import type { Redis } from '#infra/redis/client.ts';
import { createEngageGuard } from '#infra/redis/engage_guard.ts';
import { createEngageMemory } from '#infra/redis/engage_memory.ts';
import type { Runtime } from '#services/runtime.ts';
import { createEngageMemories } from './engage_memories.ts';
import type { EngageParts } from './engage_parts.ts';
import { createSpamWatch } from './spam_watch.ts';

/** What the routes of surveys, promos and forms need of the process. */
export function openEngage(
  { metrics }: Runtime,
  redis: Redis,
  identitySecret: Buffer,
  addressOf: EngageParts['addressOf'],
): EngageParts {
  const memory = createEngageMemories(createEngageMemory(redis), metrics, Date.now);
  const spam = createSpamWatch(createEngageGuard(redis), metrics);
  return { memory, spam, addressOf, secret: engageSecret(identitySecret), identitySecret, randomBytes };
}

/** A key of its own (RFC 5869), so that no token says anything of the secret that identities are hashed with. */
function engageSecret(identitySecret: Buffer): Buffer {
  return Buffer.from(hkdfSync('sha256', identitySecret, '', 'svc.engage.token.v1', 32));
}
