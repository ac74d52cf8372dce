import { hash } from 'node:crypto';
import { type IdentityConfig, identityConfig } from '#infra/config/stage_config.ts';
import { failpoint } from '#infra/failpoint.ts';
import type { InRecord, OutRecord } from '#infra/kafka/record.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import { createIdentityStore, type IdentityIndex } from '#infra/redis/indexes/identity_index.ts';
import { type Codec, createCodec, createEventBatchReader, type EventBatchReader } from '#infra/registry/codec.ts';
import type { SuppressionList } from '#pipelines/erasure/suppression.ts';
import {
  allLookups,
  type Identified,
  type IdentityLookup,
  identify,
  isUndecided,
  RESTORE_PASSES,
} from '#pipelines/identity/identity.ts';
import { memoize } from '#pipelines/stage.ts';
import { encodePerson } from '#schemas/event_batch.ts';
import { type IdentityLink, linkKey } from '#schemas/records.ts';
import { partitionOf, personPartition } from '#schemas/wire.ts';
import type { BatchSpans } from '#services/stage/batch_spans.ts';
import { packBatches, type ReadRecord } from '#services/stage/batches.ts';
import { type IndexRebuild, openStageIndex, runEventStage, type StageEvent } from '#services/stage/event_stage.ts';
import type { Runtime } from '#services/stage/runtime.ts';

/** A little less than dedup's, so that what each transaction of dedup brings is taken at once. */
const LINGER_MS = 200;
/** Of a rebuild. */
const PER_CALL = 500;

/**
 * Reads `events.unique` and `again.identity`, joins persons in Redis, then commits one Kafka transaction with each event and
 * its person on `events.identified`, new links on `identity.links`, and the offset; a record that cannot be read goes to
 * `dead.identity` in the same transaction.
 */
runEventStage<IdentityConfig, StageEvent, Identified>(
  'identity',
  identityConfig,
  async (runtime, config, suppressed) => {
    const { registry, metrics, session } = runtime;
    // Reads event batches of any topic, and has the schema id under which those of events.identified are written.
    const reader = await createEventBatchReader(registry, TOPICS.identified);
    const links = await createCodec<IdentityLink>(registry, TOPICS.links, 'identity_link');
    const persons = await openPersons(runtime, config, reader, links, suppressed);
    const capped = metrics.counter(
      'svc_identity_capped_total',
      'Identifiers left unjoined: at the cap on distinct ids of a person, or where a distinct id is another user’s',
      [],
    );
    return {
      reads: [TOPICS.unique, TOPICS.redeliverIdentity],
      reader,
      lingerMs: LINGER_MS,
      eventsOf: uniqueEvents,
      decide: persons.identify,
      write: (decisions, { spans }) => [
        ...identifiedEvents(decisions, reader.schemaId, session.config.eventPartitions, spans),
        ...linkRecords(decisions, links, session.config.smallPartitions),
      ],
      count: (decisions) => ({ passed: decisions.reduce((sum, { entries }) => sum + entries.length, 0) }),
      committed: (decisions) => capped.inc(decisions.reduce((sum, decision) => sum + decision.capped, 0)),
    };
  },
);

/** The events of a record of events.unique, with the coordinates that dedup gave them. */
function uniqueEvents({ views }: ReadRecord): StageEvent[] {
  return views.map((view) => ({ view, coordinate: view.coordinate }));
}

/** The events with their persons, as records of events.identified on the persons' partitions. */
function identifiedEvents(
  decisions: readonly Identified[],
  schemaId: number,
  partitions: number,
  spans: BatchSpans | null,
): OutRecord[] {
  const bytesOf = memoize(encodePerson);
  const partitionIn = memoize((siteId: string) =>
    memoize((personId: string) => personPartition(siteId, personId, partitions)),
  );
  const entries = decisions.flatMap((decision) => decision.entries);
  return packBatches(
    TOPICS.identified,
    schemaId,
    entries.map(({ view, coordinate, person }) => ({
      partition: partitionIn(view.siteId)(person.person_id),
      coordinate,
      personBytes: bytesOf(person),
      eventBytes: view.eventBytes,
    })),
    spans,
  );
}

/** What was learned of who is whom, as records of identity.links. */
function linkRecords(decisions: readonly Identified[], codec: Codec<IdentityLink>, partitions: number): OutRecord[] {
  return decisions
    .flatMap((decision) => decision.links)
    .map((link) => {
      const key = linkKey(link);
      return { topic: TOPICS.links, partition: partitionOf(key, partitions), key, value: codec.encode(link) };
    });
}

type RestoreItem =
  | { siteId: string; link: IdentityLink; question?: never }
  | { siteId: string; question: IdentityLookup; link?: never };

/**
 * Who belongs together, in Redis, made again from `identity.links` where Redis has lost it: resolves when it is whole. What the topics
 * still hold of erased persons is not taught again.
 */
async function openPersons(
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

    // A record is there beside what deleted it until the topic is compacted, and would be taught by itself.
    const deleted = new Set<string>();
    await readAll(TOPICS.links, async ({ key, value }) => {
      if (value === null) {
        const [siteId = '', , person = ''] = (key?.toString('utf8') ?? '').split('/');
        if (!suppressed.isErasedPerson(siteId, person)) deleted.add(digestOf(key));
      } else if (deleted.size > 0) deleted.delete(digestOf(key));
      return [];
    });
    let undecided = 0;
    for (const isOfPass of RESTORE_PASSES) {
      if (isOfPass === isUndecided && undecided === 0) continue;
      undecided = 0;
      await readAll(TOPICS.links, async ({ key, value }) => {
        if (value === null || (deleted.size > 0 && deleted.has(digestOf(key)))) return [];
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

/** Of keys there may be millions. */
const digestOf = (key: Buffer | null): string => hash('sha256', key ?? '', 'base64').slice(0, 16);

async function restoreItems(store: IdentityIndex, siteId: string, ones: readonly RestoreItem[]): Promise<void> {
  const links = ones.flatMap(({ link }) => (link === undefined ? [] : [link]));
  const questions = ones.flatMap(({ question }) => (question === undefined ? [] : [question]));
  if (links.length > 0) await store.restoreLinks(siteId, links);
  if (questions.length > 0) await store.restoreQuestions(siteId, questions);
}
