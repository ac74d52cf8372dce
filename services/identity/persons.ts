import { randomUUID } from 'node:crypto';
import { monotonicMs } from '#infra/concurrency/monotonic_clock.ts';
import type { IdentityConfig } from '#infra/config/stage_config.ts';
import { failpoint } from '#infra/failpoint/failpoint.ts';
import { createIdentityStore } from '#infra/redis/identity.ts';
import { createRebuildableIndex } from '#infra/redis/rebuildable_index.ts';
import type { Codec, EventBatchReader } from '#infra/registry/codec.ts';
import { type Identified, identify } from '#pipelines/identity/identify.ts';
import type { IdentityLink } from '#schemas/identity_link.ts';
import type { StageEvent } from '#services/event_stage.ts';
import { openRedis } from '#services/open_parts.ts';
import type { Runtime } from '#services/runtime.ts';
import { rebuildIdentity } from './rebuild.ts';

export interface Persons {
  /** Says who each event belongs to, and learns from the events that may stitch. */
  identify(events: readonly StageEvent[]): Promise<Identified>;
}

/**
 * Who belongs together, in Redis, made again from `identity.links` where Redis has lost it: resolves when it is whole. The
 * process is not ready while it is not.
 */
export async function openPersons(
  runtime: Runtime,
  { parts, identitySecret: secret }: Pick<IdentityConfig, 'parts' | 'identitySecret'>,
  reader: EventBatchReader,
  links: Codec<IdentityLink>,
): Promise<Persons> {
  const { session, logger, stage } = runtime;
  const { redis, probe } = openRedis(runtime, parts);
  const store = createIdentityStore(redis);
  const rebuild = { session, groupId: session.groupOf(stage), reader, links, store, secret, logger };
  const index = createRebuildableIndex({
    name: 'identity',
    redis,
    incarnation: store.incarnation,
    rebuild: (sinceMs) => rebuildIdentity(rebuild, sinceMs),
    token: randomUUID(),
    logger,
    monotonicMs,
  });
  runtime.parts.needs('redis', () => probe.isAlive() && index.isReady());
  await index.await();
  return {
    async identify(events) {
      const views = events.map(({ view }) => view);
      const identified = await index.use(() => identify(views, store, secret));
      failpoint('identity.after_resolve');
      return identified;
    },
  };
}
