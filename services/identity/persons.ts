// The identity index of the process: resolves persons, and rebuilds the index from identity.links and events.identified.

import { randomUUID } from 'node:crypto';
import { monotonicMs } from '#infra/concurrency/time_limits.ts';
import type { IdentityConfig } from '#infra/config/stage_config.ts';
import { failpoint } from '#infra/failpoint.ts';
import type { KafkaSession } from '#infra/kafka/client.ts';
import { topicOffsets } from '#infra/kafka/offsets.ts';
import { fenceStage } from '#infra/kafka/producers.ts';
import { readBack } from '#infra/kafka/read_topic.ts';
import type { InRecord } from '#infra/kafka/record.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import type { Logger } from '#infra/log/logger.ts';
import { createIdentityStore, type IdentityIndex } from '#infra/redis/indexes/identity_index.ts';
import { createProgress, createRebuildableIndex } from '#infra/redis/indexes/rebuildable_index.ts';
import type { Codec, EventBatchReader } from '#infra/registry/codec.ts';
import {
  allLookups,
  type Identified,
  type IdentityLookup,
  identify,
  isUndecided,
  RESTORE_PASSES,
} from '#pipelines/identity/identity.ts';
import type { IdentityLink } from '#schemas/records.ts';
import type { StageEvent } from '#services/stage/event_stage.ts';
import { openRedis, type Runtime } from '#services/stage/runtime.ts';

interface Persons {
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

interface RebuildOptions {
  session: KafkaSession;
  groupId: string;
  reader: EventBatchReader;
  links: Codec<IdentityLink>;
  store: IdentityIndex;
  secret: Buffer;
  logger: Logger;
}

/** Clocks of brokers and processes may differ by this; a record is stamped when it is produced, after it was learned. */
const CLOCKS_MS = 10 * 60_000;
const PER_CALL = 500;

/**
 * Teaches Redis again who belongs together. Open transactions of identity are ended first: what they rest on is lost, and
 * their events are asked again. Links are read in passes, as decisions must be known before what rests on them; the
 * identifiers of persons come from the events that were identified and are still kept.
 */
async function rebuildIdentity(options: RebuildOptions, sinceMs: number | null): Promise<void> {
  const { session, reader, store, secret, logger } = options;
  for (const topic of [TOPICS.unique, TOPICS.againIdentity]) {
    const { length } = await topicOffsets(session.admin, topic);
    await fenceStage(session.kafka, options.groupId, topic, length, session.config.partitionGroupSize);
  }
  const progress = createProgress(logger, 'identity');

  const readAll = (topic: string, onRecord: (record: InRecord) => Promise<Taught[]>): Promise<void> =>
    readBack({
      kafka: session.kafka,
      admin: session.admin,
      topic,
      groupPrefix: session.config.prefix,
      sinceMs: sinceMs === null ? null : sinceMs - CLOCKS_MS,
      onProgress: progress.at,
      async onRecords(records) {
        const taught: Taught[] = [];
        for (const record of records) taught.push(...(await onRecord(record)));
        progress.count(taught.length);
        for (const [siteId, ones] of Map.groupBy(taught, (one) => one.siteId)) {
          for (let at = 0; at < ones.length; at += PER_CALL) await teach(store, siteId, ones.slice(at, at + PER_CALL));
        }
      },
    });

  let undecided = 0;
  for (const isOfPass of RESTORE_PASSES) {
    if (isOfPass === isUndecided && undecided === 0) continue;
    undecided = 0;
    await readAll(TOPICS.links, async ({ value }) => {
      const read = await options.links.decode(value);
      if (!read.ok) return [];
      if (isUndecided(read.value)) undecided++;
      return isOfPass(read.value) ? [{ siteId: read.value.site_id, link: read.value }] : [];
    });
  }
  await readAll(TOPICS.identified, async (record) => {
    const read = await reader.read(record.value);
    if (!read.ok) return [];
    return allLookups(read.value, secret).flatMap(({ question }) =>
      question.identifiers === null ? [] : [{ siteId: question.siteId, question }],
    );
  });
  progress.end();
}

type Taught =
  | { siteId: string; link: IdentityLink; question?: never }
  | { siteId: string; question: IdentityLookup; link?: never };

async function teach(store: IdentityIndex, siteId: string, ones: readonly Taught[]): Promise<void> {
  const links = ones.flatMap(({ link }) => (link === undefined ? [] : [link]));
  const questions = ones.flatMap(({ question }) => (question === undefined ? [] : [question]));
  if (links.length > 0) await store.restoreLinks(siteId, links);
  if (questions.length > 0) await store.restoreQuestions(siteId, questions);
}
