// The identity index of the process: resolves persons, and rebuilds the index from identity.links and events.identified.

import type { IdentityConfig } from '#infra/config/stage_config.ts';
import { failpoint } from '#infra/failpoint.ts';
import type { InRecord } from '#infra/kafka/record.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import { createIdentityStore, type IdentityIndex } from '#infra/redis/indexes/identity_index.ts';
import type { Codec, EventBatchReader } from '#infra/registry/codec.ts';
import type { SuppressionList } from '#pipelines/erasure/suppression.ts';
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
import { type IndexRebuild, openStageIndex } from '#services/stage/index_rebuild.ts';
import type { Runtime } from '#services/stage/runtime.ts';

const PER_CALL = 500;

type RestoreItem =
  | { siteId: string; link: IdentityLink; question?: never }
  | { siteId: string; question: IdentityLookup; link?: never };

/**
 * Who belongs together, in Redis, made again from `identity.links` where Redis has lost it: resolves when it is whole. What the topics
 * still hold of erased persons is not taught again.
 */
export async function openPersons(
  runtime: Runtime,
  { parts, identitySecret: secret }: Pick<IdentityConfig, 'parts' | 'identitySecret'>,
  reader: EventBatchReader,
  links: Codec<IdentityLink>,
  suppressed: Pick<SuppressionList, 'isErasedPerson' | 'kept'>,
) {
  const { index, use } = await openStageIndex<IdentityIndex>(runtime, parts, {
    name: 'identity',
    reads: [TOPICS.unique, TOPICS.redeliverIdentity],
    open: (redis) => createIdentityStore(redis),
    rebuild,
  });

  /**
   * Teaches Redis again who belongs together. Links are read in passes, as decisions must be known before what rests on them;
   * the identifiers of persons come from the events that were identified and are still kept.
   */
  async function rebuild(store: IdentityIndex, { sinceMs, read, count }: IndexRebuild): Promise<void> {
    const readAll = (topic: string, onRecord: (record: InRecord) => Promise<RestoreItem[]>): Promise<void> =>
      read(topic, {
        sinceMs,
        async onRecords(records) {
          const taught: RestoreItem[] = [];
          for (const record of records) taught.push(...(await onRecord(record)));
          count(taught.length);
          for (const [siteId, ones] of Map.groupBy(taught, (one) => one.siteId)) {
            for (let at = 0; at < ones.length; at += PER_CALL) {
              await restoreItems(store, siteId, ones.slice(at, at + PER_CALL));
            }
          }
        },
      });

    let undecided = 0;
    for (const isOfPass of RESTORE_PASSES) {
      if (isOfPass === isUndecided && undecided === 0) continue;
      undecided = 0;
      await readAll(TOPICS.links, async ({ value }) => {
        const link = await links.decode(value);
        if (!link.ok || suppressed.isErasedPerson(link.value.site_id, link.value.person_id)) return [];
        if (isUndecided(link.value)) undecided++;
        return isOfPass(link.value) ? [{ siteId: link.value.site_id, link: link.value }] : [];
      });
    }
    await readAll(TOPICS.identified, async ({ value }) => {
      const batch = await reader.read(value);
      if (!batch.ok) return [];
      const views = suppressed.kept(batch.value, (view) => view);
      return allLookups(views, secret, suppressed.isErasedPerson).flatMap(({ question }) =>
        question.identifiers === null ? [] : [{ siteId: question.siteId, question }],
      );
    });
  }

  return {
    /** Says who each event belongs to, and learns from the events that may stitch. */
    async identify(events: readonly StageEvent[]): Promise<Identified> {
      const views = events.map(({ view }) => view);
      const identified = await use(() => identify(views, index, secret, suppressed.isErasedPerson));
      failpoint('identity.after_resolve');
      return identified;
    },
  };
}

async function restoreItems(store: IdentityIndex, siteId: string, ones: readonly RestoreItem[]): Promise<void> {
  const links = ones.flatMap(({ link }) => (link === undefined ? [] : [link]));
  const questions = ones.flatMap(({ question }) => (question === undefined ? [] : [question]));
  if (links.length > 0) await store.restoreLinks(siteId, links);
  if (questions.length > 0) await store.restoreQuestions(siteId, questions);
}
