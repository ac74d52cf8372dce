import { type IdentityConfig, identityConfig } from '#infra/config/stage_config.ts';
import type { OutRecord } from '#infra/kafka/record.ts';
import { SMALL_PARTITIONS, TOPICS } from '#infra/kafka/topics.ts';
import { type Codec, createCodec, createEventBatchReader } from '#infra/registry/codec.ts';
import type { Identified } from '#pipelines/identity/identity.ts';
import { memoize } from '#pipelines/stage.ts';
import { encodePerson } from '#schemas/event_batch.ts';
import { type IdentityLink, linkKey } from '#schemas/records.ts';
import { partitionOf, personPartition } from '#schemas/wire.ts';
import { packBatches, type ReadRecord } from '#services/stage/batches.ts';
import { runEventStage, type StageEvent } from '#services/stage/event_stage.ts';
import { openPersons } from './persons.ts';

/** A little less than dedup's, so that what each transaction of dedup brings is taken at once. */
const LINGER_MS = 200;

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
      write: (decisions) => [
        ...identifiedEvents(decisions, reader.schemaId, session.config.eventPartitions),
        ...linkRecords(decisions, links),
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
function identifiedEvents(decisions: readonly Identified[], schemaId: number, partitions: number): OutRecord[] {
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
  );
}

/** What was learned of who is whom, as records of identity.links. */
function linkRecords(decisions: readonly Identified[], codec: Codec<IdentityLink>): OutRecord[] {
  return decisions
    .flatMap((decision) => decision.links)
    .map((link) => {
      const key = linkKey(link);
      return { topic: TOPICS.links, partition: partitionOf(key, SMALL_PARTITIONS), key, value: codec.encode(link) };
    });
}
